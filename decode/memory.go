package decode

//#include "glue.h"
import "C"

import (
	"fmt"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/machine"
)

// pixelMemory is the memory of a job per pixel of a picture of 8 bits, most of it in the encoder's
// frames: 130 bytes were measured with the denoiser and x264's medium preset on 2 cores. More
// threads hold more frames.
const pixelMemory = 160

// largestPicture is FFmpeg's limit.
const largestPicture = 16384 * 16384

// DefaultMaxPixels returns the largest picture whose job fits into the memory that this process may
// use: one pixel for every 160 bytes, and the bytes per pixel that filters keep.
func DefaultMaxPixels(filters int) int64 {
	if m := machine.TotalMemory(); m > 0 {
		return min(m/int64(pixelMemory+filters), largestPicture)
	}
	return largestPicture
}

// ErrTooLarge is also wrapped by errors of pictures with more pixels than allowed.
var ErrTooLarge = errTooLarge("picture too large")

type errTooLarge string

func (e errTooLarge) Error() string { return string(e) }

// Cause is the cause in the program's output.
func (errTooLarge) Cause() string { return contract.CauseTooLarge }

// Is makes all of them equal.
func (e errTooLarge) Is(target error) bool { return target == ErrTooLarge }

type pictureSize struct{ w, h int64 }

// beyond returns an error for a picture above FFmpeg's own limit, in av_image_check_size.
func beyond(path string, s pictureSize) error {
	const margin, most = 128, math.MaxInt32 / 8
	if s.w <= 0 || s.h <= 0 || s.w+margin <= most/(s.h+margin) {
		return nil
	}
	what := fmt.Sprintf("%dx%d is more than FFmpeg can decode: %d pixels, with %d added to width and height", s.w, s.h, most, margin)
	return &Error{Op: "decode", Path: path, Err: errTooLarge(what),
		hint: "make the picture smaller or cut it up with another program; --max-pixels does not raise this limit"}
}

// tooLarge returns an error for a picture above the limit. Samples of more than 8 bits count twice.
// filters are the bytes per pixel that filters keep.
func tooLarge(path string, maxPixels int64, filters, w, h int, format astiav.PixelFormat) error {
	if err := beyond(path, pictureSize{int64(w), int64(h)}); err != nil {
		return err
	}
	size := int64(w) * int64(h)
	if av.Depth(format) > 8 {
		size *= 2
	}
	if maxPixels <= 0 || size <= maxPixels {
		return nil
	}
	hint := "raise --max-pixels if there is memory for it: a job takes up to " + gigabytes(size*int64(pixelMemory+filters))
	if m := machine.TotalMemory(); m > 0 {
		hint += " of memory, and it may use " + gigabytes(m)
	}
	what := fmt.Sprintf("%dx%d is more than %d pixels", w, h, maxPixels)
	if size > int64(w)*int64(h) {
		what = fmt.Sprintf("%dx%d of %d bits is more than %d pixels", w, h, av.Depth(format), maxPixels/2)
	}
	return &Error{Op: "decode", Path: path, Err: errTooLarge(what), hint: hint}
}

func gigabytes(n int64) string {
	if n < 1e9 {
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// FreeMemory makes the C library return freed memory to the system: decoders take much at a time.
func FreeMemory() { C.vf_free_memory() }
