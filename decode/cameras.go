package decode

//#include <stdlib.h>
//#include "v4l2.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// CameraInfo is a camera of this machine.
type CameraInfo struct {
	Path, Name string
	Modes      []CameraMode // that this build decodes
	Err        error        // why it cannot be examined; then only Path is set
}

var cameraName = regexp.MustCompile(`^/dev/video\d+$`)

// IsCamera reports whether a path is a V4L2 device, or is named like one that is not there now.
func IsCamera(path string) bool {
	is, _ := isV4L2(path)
	return is > 0 || is == -int(syscall.ENOENT) && cameraName.MatchString(path)
}

// isV4L2 returns 1 for a V4L2 device, 0 for anything else, or a negative error number.
func isV4L2(path string) (is int, group uint32) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var g C.uint32_t
	is = int(C.vf_is_v4l2(name, &g))
	return is, uint32(g)
}

// Cameras lists every /dev/video* that captures pictures, or may but cannot be opened.
func Cameras() []CameraInfo {
	const mostNodes = 64
	var all []CameraInfo
	for i := range mostNodes {
		path := fmt.Sprintf("/dev/video%d", i)
		if is, _ := isV4L2(path); is <= 0 {
			continue
		}
		switch n, err := openNode(path); {
		case errors.Is(err, ErrNoCamera): // a webcam's node for metadata
		case err != nil:
			all = append(all, CameraInfo{Path: path, Err: err})
		default:
			all = append(all, CameraInfo{Path: path, Name: n.name, Modes: n.modes()})
			n.close()
		}
	}
	return all
}

// node is an open V4L2 device that captures.
type node struct {
	path, name string
	fd         C.int
	kind       C.uint32_t // of its buffers

	// Sizes and rates to try in ranges.
	size [2]int
	rate float64
}

// openNode opens a device to query it, which works while another program streams from it.
func openNode(path string) (*node, error) {
	is, group := isV4L2(path)
	if is <= 0 {
		return nil, notCamera(path, is)
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	fd := C.vf_v4l2_open(name)
	if fd < 0 {
		return nil, cameraError(path, syscall.Errno(-fd), group)
	}
	n := &node{path: path, fd: fd}
	var d C.vf_device
	if err := C.vf_v4l2_device(fd, &d); err < 0 {
		n.close()
		return nil, cameraError(path, syscall.Errno(-err), group)
	}
	if d.capture == 0 {
		n.close()
		return nil, &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: the device gives no pictures", ErrNoCamera)}
	}
	n.name, n.kind = C.GoString(&d.name[0]), d._type
	return n, nil
}

func (n *node) close() { C.vf_v4l2_close(n.fd) }

// mostAnswers bounds a driver's list, in case it never ends.
const mostAnswers = 256

// modes lists the camera's modes that can be decoded, one for each rate; of ranges the usual sizes
// and rates.
func (n *node) modes() (all []CameraMode) {
	for i := range C.uint32_t(mostAnswers) {
		var fourcc C.uint32_t
		if C.vf_v4l2_format(n.fd, n.kind, i, &fourcc) < 0 {
			break
		}
		format, known := formatOf(uint32(fourcc))
		if !known {
			continue
		}
		for _, s := range n.sizes(fourcc) {
			for _, r := range n.rates(fourcc, s) {
				m := CameraMode{Format: format.name, Width: s[0], Height: s[1], format: format, rate: r}
				if r[0] > 0 {
					m.FPS = float64(r[0]) / float64(r[1])
				}
				all = append(all, m)
			}
		}
	}
	return all
}

// sizes returns every size; of a range the usual ones and its ends.
func (n *node) sizes(fourcc C.uint32_t) (all [][2]int) {
	for i := range C.uint32_t(mostAnswers) {
		var s C.vf_size
		if C.vf_v4l2_size(n.fd, fourcc, i, &s) < 0 {
			break
		}
		all = append(all, [2]int{int(s.w), int(s.h)})
		if s.steps == 0 {
			continue
		}
		for _, u := range append([][2]int{n.size}, usualSizes...) {
			if within(u[0], int(s.w), int(s.most_w), int(s.step_w)) && within(u[1], int(s.h), int(s.most_h), int(s.step_h)) {
				all = append(all, u)
			}
		}
		all = append(all, [2]int{int(s.most_w), int(s.most_h)})
		break // a range is the only entry
	}
	slices.SortFunc(all, func(a, b [2]int) int { return a[0]*a[1] - b[0]*b[1] })
	return slices.Compact(all)
}

func within(v, least, most, step int) bool {
	return v >= least && v <= most && (v-least)%max(1, step) == 0
}

// rates returns pictures a second as fractions; of a range the usual ones and its ends; 0/1 if the
// driver does not report any.
func (n *node) rates(fourcc C.uint32_t, size [2]int) (all [][2]int) {
	for i := range C.uint32_t(mostAnswers) {
		var v C.vf_interval
		if C.vf_v4l2_interval(n.fd, fourcc, C.uint32_t(size[0]), C.uint32_t(size[1]), i, &v) < 0 {
			break
		}
		if v.shortest.numerator == 0 || v.longest.numerator == 0 || v.shortest.denominator == 0 {
			continue
		}
		most := [2]int{int(v.shortest.denominator), int(v.shortest.numerator)}
		least := [2]int{int(v.longest.denominator), int(v.longest.numerator)}
		all = append(all, most)
		if v._range == 0 {
			continue
		}
		for _, u := range append([]float64{n.rate}, usualRates...) {
			if u*float64(most[1]) < float64(most[0]) && u*float64(least[1]) > float64(least[0]) {
				all = append(all, [2]int{int(math.Round(u * 1000)), 1000})
			}
		}
		if least != most && least[0] > 0 {
			all = append(all, least)
		}
		break
	}
	if len(all) == 0 {
		all = [][2]int{{0, 1}}
	}
	return all
}

// withOthers adds the cameras that could be opened instead.
func withOthers(path string, err error) error {
	var e *Error
	if errors.Is(err, ErrNoCamera) && errors.As(err, &e) && e.hint == "" {
		e.hint = otherCameras(path)
	}
	return err
}

func otherCameras(path string) string {
	var found []string
	for _, c := range Cameras() {
		if c.Path != path && c.Err == nil {
			found = append(found, fmt.Sprintf("%s (%s)", c.Path, c.Name))
		}
	}
	if len(found) == 0 {
		return "this machine shows no camera; plug one in (a container needs --device /dev/video0)"
	}
	return "there is " + strings.Join(found, ", ")
}
