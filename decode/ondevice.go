package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// chooseDevice has the video decoded on the device, if there is one that can.
func (d *decoder) chooseDevice(par *C.AVCodecParameters, o Options) error {
	if o.Device == nil {
		return nil
	}
	codec := C.GoString(C.avcodec_get_name(par.codec_id))
	format := astiav.PixelFormat(par.format)
	err := d.deviceDecodes(codec, par, o)
	switch {
	case err == nil:
		d.device = &onDevice{Device: o.Device, format: format, entries: map[uintptr]int{}, come: map[uintptr]struct{}{}}
		d.tell(slog.LevelDebug, "decoding "+codec+" on the GPU")
	case o.MustDevice:
		return d.notOnDevice(optionError(fmt.Sprintf("%s on the GPU: %v", codec, err)))
	default:
		d.tell(slog.LevelDebug, fmt.Sprintf("decoding %s on the CPU: %v", codec, err))
	}
	return nil
}

func (d *decoder) notOnDevice(err error) error {
	return &Error{Op: "decode", Path: d.path, Err: err, hint: "--hwaccel auto decodes on the CPU what the GPU cannot"}
}

func (d *decoder) deviceDecodes(codec string, par *C.AVCodecParameters, o Options) error {
	if !o.MustDevice {
		switch {
		case codec == "mpeg2video":
			return errRounds
		case codec == "h264" && o.Quantisers:
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
	if !native || !d.takes(l) {
		return fmt.Errorf("pictures of %s are not filtered as they are", format)
	}
	if _, more := d.deeper(pipeline.Format{Layout: l, Width: width, Height: height, FullRange: full || par.color_range == C.AVCOL_RANGE_JPEG}); more {
		return errDeepened
	}
	return o.Device.Supports(codec, l, width, height)
}

// mostKept is how many bytes of packets are kept to be decoded again. Where entries are further
// apart, the CPU decodes.
const mostKept = 256 << 20

// keep remembers a packet that is sent to the decoder, and gives it a number if it has none. entry
// reports whether decoding can begin at a key frame.
func (d *decoder) keep(p *astiav.Packet, entry func(*astiav.Packet) bool) {
	o := d.device
	if o == nil {
		return
	}
	if numberOf(p) == 0 {
		C.vf_number((*C.AVPacket)(av.PacketPtr(p)), C.uintptr_t(o.last+1))
	}
	second := numberOf(p) == o.last // field of a picture
	o.last = numberOf(p)
	d.pairs(false)
	own := p.Clone()
	if own == nil {
		o.problem = errors.New("out of memory")
		return
	}
	if !second && p.Flags().Has(astiav.PacketFlagKey) && entry(p) {
		o.entries[o.last] = o.passed + len(o.kept)
	}
	o.kept = append(o.kept, own)
	if o.size += own.Size(); o.size > mostKept {
		o.problem = errors.New("places where decoding can begin are far apart")
	}
}

// pairs leaves the device where a frame has one field only: decoders on the CPU double it.
func (d *decoder) pairs(end bool) {
	if d.device != nil && d.found.fields.Alone(end) {
		d.device.problem = fmt.Errorf("%w (a picture lacks a field)", errDamage)
	}
}

// doubt returns what is wrong with what the decoder returned last, a picture or an error other than
// that there is none yet; nil for nothing. begun means that a frame of those asked for came, and
// damaged reports whether pictures are damaged.
func (d *decoder) doubt(err error, begun bool, damaged func() bool) error {
	o := d.device
	switch {
	case o == nil, o.silent != nil:
	case o.problem != nil:
		return doubt{o.problem}
	case o.c.refused != 0 && d.decoded == 0:
		return doubt{errors.New("the GPU does not begin to decode the video")}
	case o.c.refused != 0:
		return doubt{errors.New("the video changes to what the GPU was not opened for")}
	case errors.Is(err, astiav.ErrExternal), av.Errno(err) == int(C.ENOMEM):
		return doubt{fmt.Errorf("the GPU fails to decode (%v)", err)}
	case err != nil && begun:
		return doubt{fmt.Errorf("%w (%v)", errDamage, err)}
	case damaged():
		return doubt{errDamage}
	}
	return nil
}

// number returns that of the packet of the decoder's picture.
func (d *decoder) number() uintptr {
	return uintptr(C.vf_number_of((*C.AVFrame)(d.frame.UnsafePointer())))
}

// takeSurface makes a frame of a picture on the device, in d.taken, and leaves only the picture's
// properties. Its error is a doubt, unless the device does not answer.
func (d *decoder) takeSurface(c *C.AVFrame) error {
	var s C.struct_vf_surface
	if C.vf_surface_of(c, C.int(d.device.format), &s) == 0 {
		return doubt{errors.New("the decoder left the GPU")}
	}
	src, native := d.describe(c)
	if !native || d.format != (pipeline.Format{}) && src != d.format {
		return doubt{errors.New("the format of the pictures changes")}
	}
	if _, more := d.deeper(src); more {
		return doubt{errDeepened}
	}
	var from pipeline.Surface
	for i := range from.Address {
		from.Address[i], from.Pitch[i] = uint64(s.address[i]), int(s.pitch[i])
	}
	f, err := d.device.Take(from, src)
	if err != nil {
		if err := d.device.call(func() error { return nil }); err != nil { // it answers no more
			return err
		}
		return doubt{err}
	}
	d.taken = f
	return d.device.call(func() error { C.vf_strip(c); return nil })
}

// openCodec makes the decoder of a video and opens it. refused is the size of a picture that FFmpeg
// refused before.
func (d *decoder) openCodec(s *astiav.Stream, refused size, o Options) error {
	par := (*C.AVStream)(av.StreamPtr(s)).codecpar
	if o.Spare.give(d, par) {
		return nil
	}
	if s.CodecParameters().Width() == 0 { // FFmpeg drops a size that it refuses
		if err := beyond(d.path, refused); err != nil {
			return err
		}
	}
	if err := d.alloc(s.CodecParameters().CodecID()); err != nil {
		return err
	}
	if err := s.CodecParameters().ToCodecContext(d.dec); err != nil {
		return &Error{Op: "decode", Path: d.path, Err: err}
	}
	return d.start(o.Threads, (*C.AVStream)(av.StreamPtr(s)).time_base)
}
