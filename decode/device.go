package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// Device decodes in hardware, and keeps the pictures in its memory. It is for one input.
type Device interface {
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

// onDevice is a decoder's work on a device. It hands out what a decoder on the CPU would, bit for
// bit: at the first sign of anything else, be it damage or a change of the format, the pictures
// since the last entry (see isEntry) are decoded again, on the CPU, which goes on alone. A nil
// onDevice does nothing.
type onDevice struct {
	Device
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

// doubt is why the device is left.
type doubt struct{ error }

// Reasons to decode on the CPU what the device could.
var errRounds = errors.New("decoders of MPEG-2 round differently, so the result would be another")
var errQuantisers = errors.New("only decoders on the CPU tell the quantisers that the denoiser goes by")
var errProfile = errors.New("of H.264 the GPU decodes the profiles Constrained Baseline, Main and High")
var errDeepened = errors.New("samples get more bits on the CPU")
var errOdd = errors.New("the sides of its pictures are odd, which FFmpeg rounds up for the GPU")

// chooseDevice has the video decoded on the device, if there is one that can.
func (in *Input) chooseDevice(par *C.AVCodecParameters) error {
	if in.opts.Device == nil {
		return nil
	}
	codec := C.GoString(C.avcodec_get_name(par.codec_id))
	format := astiav.PixelFormat(par.format)
	err := in.deviceDecodes(codec, par)
	switch {
	case err == nil:
		in.device = &onDevice{Device: in.opts.Device, format: format, entries: map[uintptr]int{}, come: map[uintptr]struct{}{}}
		in.tell(slog.LevelDebug, "decoding "+codec+" on the GPU")
	case in.opts.MustDevice:
		return in.notOnDevice(optionError(fmt.Sprintf("%s on the GPU: %v", codec, err)))
	default:
		in.tell(slog.LevelDebug, fmt.Sprintf("decoding %s on the CPU: %v", codec, err))
	}
	return nil
}

func (in *Input) notOnDevice(err error) error {
	return &Error{Op: "decode", Path: in.path, Err: err, hint: "--hwaccel auto decodes on the CPU what the GPU cannot"}
}

func (in *Input) deviceDecodes(codec string, par *C.AVCodecParameters) error {
	if !in.opts.MustDevice {
		switch {
		case codec == "mpeg2video":
			return errRounds
		case codec == "h264" && in.opts.Quantisers:
			return errQuantisers
		}
	}
	width, height := int(par.width), int(par.height)
	switch profiles := []C.int{C.AV_PROFILE_H264_CONSTRAINED_BASELINE, C.AV_PROFILE_H264_MAIN, C.AV_PROFILE_H264_HIGH}; {
	case (codec == "vp9" || codec == "mpeg2video") && (width|height)&1 != 0:
		return errOdd
	case codec == "h264" && !slices.Contains(profiles, par.profile):
		return errProfile
	}
	format := astiav.PixelFormat(par.format)
	l, full, native := av.LayoutOf(format)
	if !native || !in.takes(l) {
		return fmt.Errorf("pictures of %s are not filtered as they are", format)
	}
	if _, more := in.deeper(pipeline.Format{Layout: l, Width: width, Height: height, FullRange: full || par.color_range == C.AVCOL_RANGE_JPEG}); more {
		return errDeepened
	}
	return in.opts.Device.Supports(codec, l, width, height)
}

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

// mostKept is how many bytes of packets are kept to be decoded again. Where entries are further
// apart, the CPU decodes.
const mostKept = 256 << 20

// keep remembers the packet that is sent to the decoder, and gives it a number if it has none.
func (in *Input) keep() {
	o := in.device
	if o == nil {
		return
	}
	if numberOf(in.pkt) == 0 {
		C.vf_number((*C.AVPacket)(av.PacketPtr(in.pkt)), C.uintptr_t(o.last+1))
	}
	second := numberOf(in.pkt) == o.last // field of a picture
	o.last = numberOf(in.pkt)
	in.pairs(false)
	own := in.pkt.Clone()
	if own == nil {
		o.problem = errors.New("out of memory")
		return
	}
	if !second && in.pkt.Flags().Has(astiav.PacketFlagKey) && in.entry(in.pkt) {
		o.entries[o.last] = o.passed + len(o.kept)
	}
	o.kept = append(o.kept, own)
	if o.size += own.Size(); o.size > mostKept {
		o.problem = errors.New("places where decoding can begin are far apart")
	}
}

// pairs leaves the device where a frame has one field only: decoders on the CPU double it.
func (in *Input) pairs(end bool) {
	if in.device != nil && in.found.fields.Alone(end) {
		in.device.problem = fmt.Errorf("%w (a picture lacks a field)", errDamage)
	}
}

// came records that the picture of a packet is there. Packets before an entry whose picture is
// there are not needed again: those after it refer to no picture before.
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

// doubt returns what is wrong with what the decoder returned last, a picture or an error other than
// that there is none yet; nil for nothing.
func (in *Input) doubt(err error) error {
	o := in.device
	switch {
	case o == nil, o.silent != nil:
	case o.problem != nil:
		return doubt{o.problem}
	case o.c.refused != 0 && in.decoded == 0:
		return doubt{errors.New("the GPU does not begin to decode the video")}
	case o.c.refused != 0:
		return doubt{errors.New("the video changes to what the GPU was not opened for")}
	case errors.Is(err, astiav.ErrExternal), av.Errno(err) == int(C.ENOMEM):
		return doubt{fmt.Errorf("the GPU fails to decode (%v)", err)}
	case err != nil && (in.opts.Part == nil || in.emitted+in.context > 0):
		return doubt{fmt.Errorf("%w (%v)", errDamage, err)}
	case in.reports.decoder.Load() > 0, in.numbers.Missing(in.reports.gap) > 0:
		return doubt{errDamage}
	}
	return nil
}

var errDamage = errors.New("the video seems to be damaged")

// toCPU goes on without the device, from the last entry on. That it never began is no news to
// users, unless they asked for the device.
func (in *Input) toCPU(why doubt) error {
	level := slog.LevelInfo
	if in.decoded == 0 && !errors.Is(why.error, errDamage) {
		if in.opts.MustDevice {
			return in.notOnDevice(fmt.Errorf("%w: %w", ErrDevice, why.error))
		}
		level = slog.LevelDebug
	}
	in.tell(level, fmt.Sprintf("%v: decoding on the CPU from here on", why))
	o := in.device
	in.again, in.come = o.kept, o.come
	o.kept, o.size = nil, 0
	in.closeCodec()
	if err := in.openCodec(); err != nil {
		return err
	}
	in.reports.again(errors.Is(why.error, errDamage))
	return in.afterAgain()
}

// resend sends the next of the packets that the decoder on the device had, too.
func (in *Input) resend() error {
	p := in.again[0]
	in.again = in.again[1:]
	defer p.Free()
	in.reports.sending(p, in.dec.ThreadCount(), in.clock.jumpy || in.times.untimed)
	if err := in.sendPacket(p); err != nil && !errors.Is(err, astiav.ErrEof) {
		if err := in.decodeError(err); err != nil {
			return err
		}
	}
	return in.afterAgain()
}

// afterAgain ends the decoder's input again, if that is where the packets end.
func (in *Input) afterAgain() error {
	if len(in.again) > 0 || !in.eof {
		return nil
	}
	return in.endDecoder()
}

// number returns that of the packet of the decoder's picture.
func (in *Input) number() uintptr {
	return uintptr(C.vf_number_of((*C.AVFrame)(in.frame.UnsafePointer())))
}

// takeSurface makes a frame of a picture on the device, in in.taken, and leaves only the picture's
// properties. Its error is a doubt, unless the device does not answer.
func (in *Input) takeSurface(c *C.AVFrame) error {
	var s C.struct_vf_surface
	if C.vf_surface_of(c, C.int(in.device.format), &s) == 0 {
		return doubt{errors.New("the decoder left the GPU")}
	}
	src, native := in.describe(c)
	if !native || in.format != (pipeline.Format{}) && src != in.format {
		return doubt{errors.New("the format of the pictures changes")}
	}
	if _, more := in.deeper(src); more {
		return doubt{errDeepened}
	}
	var from pipeline.Surface
	for i := range from.Address {
		from.Address[i], from.Pitch[i] = uint64(s.address[i]), int(s.pitch[i])
	}
	f, err := in.device.Take(from, src)
	if err != nil {
		if err := in.device.call(func() error { return nil }); err != nil { // it answers no more
			return err
		}
		return doubt{err}
	}
	in.taken = f
	return in.device.call(func() error { C.vf_strip(c); return nil })
}
