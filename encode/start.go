package encode

//#include <stdlib.h>
//#include <libavutil/opt.h>
//#include <libavutil/pixdesc.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// start opens the encoder for frames like f, then the file, and writes the header.
func (o *Output) start(f *pipeline.Frame) error {
	return o.startWith(f, func() error {
		if o.in.Part {
			o.shift = f.PTS
		}
		return nil
	})
}

// startWith calls described, with o.mu held, after opening the encoder for frames like f and
// before opening the file.
func (o *Output) startWith(f *pipeline.Frame, described func() error) error {
	if err := o.openEncoder(f); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.mapStreams(); err != nil {
		return err
	}
	if err := o.describeVideo(f); err != nil {
		return err
	}
	if err := described(); err != nil {
		return err
	}
	o.timecode = av.Timecode(f)
	return o.openWith(f.PTS)
}

// openWith opens the file and writes its header and the packets that wait for it. first is the
// time of the first frame.
func (o *Output) openWith(first int64) error {
	o.first = first
	if err := o.openFile(); err != nil {
		return err
	}
	if err := o.writeHeader(first); err != nil {
		return err
	}
	o.header = true
	early := o.early
	o.early = nil
	for i, p := range early {
		if err := o.carry(p); err != nil {
			o.early = early[i+1:] // Close frees the others
			return err
		}
	}
	return nil
}

func (o *Output) openEncoder(f *pipeline.Frame) error {
	codec, err := findEncoder(o.opts.codec().Name)
	if err != nil {
		return err
	}
	if err := o.Fits(f.Width, f.Height); err != nil {
		return err
	}
	to, err := o.encoderFormat(codec, f)
	if err != nil {
		return err
	}
	enc := astiav.AllocCodecContext(codec)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	enc.SetWidth(f.Width)
	enc.SetHeight(f.Height)
	enc.SetPixelFormat(to.pixelFormat)
	enc.SetTimeBase(o.in.Video.TimeBase())
	if o.in.FrameRate.Num() > 0 {
		enc.SetFramerate(o.in.FrameRate)
	}
	enc.SetThreadCount(o.opts.Threads)
	o.setAspect(enc, f)
	av.TagColour(enc, f, to.format, to.isYUV)
	name := C.GoString(C.avcodec_get_name(c.codec_id))
	o.opts.clocks = o.opts.needsClocks(f)
	o.carrier = newCarrier(name, &o.opts, o.planDolby(f, name, to.pixelFormat.Name()))
	if t := av.CodedTransfer(f); t > 0 && o.carrier.carries(units.AlternativeTransfer) {
		c.color_trc = C.enum_AVColorTransferCharacteristic(t)
	}
	if o.oc.oformat.flags&C.AVFMT_GLOBALHEADER != 0 || o.precoded != nil {
		c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	}
	c.flags |= C.AV_CODEC_FLAG_FRAME_DURATION
	o.setFields(c, f)
	if o.onDevice, err = o.onDeviceOf(c, to.pixelFormat, f.Width, f.Height); err != nil {
		enc.Free()
		return err
	}
	o.enc = enc
	if err := o.opts.open(enc, codec); err != nil {
		if refused, ok := errors.AsType[*encoderError](err); ok && o.onDevice != nil {
			return o.encodeFailed(refused.err, "open the encoder")
		}
		return err
	}
	if o.keepsGrain(name) {
		if o.grain, err = newGrainer(c); err != nil {
			return err
		}
	}
	o.carrier.stream = units.StreamOf(name, enc.ExtraData())
	o.setInput(f, to)
	return nil
}

// setInput sets how frames like f are converted for the encoder.
func (o *Output) setInput(f *pipeline.Frame, to encoderFormat) {
	alpha := hasAlpha(to.pixelFormat)
	o.alphaKept = alpha && (f.Layout == pipeline.RGBA || av.HasAlpha(f))
	o.alphaBeside = alpha && f.Layout != pipeline.RGBA
	o.colourless = f.Layout.Info().Gray() && !av.IsGray(to.pixelFormat)
	layout := f.Layout
	if o.colourless {
		layout = av.Colourless(layout)
	}
	if own := to.pixelFormat == av.PixelFormat(layout) || to.pixelFormat == av.WithAlpha(layout); !own || to.isYUV && to.format != f.Format {
		o.to = &encoderInput{scaler: &o.scaler, from: f.Format, to: to}
	}
}

// setFields asks for interlaced coding if the first frame is interlaced. x264 needs whole
// macroblock pairs of chroma rows for it.
func (o *Output) setFields(c *C.AVCodecContext, f *pipeline.Frame) {
	if !f.Interlaced || o.isPicture() {
		return
	}
	if codec := o.opts.codec(); codec.progressive {
		o.told.Add(fidelity.Video, "", "field_order")
		o.warn("the fields are filtered apart, but the encoder %s has none: the output is tagged progressive", codec.Name)
		return
	}
	if f.Height%4 != 0 {
		o.told.Add(fidelity.Video, "", "field_order")
		o.warn("the fields are filtered apart, but %d lines cannot be coded as interlaced: the output is tagged progressive", f.Height)
		return
	}
	c.flags |= C.AV_CODEC_FLAG_INTERLACED_DCT | C.AV_CODEC_FLAG_INTERLACED_ME
	c.field_order = C.AV_FIELD_BB
	if f.TopFieldFirst {
		c.field_order = C.AV_FIELD_TT
	}
}

