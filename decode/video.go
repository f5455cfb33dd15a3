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
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// videoDecoder decodes the packets of a video, on a device for as long as that has the same result.
type videoDecoder struct {
	decoder
	faults
	progress
	opts    Options
	coded   *astiav.Stream // whose packets these are
	groups  groups
	layered bool // it is MV-HEVC
	eof     bool // no more packets come
}

// progress is how far the frames have come.
type progress struct {
	emitted  int64
	around   int64           // frames handed out for their neighbours only
	last     int64           // end of the last frame handed out, microseconds
	formatAt int64           // time of the first frame
	latest   pipeline.Format // of the last picture, before it was converted
}

// par returns the video's parameters by the container.
func (d *videoDecoder) par() *C.AVCodecParameters {
	return (*C.AVStream)(av.StreamPtr(d.coded)).codecpar
}

// openCodec makes the decoder and opens it.
func (d *videoDecoder) openCodec() error {
	if d.opts.Spare.give(&d.decoder, d.par()) {
		return nil
	}
	if err := d.alloc(d.coded.CodecParameters().CodecID()); err != nil {
		return err
	}
	if err := d.coded.CodecParameters().ToCodecContext(d.dec); err != nil {
		return &Error{Op: "decode", Path: d.path, Err: err}
	}
	if d.opts.Sketch {
		c := (*C.AVCodecContext)(d.dec.UnsafePointer())
		c.skip_frame, c.skip_loop_filter = C.AVDISCARD_NONREF, C.AVDISCARD_ALL
	}
	return d.start(d.opts.Threads, (*C.AVStream)(av.StreamPtr(d.coded)).time_base)
}

// OnDevice reports whether a device decodes, so far.
func (d *videoDecoder) OnDevice() bool { return d.device != nil }

// Threads returns the number of threads of the decoder.
func (d *videoDecoder) Threads() int { return d.dec.ThreadCount() }

// Format returns the format of the frames, after the first one.
func (d *videoDecoder) Format() pipeline.Format { return d.format }

// Told returns the losses that warnings have announced.
func (d *videoDecoder) Told() fidelity.Told { return slices.Clone(d.told) }

// prepareFor numbers the packet just read, which the decoder gets next, and looks for pictures that
// are missing before it. joined: it is the first of another recording.
func (d *videoDecoder) prepareFor(joined bool) {
	d.reports.sending(d.pkt, d.dec.ThreadCount())
	if d.reports.whole(d.pkt) {
		d.due++
	}
	d.found.packet(d.pkt)
	id := d.coded.CodecParameters().CodecID()
	key := d.pkt.Flags().Has(astiav.PacketFlagKey) || intraOnly(id)
	entry := (id == astiav.CodecIDH264 || id == astiav.CodecIDHevc) && (key || !d.reports.begun) && canBegin(d.coded, d.pkt)
	d.reports.begun = d.reports.begun || key || entry
	hidden := d.pkt.Flags().Has(astiav.PacketFlagDiscard)
	if !d.reports.begun && !hidden && d.found.stream.Pictured(payload(d.pkt)) {
		d.reports.unkeyed(d.found.packets)
	}
	if joined || entry || hidden { // where parts are joined, or were cut
		d.numbers.Restart()
	}
	d.numbers.Take(d.found.stream, payload(d.pkt))
}

// noteLayers warns of pictures that the decoder leaves out: of the second eye in MV-HEVC.
func (d *videoDecoder) noteLayers() {
	if d.layered || !d.found.stream.Layered(payload(d.pkt)) {
		return
	}
	d.layered = true
	d.told.Add(fidelity.Video, "", "stereo")
	d.warn("the video is MV-HEVC: pictures of the first view are in the output, those of the others are not")
}

