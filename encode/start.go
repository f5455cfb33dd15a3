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
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
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

// startWith calls described, with o.mu held, between opening the encoder for frames like f and opening the file.
func (o *Output) startWith(f *pipeline.Frame, described func() error) error {
	if err := o.openEncoder(f); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.describeVideo(f); err != nil {
		return err
	}
	if err := described(); err != nil {
		return err
	}
	return o.openWith(f.PTS)
}

// openWith opens the file of streams that are described, whose first frame has the given time, and writes what
// has waited for it.
func (o *Output) openWith(first int64) error {
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
			o.early = early[i+1:] // Close frees the rest
			return err
		}
	}
	return nil
}

func (o *Output) encoderName() string {
	if name := imageEncoder(o.opts.Format); name != "" {
		return name
	}
	if o.opts.Encoder != "" {
		return o.opts.Encoder
	}
	return "libx264"
}

func (o *Output) openEncoder(f *pipeline.Frame) error {
	name := o.encoderName()
	codec := astiav.FindEncoderByName(name)
	if codec == nil {
		return misused("libx264 is the default", "this build has no encoder %q", name)
	}
	if most := 16384; name == "libx264" && (f.Width > most || f.Height > most) {
		return refusal("another --encoder may take it, ffv1 for example", "x264 cannot encode %dx%d: %d is the most on a side", f.Width, f.Height, most)
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
	setColour(c, f, to)
	if props := propsFrame(f); props != nil {
		C.vf_copy_hdr(c, props)
	}
	if o.opts.GOP > 0 {
		enc.SetGopSize(o.opts.GOP)
	}
	if o.oc.oformat.flags&C.AVFMT_GLOBALHEADER != 0 || o.ready != nil {
		c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	}
	c.flags |= C.AV_CODEC_FLAG_FRAME_DURATION
	o.setFields(c, f)
	dict := o.encoderOptions(codec, c)
	defer dict.Free()
	if err := enc.Open(codec, dict); err != nil {
		enc.Free()
		return fmt.Errorf("%w: open the encoder %s for %dx%d %s: %w", ErrOutput, name, f.Width, f.Height, to.pixelFormat, err)
	}
	if e := dict.Get("", nil, astiav.NewDictionaryFlags(astiav.DictionaryFlagIgnoreSuffix)); e != nil {
		enc.Free()
		return misused("see --help", "the encoder %s has no option %q", name, e.Key())
	}
	o.enc = enc
	if to.pixelFormat != av.PixelFormat(f.Layout) || to.isYUV && to.format != f.Format {
		o.to = &encoderInput{scaler: &o.scaler, from: f.Format, to: to}
	}
	return nil
}

// setFields asks for interlaced coding when the first frame is. libx264 needs whole macroblock pairs of
// chroma rows for it.
func (o *Output) setFields(c *C.AVCodecContext, f *pipeline.Frame) {
	if !f.Interlaced || Image(o.opts.Format) {
		return
	}
	if f.Height%4 != 0 {
		o.opts.Warn("the fields are filtered apart, but %d lines cannot be coded as interlaced: the output is tagged progressive", f.Height)
		return
	}
	c.flags |= C.AV_CODEC_FLAG_INTERLACED_DCT | C.AV_CODEC_FLAG_INTERLACED_ME
	c.field_order = C.AV_FIELD_BB
	if f.TopFieldFirst {
		c.field_order = C.AV_FIELD_TT
	}
}

func propsFrame(f *pipeline.Frame) *C.AVFrame {
	if p, ok := f.Props().(*av.Props); ok && p != nil {
		return (*C.AVFrame)(p.Pointer())
	}
	return nil
}

func (o *Output) setAspect(enc *astiav.CodecContext, f *pipeline.Frame) {
	st := (*C.AVStream)(av.StreamPtr(o.in.Video))
	sar := C.av_guess_sample_aspect_ratio((*C.AVFormatContext)(av.FormatPtr(o.in.Context)), st, propsFrame(f))
	if sar.num > 0 {
		enc.SetSampleAspectRatio(astiav.NewRational(int(sar.num), int(sar.den)))
	}
}

// setColour tags the output as the input is tagged: by the frame, else by the container. Samples that
// were RGB get the matrix they are converted with.
func setColour(c *C.AVCodecContext, f *pipeline.Frame, to encoderFormat) {
	if p := propsFrame(f); p != nil {
		c.color_primaries, c.color_trc, c.colorspace = p.color_primaries, p.color_trc, p.colorspace
		c.color_range, c.chroma_sample_location = p.color_range, p.chroma_location
	}
	if f.Layout == pipeline.RGBA {
		c.colorspace, c.color_range = C.AVCOL_SPC_UNSPECIFIED, C.AVCOL_RANGE_UNSPECIFIED
		if to.isYUV {
			c.colorspace = C.AVCOL_SPC_BT709
			if to.format.Matrix == pipeline.BT601 {
				c.colorspace = C.AVCOL_SPC_SMPTE170M
			}
			c.color_range = C.AVCOL_RANGE_MPEG
		}
		c.chroma_sample_location = C.AVCHROMA_LOC_UNSPECIFIED
	} else if !to.isYUV {
		c.colorspace = C.AVCOL_SPC_RGB
	}
	if to.isYUV && to.format.FullRange {
		c.color_range = C.AVCOL_RANGE_JPEG
	}
}

// encoderOptions collects the options in the encoder's own terms. One that the encoder has not, and that
// the user gave, shows after opening, since it stays in the dictionary.
func (o *Output) encoderOptions(codec *astiav.Codec, c *C.AVCodecContext) *astiav.Dictionary {
	d := astiav.NewDictionary()
	set := func(k, v string) {
		if v != "" {
			_ = d.Set(k, v, 0)
		}
	}
	if Image(o.opts.Format) {
		if codec.Name() == "mjpeg" {
			c.flags |= C.AV_CODEC_FLAG_QSCALE
			c.global_quality = 2 * C.FF_QP2LAMBDA
		}
		return d
	}
	set("preset", o.opts.Preset)
	set("tune", o.opts.Tune)
	set("x264-params", o.opts.Params)
	if o.opts.Bitrate > 0 {
		c.bit_rate = C.int64_t(o.opts.Bitrate)
	} else if o.opts.CRF >= 0 {
		set("crf", strconv.FormatFloat(o.opts.CRF, 'f', -1, 64))
	}
	return d
}

// encoderFormat is what the encoder is fed with.
type encoderFormat struct {
	pixelFormat astiav.PixelFormat
	format      pipeline.Format // matrix and range; the layout is not used
	isYUV       bool
}

// encoderFormat chooses the pixel format: the frames' own when the encoder takes it, else the one that
// loses least. H.264 cannot hold an odd size with halved chroma, so that goes out as 4:4:4.
func (o *Output) encoderFormat(codec *astiav.Codec, f *pipeline.Frame) (encoderFormat, error) {
	offered := codec.PixelFormats()
	want, err := o.wantedFormat(codec, f, offered)
	if err != nil {
		return encoderFormat{}, err
	}
	desc := want.Descriptor()
	to := encoderFormat{pixelFormat: want, format: yuvFormat(f.Format), isYUV: !desc.Flags().Has(astiav.PixelFormatDescriptorFlagRgb)}
	if o.opts.Format == "mjpeg" { // a JPEG file has this one meaning
		to.format.FullRange, to.format.Matrix = true, pipeline.BT601
	}
	return to, nil
}

// yuvFormat gives RGB the matrix and range that it has as YUV.
func yuvFormat(f pipeline.Format) pipeline.Format {
	if f.Layout == pipeline.RGBA {
		f.FullRange = false
		f.Matrix = pipeline.BT601
		if f.Height >= 720 {
			f.Matrix = pipeline.BT709
		}
	}
	return f
}

func (o *Output) wantedFormat(codec *astiav.Codec, f *pipeline.Frame, offered []astiav.PixelFormat) (astiav.PixelFormat, error) {
	takes := func(pf astiav.PixelFormat) bool { return len(offered) == 0 || slices.Contains(offered, pf) }
	if o.opts.PixelFormat != "" {
		pf := astiav.FindPixelFormatByName(o.opts.PixelFormat)
		switch {
		case pf == astiav.PixelFormatNone:
			return pf, misused("for example yuv420p, yuv422p, yuv444p", "unknown pixel format %q", o.opts.PixelFormat)
		case !takes(pf):
			return pf, misused("leave --pixel-format out", "the encoder %s does not take %s", codec.Name(), pf)
		case odd(f.Format, pf):
			return pf, misused("use yuv444p", "%dx%d cannot be coded as %s: its sides must be even", f.Width, f.Height, pf)
		}
		return pf, nil
	}
	own := av.PixelFormat(f.Layout)
	switch {
	case codec.Name() == "libx264" && odd(f.Format, own):
		o.opts.Warn("H.264 cannot hold %dx%d with halved chroma; the output is yuv444p", f.Width, f.Height)
		return astiav.PixelFormatYuv444P, nil
	case codec.Name() == "libx264" && f.Layout == pipeline.RGBA:
		o.opts.Warn("RGB is encoded as yuv444p; for players that only take 4:2:0 add --pixel-format yuv420p")
		return astiav.PixelFormatYuv444P, nil
	case takes(own) && (f.Layout != pipeline.RGBA || o.alpha()):
		return own, nil
	case takes(astiav.PixelFormatRgb24) && Image(o.opts.Format):
		return astiav.PixelFormatRgb24, nil
	}
	alpha := C.int(0)
	if o.alpha() {
		alpha = 1
	}
	list := make([]C.enum_AVPixelFormat, 0, len(offered)+1)
	for _, pf := range offered {
		list = append(list, C.enum_AVPixelFormat(pf))
	}
	list = append(list, C.AV_PIX_FMT_NONE)
	best := C.avcodec_find_best_pix_fmt_of_list(&list[0], C.enum_AVPixelFormat(own), alpha, nil)
	if best == C.AV_PIX_FMT_NONE {
		return astiav.PixelFormatNone, refusal("try libx264", "the encoder %s takes no format that %s can become", codec.Name(), own)
	}
	return astiav.PixelFormat(best), nil
}

// alpha tells whether the input has transparency to keep.
func (o *Output) alpha() bool {
	return o.in.Video.CodecParameters().PixelFormat().Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
}

// odd tells that f's sides do not divide by the chroma subsampling of pf.
func odd(f pipeline.Format, pf astiav.PixelFormat) bool {
	d := C.av_pix_fmt_desc_get(C.enum_AVPixelFormat(pf))
	return d != nil && (f.Width&(1<<d.log2_chroma_w-1) != 0 || f.Height&(1<<d.log2_chroma_h-1) != 0)
}

// encoderInput converts frames to what the encoder takes.
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
	if e.to.isYUV && e.to.format.FullRange {
		d.color_range = C.AVCOL_RANGE_JPEG
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

// writeError turns an FFmpeg error into words about the output file.
func (o *Output) writeError(op string, err error) error {
	if no := av.Errno(err); no != 0 {
		err = syscall.Errno(no)
	}
	return outputError(op, shown(o.path), err)
}

// shown is the person's name of what FFmpeg calls url.
func shown(url string) string {
	if url == "pipe:1" {
		return "stdout"
	}
	return strings.TrimPrefix(url, "file:")
}
