package gpu

// #include <stdlib.h>
// #include "nvdec.h"
import "C"

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/gpu/surface"
	"vidfilter/pipeline"
)

// hintVideo is for containers, which are given the driver's libraries one by one.
const hintVideo = "containers need it passed in: NVIDIA_DRIVER_CAPABILITIES=compute,video"

// loadVideo loads the driver's library for video.
func loadVideo() (*C.struct_vf_nvcuvid, error) {
	l := C.vf_nvcuvid()
	if l.load_error == nil {
		return l, nil
	}
	why := C.GoString(l.load_error)
	if strings.Contains(why, "libnvcuvid.so.1: cannot open shared object file: No such file") {
		return nil, &Error{Text: "the driver's library for video (libnvcuvid.so.1) is not here", hint: hintVideo}
	}
	return nil, &Error{Text: "the driver's library for video does not load: " + why, hint: hintDriver}
}

// decodes asks NVDEC. chroma is 420, 422 or 444. It must be called on one of the unit's threads.
func (u *openDevice) decodes(codec string, chroma, depth int) (Caps, error) {
	l, err := loadVideo()
	if err != nil {
		return Caps{}, err
	}
	name := C.CString(codec)
	defer C.free(unsafe.Pointer(name))
	var c C.struct_vf_caps
	if err := result(C.vf_decodes(l.decoder_caps, name, C.int(chroma), C.int(depth), &c)); err != nil {
		return Caps{}, u.failed(err, "ask %s what it decodes", u)
	}
	if c.supported == 0 {
		return Caps{}, nil
	}
	return Caps{int(c.engines), int(c.min_width), int(c.min_height), int(c.width), int(c.height), int(c.macroblocks)}, nil
}

// Decodes lists the kinds of video that jobs can give to NVDEC and this device decodes. It opens
// the device briefly.
func (d Device) Decodes() ([]Coding, error) {
	return briefly(d, func(u *openDevice) ([]Coding, error) { return call(context.Background(), u.work, u.allDecoded) })
}

func (u *openDevice) allDecoded() (all []Coding, err error) {
	for i := 0; C.vf_decoded_codec(C.int(i)) != nil; i++ {
		codec := C.GoString(C.vf_decoded_codec(C.int(i)))
		for _, chroma := range []int{420, 444} {
			for _, depth := range []int{8, 10, 12} {
				c, err := u.decodes(codec, chroma, depth)
				if err != nil {
					return nil, err
				}
				if c.Width > 0 {
					all = append(all, Coding{codec, chroma, depth, c})
				}
			}
		}
	}
	return all, nil
}

// chromaOf returns the chroma format of the layouts that NVDEC and NVENC take.
func chromaOf(l pipeline.Layout) int {
	if l.Arrangement() == pipeline.YUV444P {
		return 444
	}
	return 420
}

// Decoding lets a decoder leave its pictures in the memory of a device, from where the backend's
// filters read them. It is for one decoder at a time, which must be freed before it is closed.
type Decoding struct {
	*surfaceCopier
	backend *Backend
	host    *pipeline.Pool

	engines int // of the device that decode the video last asked about

	mu     sync.Mutex
	size   int
	free   []buffer // of that size
	closed bool
}

var _ pipeline.Discarder = (*Decoding)(nil)

// Decoding returns a decoding on the first device. Frames are also in memory of host, unless it is
// nil. With several devices it must not be nil.
func (b *Backend) Decoding(host *pipeline.Pool) (*Decoding, error) {
	if _, err := loadVideo(); err != nil {
		return nil, err
	}
	u := b.units[0]
	c, err := newSurfaceCopier(u)
	if err != nil {
		return nil, u.failed(err, "prepare to decode on %s", u)
	}
	d := &Decoding{surfaceCopier: c, backend: b, host: host}
	b.using(d, true)
	return d, nil
}

