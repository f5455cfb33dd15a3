package decode

//#include "glue.h"
import "C"

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/asticode/go-astiav"
	"golang.org/x/sys/unix"

	"vidfilter/internal/av"
)

// pixelMemory is the memory of a job per pixel of a picture of 8 bits, in the frames of the
// decoder, the filter and, above all, the encoder: 130 bytes were measured with the denoiser and
// x264's medium preset on 2 cores. More threads hold more frames.
const pixelMemory = 160

// largestPicture is FFmpeg's limit.
const largestPicture = 16384 * 16384

// DefaultMaxPixels returns the largest picture whose job fits into the memory of this machine, or
// of this process: one pixel for every 160 bytes.
func DefaultMaxPixels() int64 {
	if m := machineMemory(); m > 0 {
		return min(m/pixelMemory, largestPicture)
	}
	return largestPicture
}

// MachineMemory returns the bytes of memory of this machine, or the limit of this process's control
// groups if that is lower; 0 if unknown.
func MachineMemory() int64 { return machineMemory() }

var machineMemory = sync.OnceValue(processMemory)

// processMemory returns the lower of the machine's memory and what limits allow this process.
func processMemory() int64 {
	least := memoryOf(os.DirFS("/"))
	for _, which := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var now unix.Rlimit
		if unix.Getrlimit(which, &now) == nil && now.Cur < math.MaxInt64 && (least == 0 || int64(now.Cur) < least) {
			least = int64(now.Cur)
		}
	}
	return least
}

// memoryOf returns the memory of a machine with these files, or the limit of its control groups if
// that is lower; 0 if unknown.
func memoryOf(root fs.FS) int64 {
	least := totalMemory(root)
	for _, file := range groupLimits(root) {
		b, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		// "max" is no limit, and neither is more than the machine has.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

func totalMemory(root fs.FS) int64 {
	f, err := root.Open("proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kb int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kb); n == 1 {
			return kb << 10
		}
	}
	return 0
}

// groupLimits returns the files that may hold the limits of this process's control groups: its own
// and those above it. In a container the path may be the host's, and the limit is at the root.
func groupLimits(root fs.FS) (files []string) {
	b, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(b)) {
		// ID:CONTROLLERS:PATH, with ID 0 and no controllers for version 2
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		base, name := "sys/fs/cgroup", "memory.max"
		if controllers == "memory" {
			base, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if controllers != "" {
			continue
		}
		for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
			files = append(files, path.Join(base, dir, name))
			if dir == "/" {
				break
			}
		}
	}
	return files
}

// ErrTooLarge is also wrapped by errors of pictures with more pixels than allowed.
var ErrTooLarge = errTooLarge("picture too large")

type errTooLarge string

func (e errTooLarge) Error() string { return string(e) }

// Is makes all of them equal.
func (e errTooLarge) Is(target error) bool { return target == ErrTooLarge }

type size struct{ w, h int64 }

// beyond returns an error for a picture above FFmpeg's own limit: that of av_image_check_size.
func (d *decoder) beyond(s size) error {
	const margin, most = 128, math.MaxInt32 / 8
	if s.w <= 0 || s.h <= 0 || s.w+margin <= most/(s.h+margin) {
		return nil
	}
	what := fmt.Sprintf("%dx%d is more than FFmpeg can decode: %d pixels, with %d added to width and height", s.w, s.h, most, margin)
	return &Error{Op: "decode", Path: d.path, Err: errTooLarge(what),
		hint: "make the picture smaller or cut it up with another program; --max-pixels does not raise this limit"}
}

// tooLarge returns an error for a picture above the limit. Deep samples take twice the memory, and
// so count twice.
func (d *decoder) tooLarge(w, h int, format astiav.PixelFormat) error {
	if err := d.beyond(size{int64(w), int64(h)}); err != nil {
		return err
	}
	size := int64(w) * int64(h)
	if av.Depth(format) > 8 {
		size *= 2
	}
	if d.maxPixels <= 0 || size <= d.maxPixels {
		return nil
	}
	hint := "raise --max-pixels if there is memory for it: a job takes up to " + gigabytes(size*pixelMemory)
	if m := machineMemory(); m > 0 {
		hint += " of memory, and this process may take " + gigabytes(m)
	}
	what := fmt.Sprintf("%dx%d is more than %d pixels", w, h, d.maxPixels)
	if size > int64(w)*int64(h) {
		what = fmt.Sprintf("%dx%d of %d bits is more than %d pixels", w, h, av.Depth(format), d.maxPixels/2)
	}
	return &Error{Op: "decode", Path: d.path, Err: errTooLarge(what), hint: hint}
}

func gigabytes(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// FreeMemory makes the C library return freed memory to the system: decoders take much at a time.
func FreeMemory() { C.vf_free_memory() }
