package noise

// #cgo CFLAGS: -std=c11 -O3 -Wall
// #cgo noescape vn_transform
// #cgo nocallback vn_transform
// #cgo noescape vn_halve
// #cgo nocallback vn_halve
// #cgo noescape vn_smooth
// #cgo nocallback vn_smooth
// #cgo noescape vn_try
// #cgo nocallback vn_try
// #include "fast.h"
import "C"

import (
	"unsafe"

	"vidfilter/denoise/plane"
)

// samples are a block of 8x8 samples.
type samples [64]uint16

// transform makes the DCT of own, in 8-bit levels of unit levels, and of its differences from
// other, if there is one, scaled to the variance of one frame's noise. It does not and returns
// false if more samples than the limits are at the ends of the range, where noise is cut off, or
// are the black of video.
func (own *samples) transform(other *samples, unit, mostClipped, mostBlack int, block, diff *block) bool {
	return C.vn_transform((*C.uint16_t)(&own[0]), (*C.uint16_t)(unsafe.Pointer(other)), C.int(unit), C.int(mostClipped), C.int(mostBlack),
		(*C.float)(unsafe.Pointer(block)), (*C.float)(unsafe.Pointer(diff))) != 0
}

// halveRow writes means of 2x2 samples of two rows.
func halveRow(out, a, b []byte) {
	if len(out) > 0 {
		a, b = a[:2*len(out)], b[:2*len(out)]
		C.vn_halve((*C.uint8_t)(&out[0]), (*C.uint8_t)(&a[0]), (*C.uint8_t)(&b[0]), C.int(len(out)))
	}
}

// smoothBytes is smooth for samples that are bytes side by side, away from the edges. It reports
// whether they are.
func smoothBytes(out []byte, side int, p *plane.View, x, y int) bool {
	if x < 1 || y < 1 || x+side+1 > p.Width || y+side+1 > p.Height || p.Depth > 8 {
		return false
	}
	var in [(most + 2) * (most + 2)]byte
	for j := range side + 2 {
		row, ok := p.Bytes(y - 1 + j)
		if !ok {
			return false
		}
		copy(in[j*(side+2):], row[x-1:x+side+1])
	}
	out = out[:side*side]
	C.vn_smooth((*C.uint8_t)(&out[0]), (*C.uint8_t)(&in[0]), C.int(side))
	return true
}

// option is a vector to try, with its cost beside the differences.
type option C.vn_option

func (v vector) costs(extra int) option {
	return option{C.int32_t(v.x), C.int32_t(v.y), C.int32_t(extra)}
}

// try takes the cheapest of some vectors, if it is cheaper than the best one. Those that leave the
// level are ignored.
func (t *trial) try(options []option) {
	cur, ref := t.m.cur, t.m.ref
	cost := C.int64_t(t.cost)
	at, _, there := cur.pix[t.y*cur.w+t.x:], cur.pix[(t.y+window-1)*cur.w+t.x+window-1], ref.pix[:ref.w*ref.h]
	i := C.vn_try((*C.uint8_t)(&at[0]), C.int(cur.w), (*C.uint8_t)(&there[0]), C.int(ref.w), C.int(ref.h),
		C.int(t.x), C.int(t.y), (*C.vn_option)(&options[0]), C.int(len(options)), &cost)
	if i >= 0 {
		t.best, t.cost = vector{int(options[i].x), int(options[i].y)}, int(cost)
	}
}