// Supports returns nil if the device decodes such video to frames of the layout, or the reason why
// not. The codec is FFmpeg's name of it.
func (d *Decoding) Supports(codec string, l pipeline.Layout, width, height int) error {
	if !surface.Takes(l) {
		return fmt.Errorf("NVDEC makes no %s", l)
	}
	c, err := call(context.Background(), d.thread, func() (Caps, error) { return d.unit.decodes(codec, chromaOf(l), l.Info().Depth) })
	if err != nil {
		return err
	}
	d.engines = c.Engines
	return c.allows(width, height, "decode")
}

// Engines returns how many engines of the device decode the video that Supports was last asked
// about. Each input keeps one of them busy.
func (d *Decoding) Engines() int { return d.engines }

// Call makes a call of FFmpeg's decoder, and waits for it as long as for a driver call. Its error
// reports that the device does not answer.
func (d *Decoding) Call(f func()) error {
	return d.unit.failed(d.thread.do(func() error { f(); return nil }), "decode on %s", d.unit)
}

// Take makes a frame of a surface that the decoder's stream has, and returns when it is done. The
// surface is the caller's.
func (d *Decoding) Take(s pipeline.Surface, f pipeline.Format) (*pipeline.Frame, error) {
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	var memory []byte
	put := func() {}
	if d.host != nil {
		var err error
		if memory, put, err = d.host.Take(size); err != nil {
			return nil, err
		}
	}
	block, err := call(context.Background(), d.thread, func() (buffer, error) { return d.take(s, f, size, memory) })
	if err != nil {
		put()
		return nil, d.unit.failed(err, "take a picture from the decoder on %s, %s", d.unit, f)
	}
	release := func() {
		put()
		d.put(block)
	}
	frame := pipeline.NewFrame(f, [4]pipeline.Plane{}, nil, release)
	if memory != nil {
		frame = pipeline.FrameIn(memory, f, nil, release)
	}
	frame.Device = pipeline.DeviceSamples{Owner: d.unit, Address: uint64(block.address)}
	return frame, nil
}

// take must be called on the thread.
func (d *Decoding) take(s pipeline.Surface, f pipeline.Format, size int, memory []byte) (b buffer, err error) {
	if b, err = d.block(size); err != nil {
		return b, err
	}
	if err := d.queue(s, f, b, memory); err != nil {
		_ = d.stream.Synchronize()
		d.put(b)
		return buffer{}, err
	}
	return b, nil
}

func (d *Decoding) queue(s pipeline.Surface, f pipeline.Format, b buffer, memory []byte) error {
	if err := d.run(f.Layout.Info().SampleBytes(), surface.Split(s, f, uint64(b.address))); err != nil {
		return err
	}
	if memory != nil {
		if err := cu.MemcpyDtoHAsync(unsafe.Pointer(&memory[0]), b.address, int64(len(memory)), d.stream); err != nil {
			return err
		}
	}
	return d.wait()
}

// block returns a block of a frame that was released, or a new one.
func (d *Decoding) block(size int) (b buffer, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if size != d.size {
		d.freeAll()
		d.size = size
	}
	if n := len(d.free); n > 0 {
		b, d.free = d.free[n-1], d.free[:n-1]
		return b, nil
	}
	return b, b.grow(d.unit, size)
}

// put takes the block of a frame back.
func (d *Decoding) put(b buffer) {
	d.mu.Lock()
	keep := !d.closed && b.size == d.size
	if keep {
		d.free = append(d.free, b)
	}
	d.mu.Unlock()
	if !keep {
		d.backend.release(b, d.unit)
	}
}

// release frees device memory, unless Close has freed it with the device's context.
func (b *Backend) release(memory buffer, u *openDevice) {
	b.closing.RLock()
	defer b.closing.RUnlock()
	if !b.closed {
		_ = u.work.do(func() error { memory.free(); return nil })
	}
}

func (d *Decoding) freeAll() {
	for i := range d.free {
		d.free[i].free()
	}
	d.free = nil
}

// Close frees the decoding's memory on the device, and frames that are still out later. It may be
// called more than once, also after the backend's own.
func (d *Decoding) Close() {
	d.backend.using(d, false)
	d.Discard()
}

// Discard is Close, for the backend's end.
func (d *Decoding) Discard() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	d.close(d.freeAll)
}