// chooseDevice has the video decoded on the device, if there is one that can.
func (d *videoDecoder) chooseDevice() error {
	o, par := d.opts, d.par()
	if o.Device == nil {
		return nil
	}
	codec := C.GoString(C.avcodec_get_name(par.codec_id))
	format := astiav.PixelFormat(par.format)
	err := d.deviceDecodes(codec)
	switch {
	case err == nil:
		d.device = &onDevice{HardwareDecoder: o.Device, format: format, entries: map[uintptr]int{}, come: map[uintptr]struct{}{}}
		d.tell(slog.LevelDebug, "decoding %s on the GPU", codec)
	case o.MustDevice:
		return d.notOnDevice(optionError(fmt.Sprintf("%s on the GPU: %v", codec, err)))
	default:
		d.tell(slog.LevelDebug, "decoding %s on the CPU: %v", codec, err)
	}
	return nil
}

func (d *videoDecoder) notOnDevice(err error) error {
	return &Error{Op: "decode", Path: d.path, Err: err, hint: "--hwaccel auto decodes on the CPU what the GPU cannot"}
}

func (d *videoDecoder) deviceDecodes(codec string) error {
	o, par := d.opts, d.par()
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
	if _, more := d.deeper(pipeline.Format{Layout: l, Width: width, Height: height, FullRange: full || par.color_range == C.AVCOL_RANGE_JPEG}); more && !o.OnHost {
		return errDeepened
	}
	return o.Device.Supports(codec, l, width, height)
}

// mostKept is how many bytes of packets are kept to be decoded again. Where entries are further
// apart, the CPU decodes.
const mostKept = 256 << 20

// keep remembers a packet that is sent to the device, and numbers it if it has no number.
func (d *videoDecoder) keep(p *astiav.Packet) {
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
	if !second && p.Flags().Has(astiav.PacketFlagKey) && canBegin(d.coded, p) {
		o.entries[o.last] = o.passed + len(o.kept)
	}
	o.kept = append(o.kept, own)
	if o.size += own.Size(); o.size > mostKept {
		o.problem = errors.New("places where decoding can begin are far apart")
	}
}

// pairs leaves the device where a frame has one field only: decoders on the CPU double it.
func (d *videoDecoder) pairs(end bool) {
	if d.device != nil && d.found.fields.Alone(end) {
		d.device.problem = fmt.Errorf("%w (a picture lacks a field)", errDamage)
	}
}

// doubt returns the fault in the decoder's latest result, or nil. err is that result's, unless
// there is no picture yet.
func (d *videoDecoder) doubt(err error) error {
	o := d.device
	switch {
	case o == nil, o.silent != nil:
	case o.problem != nil:
		return fallbackReason{o.problem}
	case o.c.refused != 0 && d.decoded == 0:
		return fallbackReason{errors.New("the GPU does not begin to decode the video")}
	case o.c.refused != 0:
		return fallbackReason{errors.New("the video changes to what the GPU was not opened for")}
	case errors.Is(err, astiav.ErrExternal), av.Errno(err) == int(C.ENOMEM):
		return fallbackReason{fmt.Errorf("the GPU fails to decode (%v)", err)}
	case err != nil && d.begun:
		return fallbackReason{fmt.Errorf("%w (%v)", errDamage, err)}
	case d.damaged():
		return fallbackReason{errDamage}
	}
	return nil
}

// number returns the number of the packet of the decoder's picture.
func (d *decoder) number() uintptr {
	return uintptr(C.vf_number_of((*C.AVFrame)(d.frame.UnsafePointer())))
}

// takeSurface makes a frame of a picture on the device, in d.taken, and leaves only the picture's
// properties. Its error is a doubt, unless the device does not answer.
func (d *videoDecoder) takeSurface(c *C.AVFrame) error {
	var s C.struct_vf_surface
	if C.vf_surface_of(c, C.int(d.device.format), &s) == 0 {
		return fallbackReason{errors.New("the decoder left the GPU")}
	}
	src, native := d.describe(c)
	if !native || d.format != (pipeline.Format{}) && src != d.format {
		return fallbackReason{errors.New("the format of the pictures changes")}
	}
	if _, more := d.deeper(src); more && !d.opts.OnHost {
		return fallbackReason{errDeepened}
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
		return fallbackReason{err}
	}
	d.taken = f
	return d.device.call(func() error { C.vf_strip(c); return nil })
}