func propsFrame(f *pipeline.Frame) *C.AVFrame { return (*C.AVFrame)(av.FrameProps(f)) }

func (o *Output) setAspect(enc *astiav.CodecContext, f *pipeline.Frame) {
	st := (*C.AVStream)(av.StreamPtr(o.in.Video))
	sar := C.av_guess_sample_aspect_ratio((*C.AVFormatContext)(av.FormatPtr(o.in.Context)), st, propsFrame(f))
	if sar.num > 0 {
		enc.SetSampleAspectRatio(astiav.NewRational(int(sar.num), int(sar.den)))
	}
}

// encoderFormat is the encoder's input.
type encoderFormat struct {
	pixelFormat astiav.PixelFormat
	format      pipeline.Format // matrix and range; the layout is not used
	isYUV       bool
}

// encoderFormat chooses the pixel format: the frames' own if the encoder takes it, else the one
// that loses least.
func (o *Output) encoderFormat(codec *astiav.Codec, f *pipeline.Frame) (encoderFormat, error) {
	want, err := o.wantedFormat(codec, f)
	if err != nil {
		return encoderFormat{}, err
	}
	if has, gets := av.Depth(av.PixelFormat(f.Layout)), av.Depth(want); gets < has && o.opts.PixelFormat == "" {
		o.told.Add(fidelity.Video, "", "depth")
		o.warn("%s takes no %v: %d bits become %d, dithered", codec.Name(), f.Layout, has, gets)
	}
	desc := want.Descriptor()
	to := encoderFormat{pixelFormat: want, format: av.AsYUV(f.Format), isYUV: !desc.Flags().Has(astiav.PixelFormatDescriptorFlagRgb)}
	if o.opts.codec().videoRange && f.FullRange && to.isYUV {
		o.told.Add(fidelity.Video, "", "range")
		o.warn("the encoder %s has limited range only: samples of full range are converted", codec.Name())
		to.format.FullRange = false
	}
	if o.opts.codec().fullRange {
		for _, key := range []string{"range", "matrix", "chroma_location"} {
			o.told.Add(fidelity.Video, "", key)
		}
		to.format.FullRange, to.format.Matrix = true, pipeline.BT601
	}
	return to, nil
}

func (o *Output) wantedFormat(codec *astiav.Codec, f *pipeline.Frame) (astiav.PixelFormat, error) {
	offered := o.opts.offered(codec, f.Layout.Info().Depth)
	takes := func(pf astiav.PixelFormat) bool { return len(offered) == 0 || slices.Contains(offered, pf) }
	if o.opts.PixelFormat != "" {
		o.told.Add(fidelity.Video, "", "depth")
		o.told.Add(fidelity.Video, "", "chroma")
		return o.opts.namedFormat(codec, f.Width, f.Height)
	}
	if choose := o.opts.codec().choose; choose != nil {
		if pf, warning := choose(f.Format); pf != astiav.PixelFormatNone {
			o.warn("%s", warning)
			return pf, nil
		}
	}
	own := ownFormat(f, offered)
	deep := f.Layout.Info().Depth > 8
	switch {
	case takes(own) && (f.Layout != pipeline.RGBA || o.alpha()):
		return own, nil
	case takes(astiav.PixelFormatRgb24) && o.isPicture() && !av.IsGray(own) && !deep:
		return astiav.PixelFormatRgb24, nil
	}
	if info := f.Layout.Info(); o.opts.codec().OnDevice != "" && o.opts.Device != nil && !info.RGB && !info.Gray() {
		if err := o.opts.Device.Supports(o.opts.codec().OnDevice, f.Layout, f.Width, f.Height); err != nil {
			return astiav.PixelFormatNone, hint.Add(err, fmt.Sprintf("--pixel-format %s converts", offered[0]))
		}
	}
	alpha := C.int(0)
	if o.alpha() || av.HasAlpha(f) {
		alpha = 1
	}
	list := make([]C.enum_AVPixelFormat, 0, len(offered)+1)
	for _, pf := range offered {
		list = append(list, C.enum_AVPixelFormat(pf))
	}
	list = append(list, C.AV_PIX_FMT_NONE)
	best := C.avcodec_find_best_pix_fmt_of_list(&list[0], C.enum_AVPixelFormat(own), alpha, nil)
	if best == C.AV_PIX_FMT_NONE {
		return astiav.PixelFormatNone, Refusal("try "+DefaultEncoder, "the encoder %s takes no format that %s can be converted to", codec.Name(), own)
	}
	less := !f.Layout.Info().Gray() && lessChroma(best, C.enum_AVPixelFormat(own))
	if less {
		o.told.Add(fidelity.Video, "", "chroma")
	}
	rgb := astiav.PixelFormat(best).Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagRgb)
	if less || f.Layout.Arrangement() == pipeline.GBRP && !rgb {
		o.warn("the encoder %s takes no %s here; the output is %s", codec.Name(), own, astiav.PixelFormat(best))
	}
	return astiav.PixelFormat(best), nil
}

