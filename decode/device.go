package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// HardwareDecoder decodes in hardware, and keeps the pictures in its memory. It is for one input.
type HardwareDecoder interface {
	// Supports returns nil, or the reason why the device does not decode video of such a codec, by
	// FFmpeg's name, into frames of the layout.
	Supports(codec string, l pipeline.Layout, width, height int) error

	// Handles returns a CUcontext and a CUstream for FFmpeg.
	Handles() (context, stream unsafe.Pointer)

	// Take makes a frame of a picture that is ready in the stream. It returns when the picture is
	// not needed any more.
	Take(s pipeline.Surface, f pipeline.Format) (*pipeline.Frame, error)

	// Call makes a call of FFmpeg's that may need the device. It returns an error if the device
	// does not answer. Then the call may still go on, so its arguments must not be freed.
	Call(f func()) error
}

// onDevice is a decoder's work on a device, with the result of the CPU bit for bit: at the first
// sign of damage or of another format, the pictures since the last entry (see isEntry) are decoded
// again on the CPU, which goes on alone. The methods of a nil onDevice have no effect.
type onDevice struct {
	HardwareDecoder
	format astiav.PixelFormat // of pictures that the CPU decodes
	c      *C.struct_vf_on_device

	kept    []*astiav.Packet     // from the last entry on whose picture has come, or from the start
	passed  int                  // packets that were kept before
	entries map[uintptr]int      // of packets at which decoding can begin, by number: how many came before
	size    int                  // bytes in kept
	last    uintptr              // number of the last packet
	come    map[uintptr]struct{} // numbers of kept packets whose picture has come
	problem error                // for which the device is left at the next chance
	silent  error                // of a device that does not answer: no call follows
}

// fallbackReason is why the device is left.
type fallbackReason struct{ error }

// Reasons to decode on the CPU although the device could.
var errRounds = errors.New("decoders of MPEG-2 round differently, so the result would be another")
var errQuantisers = errors.New("only decoders on the CPU tell the quantisers that the denoiser goes by")
var errProfile = errors.New("of H.264 the GPU decodes the profiles Constrained Baseline, Main and High")
var errDeepened = errors.New("samples get more bits on the CPU")
var errOdd = errors.New("the sides of its pictures are odd, which FFmpeg rounds up for the GPU")

// setup has a decoder work on the device.
func (o *onDevice) setup(dec *astiav.CodecContext) error {
	if o == nil {
		return nil
	}
	context, stream := o.Handles()
	var err C.int
	if o.c = C.vf_decoder_on_device((*C.AVCodecContext)(dec.UnsafePointer()), context, stream, &err); o.c == nil {
		return fmt.Errorf("decode on the GPU: %w", av.Error(int(err)))
	}
	return nil
}

// call makes a call of FFmpeg's decoder, wherever it works.
func (o *onDevice) call(f func() error) error {
	switch {
	case o == nil:
		return f()
	case o.silent == nil:
		var result error
		if o.silent = o.Call(func() { result = f() }); o.silent == nil {
			return result
		}
	}
	return o.silent
}

// lost reports whether a call may still go on, for ever.
func (o *onDevice) lost() bool { return o != nil && o.silent != nil }

// opened records how the decoder begins.
func (o *onDevice) opened(dec *astiav.CodecContext) {
	if o != nil {
		C.vf_decoder_opened((*C.AVCodecContext)(dec.UnsafePointer()), o.c)
	}
}

func (o *onDevice) close() {
	if o == nil {
		return
	}
	if !o.lost() {
		C.vf_device_free(o.c)
	}
	o.c = nil
	o.drop(len(o.kept))
}

// drop forgets the first n packets.
func (o *onDevice) drop(n int) {
	for _, p := range o.kept[:n] {
		o.size -= p.Size()
		delete(o.come, numberOf(p))
		p.Free()
	}
	o.kept = o.kept[n:]
	o.passed += n
}

// came records that the picture of a packet is there. Packets before an entry whose picture is
// there are not needed again.
func (o *onDevice) came(number uintptr) {
	if o == nil {
		return
	}
	o.come[number] = struct{}{}
	if at, ok := o.entries[number]; ok {
		maps.DeleteFunc(o.entries, func(_ uintptr, before int) bool { return before <= at })
		o.drop(at - o.passed)
	}
}

var errDamage = errors.New("the video seems to be damaged")
