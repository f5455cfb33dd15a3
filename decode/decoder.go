package decode

//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/cgo"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/machine"
	"vidfilter/pipeline"
)

// decoder is a decoder of FFmpeg, whose pictures become frames in memory of a pool.
type decoder struct {
	logger
	pool      *pipeline.Pool
	maxPixels int64
	filters   int                        // bytes per pixel that filters keep
	layouts   func(pipeline.Layout) bool // that frames may have; nil: takes' default
	depth     func(pipeline.Format) int  // see Options

	codec  *astiav.Codec
	dec    *astiav.CodecContext
	handle cgo.Handle
	device *onDevice // decodes; nil: the CPU does
	pkt    *astiav.Packet
	frame  *astiav.Frame

	format  pipeline.Format // of every frame so far; zero before the first
	scaler  av.Scaler
	found   packetUnits
	again   []*astiav.Packet     // to be decoded once more, on the CPU
	come    map[uintptr]struct{} // their pictures that have been handed out
	decoded int64                // frames that it returned
	shared  *pipeline.Video      // of the latest frame
	taken   *pipeline.Frame      // from the device, for the picture at hand
	seen    astiav.PixelFormat   // the last source format that was reported
	told    fidelity.Told        // losses that warnings announce

	// Copied and Converted count the frames that were not decoded into the pool's memory as they
	// are: their decoder insists on its own memory, or they are in no layout of ours.
	Copied, Converted int64
}

// takes reports whether frames may have a layout.
func (d *decoder) takes(l pipeline.Layout) bool {
	if d.layouts == nil {
		return l.Basic()
	}
	return d.layouts(l)
}

// deeper returns the format of frames for pictures of a format, and whether it has more bits.
func (d *decoder) deeper(f pipeline.Format) (pipeline.Format, bool) {
	if d.depth == nil {
		return f, false
	}
	l := f.Layout.At(d.depth(f))
	if !l.Valid() || !d.takes(l) || l.Info().Depth <= f.Layout.Info().Depth {
		return f, false
	}
	f.Layout = l
	return f, true
}

// deepen gives a frame, which it takes, the bits that frames get.
func (d *decoder) deepen(f *pipeline.Frame) (*pipeline.Frame, error) {
	format, more := d.deeper(f.Format)
	if !more {
		return f, nil
	}
	defer f.Release()
	out, err := d.pool.TakeFrame(format, nil)
	if err != nil {
		return nil, err
	}
	out.CopyTiming(f) // and its props
	av.Requantise(out, f)
	return out, nil
}

// alloc makes d.dec; the caller sets the stream's parameters before start.
func (d *decoder) alloc(id astiav.CodecID) error {
	if d.codec = decoderFor(id); d.codec == nil {
		return &Error{Op: "decode", Path: d.path, Err: fmt.Errorf("this build has no decoder for %s", id)}
	}
	if d.dec = astiav.AllocCodecContext(d.codec); d.dec == nil {
		return &Error{Op: "decode", Path: d.path, Err: errors.New("out of memory")}
	}
	return nil
}

// start opens the decoder. Its packets count in timebase.
func (d *decoder) start(threads int, timebase C.AVRational) error {
	// Every further thread holds frames and delays the end. FFmpeg's own choice also stops here.
	const mostThreads = 16
	d.dec.SetThreadCount(min(cmp.Or(threads, machine.CoreLimit()), mostThreads))
	d.prepare()
	C.vf_decoder_setup((*C.AVCodecContext)(d.dec.UnsafePointer()), timebase, C.int64_t(d.maxPixels), C.uintptr_t(d.handle))
	if err := tooLarge(d.path, d.maxPixels, d.filters, d.dec.Width(), d.dec.Height(), d.dec.PixelFormat()); err != nil {
		return err
	}
	if err := d.device.setup(d.dec); err != nil {
		return &Error{Op: "decode", Path: d.path, Err: err}
	}
	if err := d.dec.Open(d.codec, nil); err != nil {
		err := &Error{Op: "decode", Path: d.path, Err: fmt.Errorf("open the %s decoder: %w", d.codec.Name(), err)}
		return cmp.Or(av.OfShortage(err, err), error(err))
	}
	d.device.opened(d.dec)
	return nil
}

// prepare makes the handle, the packet and the frame that a decoder needs beside its context.
func (d *decoder) prepare() {
	if d.handle == 0 {
		d.handle = cgo.NewHandle(d)
	}
	if d.pkt == nil {
		d.pkt, d.frame = astiav.AllocPacket(), astiav.AllocFrame()
	}
}

// closeCodec frees the codec alone, as before another.
func (d *decoder) closeCodec() {
	if dec := d.dec; dec != nil {
		_ = d.device.call(func() error { dec.Free(); return nil })
		d.dec = nil
	}
	d.device.close()
	d.device = nil
}

// sendPacket is FFmpeg's. nil ends the input.
func (d *decoder) sendPacket(p *astiav.Packet) error {
	return d.device.call(func() error { return d.dec.SendPacket(p) })
}

// receiveFrame is FFmpeg's.
func (d *decoder) receiveFrame() error {
	return d.device.call(func() error { return d.dec.ReceiveFrame(d.frame) })
}

// unref empties the frame, with a call of the device's only if it holds memory there.
func (d *decoder) unref() {
	if c := (*C.AVFrame)(d.frame.UnsafePointer()); c.hw_frames_ctx == nil && !d.device.lost() {
		d.frame.Unref()
		return
	}
	_ = d.device.call(func() error { d.frame.Unref(); return nil })
}

// close frees the decoder. Its frames stay valid. It may be called twice, and alloc after it.
func (d *decoder) close() {
	lost := d.device.lost()
	d.closeCodec()
	for _, p := range d.again {
		p.Free()
	}
	d.again = nil
	d.untake()
	if lost { // the call that goes on has them
		d.handle, d.pkt, d.frame = 0, nil, nil
	}
	if d.handle != 0 {
		d.handle.Delete()
		d.handle = 0
	}
	if d.pkt != nil {
		d.pkt.Free()
		d.frame.Free()
		d.pkt, d.frame = nil, nil
	}
	d.scaler.Close()
	d.found.steps.close()
}

// decoderFor prefers dav1d: FFmpeg's own AV1 decoder needs hardware.
func decoderFor(id astiav.CodecID) *astiav.Codec {
	if id == astiav.CodecIDAv1 {
		return astiav.FindDecoderByName("libdav1d")
	}
	return astiav.FindDecoder(id)
}

// sharedBy returns a description for frames to share, which is the one before unless that differs.
func (d *decoder) sharedBy(v pipeline.Video) *pipeline.Video {
	if d.shared == nil || *d.shared != v {
		d.shared = &v
	}
	return d.shared
}

// untake releases a frame that was taken and not handed out.
func (d *decoder) untake() {
	if d.taken != nil {
		d.taken.Release()
		d.taken = nil
	}
}