// ownFormat returns the pixel format that is a frame's own, with its alpha if one that is offered
// has alpha. Gray frames have chroma without colour where no gray keeps their depth as others do.
func ownFormat(f *pipeline.Frame, offered []astiav.PixelFormat) astiav.PixelFormat {
	layout, depth := f.Layout, f.Layout.Info().Depth
	alpha := av.HasAlpha(f) && (len(offered) == 0 || slices.ContainsFunc(offered, hasAlpha))
	if layout.Info().Gray() {
		packed := astiav.PixelFormatYa8
		if depth > 8 {
			packed = astiav.PixelFormatYa16Le
		}
		deepest := func(match func(astiav.PixelFormat) bool) (most int) {
			for _, pf := range offered {
				if match(pf) {
					most = max(most, av.Depth(pf))
				}
			}
			return min(most, depth)
		}
		gray := func(pf astiav.PixelFormat) bool { return av.IsGray(pf) && hasAlpha(pf) == alpha }
		switch {
		case deepest(gray) < deepest(func(pf astiav.PixelFormat) bool { return hasAlpha(pf) == alpha }):
			layout = av.Colourless(layout)
		case alpha:
			return packed
		}
	}
	if pf := av.WithAlpha(layout); alpha && pf != astiav.PixelFormatNone {
		return pf
	}
	return av.PixelFormat(layout)
}

// lessChroma reports whether a pixel format has less colour than another.
func lessChroma(a, b C.enum_AVPixelFormat) bool {
	x, y := C.av_pix_fmt_desc_get(a), C.av_pix_fmt_desc_get(b)
	return x.log2_chroma_w > y.log2_chroma_w || x.log2_chroma_h > y.log2_chroma_h
}

// alpha reports whether the input has transparency.
func (o *Output) alpha() bool {
	return hasAlpha(o.in.Video.CodecParameters().PixelFormat())
}

func hasAlpha(pf astiav.PixelFormat) bool {
	return pf.Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
}

// odd reports whether the sides do not divide by the chroma subsampling of pf.
func odd(width, height int, pf astiav.PixelFormat) bool {
	d := C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(pf))
	return d != nil && (width&(1<<d.log2_chroma_w-1) != 0 || height&(1<<d.log2_chroma_h-1) != 0)
}

// encoderInput converts frames for the encoder.
type encoderInput struct {
	scaler *av.Scaler
	from   pipeline.Format
	to     encoderFormat
}

func (e *encoderInput) convert(src *astiav.Frame) (*astiav.Frame, error) {
	dst := astiav.AllocFrame()
	if dst == nil {
		return nil, errors.New("out of memory")
	}
	dst.SetWidth(e.from.Width)
	dst.SetHeight(e.from.Height)
	dst.SetPixelFormat(e.to.pixelFormat)
	err := dst.AllocBuffer(0)
	if err == nil {
		err = e.scaler.ConvertTo(dst, src, e.from, e.to.format)
	}
	d, s := (*C.AVFrame)(dst.UnsafePointer()), (*C.AVFrame)(src.UnsafePointer())
	if err == nil {
		err = av.Error(int(C.av_frame_copy_props(d, s)))
	}
	if err != nil {
		dst.Free()
		return nil, err
	}
	switch {
	case e.to.isYUV && e.to.format.FullRange:
		d.color_range = C.AVCOL_RANGE_JPEG
	case e.to.isYUV && e.from.FullRange:
		d.color_range = C.AVCOL_RANGE_MPEG
	}
	return dst, nil
}

func (o *Output) openFile() error {
	if o.oc.oformat.flags&C.AVFMT_NOFILE != 0 {
		return nil
	}
	cpath := C.CString(o.path)
	defer C.free(unsafe.Pointer(cpath))
	if err := av.Error(int(C.avio_open2(&o.oc.pb, cpath, C.AVIO_FLAG_WRITE, nil, nil))); err != nil {
		return o.writeError("open", err)
	}
	return nil
}

// writeError describes an FFmpeg error of the output file.
func (o *Output) writeError(op string, err error) error {
	if no := av.Errno(err); no != 0 {
		err = syscall.Errno(no)
	}
	return OutputError(op, shown(o.path), err)
}

// shown returns the user's name for an URL of FFmpeg.
func shown(url string) string {
	if url == "pipe:1" {
		return "stdout"
	}
	return strings.TrimPrefix(url, "file:")
}
