package encode

//#include <stdlib.h>
//#include <libavutil/opt.h>
//#include <libavutil/pixdesc.h>
//#include "glue.h"
import "C"

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// coder turns frames into coded packets, which hold all that goes with their pictures. It is for
// one goroutine.
type coder struct {
	*common
	// globalHeader means that the codec's header is not repeated in packets.
	globalHeader bool
	// give passes on the packet in pkt, which is the coder's.
	give func() error

	enc       *astiav.CodecContext
	pkt       *astiav.Packet
	scaler    av.Scaler
	to        *encoderInput // conversion for the encoder, nil for none
	onDevice  *onDevice
	alphaKept bool
	// alphaBeside means that the encoder gets alpha that comes beside the samples of frames.
	alphaBeside bool
	// colourless means that the encoder takes no gray: frames get chroma without colour.
	colourless bool
	carrier    carrier
	grain      *grainer        // nil: pictures have no film grain
	lasting    map[int64]int64 // durations of frames in the encoder, by time; SVT-AV1 does not return them
	decoding   []int64         // decode times of the packets to come, instead of the encoder's
	origin     int64           // time of the first frame
	part       bool            // the pictures are a part of a video
	fields     fields
	changes    changes
	order      order // of packets, across encoders
	reopened   bool
}

// Coder codes a part of a video while others code its other parts: a pipeline.Sink that passes on
// packets instead of writing them. See Output.BeginCoded.
type Coder struct {
	coder
	header []byte // of the codec
}

// NewCoder returns a coder for a part. give borrows each packet, in decode order, with times in the
// unit of the template's video. The template and the options are those of the whole output.
func NewCoder(in Template, o Options, give func(*astiav.Packet) error) *Coder {
	c := &Coder{coder: newCoder(newCommon(in, o))}
	c.part = true
	c.give = func() error { return give(c.pkt) }
	return c
}

// Put codes a frame, which it takes. The first one fixes size, format and colour of the video.
func (c *Coder) Put(_ context.Context, f *pipeline.Frame) error {
	if c.enc == nil {
		if err := c.openEncoder(f); err != nil {
			f.Release()
			return err
		}
		c.header = bytes.Clone(c.enc.ExtraData())
	}
	return c.put(f)
}

// Finish codes the frames that the encoder keeps back.
func (c *Coder) Finish(context.Context) error {
	if c.enc == nil {
		return nil
	}
	return c.flush()
}

// Close frees the coder.
func (c *Coder) Close() { c.close() }

func newCoder(s *common) coder {
	name := C.CString(s.form.Muxer())
	defer C.free(unsafe.Pointer(name))
	muxer := C.av_guess_format(name, nil, nil)
	return coder{common: s, part: s.in.Part, globalHeader: muxer != nil && muxer.flags&C.AVFMT_GLOBALHEADER != 0,
		pkt: astiav.AllocPacket(), lasting: map[int64]int64{}}
}

// put codes a frame, which it takes. The encoder must be open.
func (e *coder) put(f *pipeline.Frame) error {
	if e.frames == 0 {
		e.origin = f.PTS
	}
	if f.Video == nil || f.Video.TimeBase != e.shown.TimeBase {
		f.Release()
		return errors.New("encode: the unit of times changes from one frame to the next: a fault of vidfilter; please report it")
	}
	if err := e.follow(f); err != nil {
		f.Release()
		return err
	}
	e.lasting[f.PTS] = f.Duration
	e.carrier.take(f)
	if e.grain != nil {
		e.grain.take(f)
	}
	frame, err := e.picture(f)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	defer e.onDevice.free(frame.Free)
	if e.fields.asFrame {
		e.carrier.frames[int64(frame.Pts())] = true
		if e.fields.topFirst { // or x264 would take the order for another one
			(*C.AVFrame)(frame.UnsafePointer()).flags |= C.AV_FRAME_FLAG_TOP_FIELD_FIRST
		}
	}
	e.frames++
	enc := e.enc
	if err := e.onDevice.call(func() error { return enc.SendFrame(frame) }); err != nil {
		return e.encodeFailed(err, "encode frame %d", e.frames)
	}
	return e.drain()
}

// closeEncoder frees the encoder, which may be opened again.
func (e *coder) closeEncoder() {
	if enc := e.enc; enc != nil {
		e.onDevice.free(func() { freeEncoder(enc) })
		e.enc = nil
	}
	e.onDevice.close()
	e.onDevice = nil
}

func (e *coder) close() {
	if e.pkt != nil {
		e.onDevice.free(e.pkt.Free)
		e.pkt = nil
	}
	e.closeEncoder()
	e.grain.close()
	e.scaler.Close()
	e.changes.stated.Close()
}

func (e *coder) openEncoder(f *pipeline.Frame) error {
	codec, err := findEncoder(e.opts.codec().Name)
	if err != nil {
		return err
	}
	if err := e.Fits(f.Width, f.Height); err != nil {
		return err
	}
	if err := e.describe(f); err != nil {
		return err
	}
	to, err := e.encoderFormat(codec, f)
	if err != nil {
		return err
	}
	enc := astiav.AllocCodecContext(codec)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	width, height := e.opts.codec().coded(f.Width, f.Height)
	enc.SetWidth(width)
	enc.SetHeight(height)
	enc.SetPixelFormat(to.pixelFormat)
	c.time_base = e.unit
	if rate := e.frameRate(); rate.Known() {
		c.framerate = fraction(rate)
	}
	enc.SetThreadCount(e.opts.threads())
	if f.Video.Aspect.Known() {
		c.sample_aspect_ratio = fraction(f.Video.Aspect)
	}
	av.TagColour(enc, f, to.format, to.isYUV)
	name := C.GoString(C.avcodec_get_name(c.codec_id))
	e.opts.clocks = e.opts.needsClocks(f)
	e.carrier = newCarrier(name, &e.opts, e.planDolby(f, name, to.pixelFormat.Name()), &e.lost)
	e.carrier.untrue = e.untrue()
	if t := av.CodedTransfer(f); t > 0 && e.carrier.carries(units.AlternativeTransfer) {
		c.color_trc = C.enum_AVColorTransferCharacteristic(t)
	}
	if e.globalHeader {
		c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	}
	c.flags |= C.AV_CODEC_FLAG_FRAME_DURATION
	e.openFields(c, f)
	if e.onDevice, err = e.onDeviceOf(c, to.pixelFormat, f.Width, f.Height); err != nil {
		freeEncoder(enc)
		return err
	}
	if err := e.onDevice.call(func() error { return e.opts.open(enc, codec) }); err != nil {
		if refused, ok := errors.AsType[*encoderError](err); ok && e.onDevice != nil {
			err = e.encodeFailed(refused.err, "open the encoder")
		}
		e.onDevice.free(func() { freeEncoder(enc) })
		return err
	}
	e.enc = enc
	if e.keepsGrain(name) {
		if e.grain, err = newGrainer(c); err != nil {
			return err
		}
	}
	e.carrier.stream = units.StreamOf(name, enc.ExtraData())
	e.setInput(f, to)
	return nil
}

// frameRate returns the rate of frames for the encoder, unknown if it needs none. On a device it
// shares out bits by the rate alone, so that the usual one of a video with pauses would leave many
// unused.
func (e *coder) frameRate() pipeline.Ratio {
	usual, mean := e.shown.Rate, e.shown.MeanRate
	switch {
	case e.opts.codec().OnDevice == "":
	case mean.Known() && (!usual.Known() || mean.Float64() < 0.9*usual.Float64()):
		return mean
	case !usual.Known():
		return pipeline.Ratio{Num: 25, Den: 1}
	}
	return usual
}

// reopen has the coder go on with a new encoder, for frames like f.
func (e *coder) reopen(f *pipeline.Frame) error {
	if err := e.flush(); err != nil {
		return err
	}
	header := bytes.Clone(e.enc.ExtraData())
	e.closeEncoder()
	e.reopened = true
	if err := e.openEncoder(f); err != nil {
		return err
	}
	if e.globalHeader && !bytes.Equal(header, e.enc.ExtraData()) {
		return errors.New("encode: pictures that change would change the header of the stream")
	}
	return nil
}

// setInput sets how frames like f are converted for the encoder.
func (e *coder) setInput(f *pipeline.Frame, to encoderFormat) {
	alpha := hasAlpha(to.pixelFormat)
	e.alphaKept = alpha && (f.Layout == pipeline.RGBA || av.HasAlpha(f))
	e.alphaBeside = alpha && f.Layout != pipeline.RGBA
	e.colourless = f.Layout.Info().Gray() && !av.IsGray(to.pixelFormat)
	layout := f.Layout
	if e.colourless {
		layout = av.Colourless(layout)
	}
	if own := to.pixelFormat == av.PixelFormat(layout) || to.pixelFormat == av.WithAlpha(layout); !own || to.isYUV && to.format != f.Format {
		e.to = &encoderInput{scaler: &e.scaler, from: f.Format, to: to}
	}
}

func propsFrame(f *pipeline.Frame) *C.AVFrame { return (*C.AVFrame)(av.FrameProps(f)) }

// encoderFormat is the encoder's input.
type encoderFormat struct {
	pixelFormat astiav.PixelFormat
	format      pipeline.Format // matrix and range; the layout is not used
	isYUV       bool
}

// encoderFormat chooses the pixel format: the frames' own if the encoder takes it, else the one
// that loses least.
func (e *coder) encoderFormat(codec *astiav.Codec, f *pipeline.Frame) (encoderFormat, error) {
	want, err := e.wantedFormat(codec, f)
	if err != nil {
		return encoderFormat{}, err
	}
	if has, gets := av.Depth(av.PixelFormat(f.Layout)), av.Depth(want); gets < has && e.opts.PixelFormat == "" && e.opts.Depth == 0 {
		e.told.Add(fidelity.Video, "", "depth")
		how := ""
		if pipeline.Dither(gets) > 0 {
			how = ", dithered"
		}
		e.warn("%s takes no %v: %d bits become %d%s", codec.Name(), f.Layout, has, gets, how)
	}
	desc := want.Descriptor()
	to := encoderFormat{pixelFormat: want, format: av.AsYUV(f.Format), isYUV: !desc.Flags().Has(astiav.PixelFormatDescriptorFlagRgb)}
	if e.opts.codec().videoRange && f.FullRange && to.isYUV {
		e.told.Add(fidelity.Video, "", "range")
		e.warn("the encoder %s has limited range only: samples of full range are converted", codec.Name())
		to.format.FullRange = false
	}
	if e.opts.codec().fullRange {
		for _, key := range []string{"range", "matrix", "chroma_location"} {
			e.told.Add(fidelity.Video, "", key)
		}
		to.format.FullRange, to.format.Matrix = true, pipeline.BT601
	}
	return to, nil
}

func (e *coder) wantedFormat(codec *astiav.Codec, f *pipeline.Frame) (astiav.PixelFormat, error) {
	format := f.Format
	format.Layout = e.opts.codedLayout(f.Layout)
	layout := format.Layout
	offered := e.opts.offered(codec, layout.Info().Depth)
	if e.opts.Depth > 0 {
		e.told.Add(fidelity.Video, "", "depth")
		if exact := ofDepth(offered, e.opts.Depth); len(exact) > 0 {
			offered = exact
		} else if err := e.opts.checkDepth(codec); err != nil {
			return astiav.PixelFormatNone, err
		}
	}
	takes := func(pf astiav.PixelFormat) bool { return len(offered) == 0 || slices.Contains(offered, pf) }
	if e.opts.PixelFormat != "" {
		e.told.Add(fidelity.Video, "", "depth")
		e.told.Add(fidelity.Video, "", "chroma")
		return e.opts.namedFormat(codec, f.Width, f.Height)
	}
	if choose := e.opts.codec().choose; choose != nil {
		if pf, warning := choose(format); pf != astiav.PixelFormatNone {
			e.warn("%s", warning)
			return pf, nil
		}
	}
	own := ownFormat(f, layout, offered)
	if e.form.Layouts != nil && hasAlpha(own) && !takes(own) {
		offered = slices.DeleteFunc(offered, hasAlpha) // no chroma is made up to keep alpha
		own = ownFormat(f, layout, offered)
	}
	deep := layout.Info().Depth > 8
	switch {
	case takes(own) && (layout != pipeline.RGBA || f.Video.Alpha):
		return own, nil
	case takes(astiav.PixelFormatRgb24) && e.isPicture() && !av.IsGray(own) && !deep:
		return astiav.PixelFormatRgb24, nil
	}
	if info := layout.Info(); e.opts.codec().OnDevice != "" && e.opts.Device != nil && !info.RGB && !info.Gray() {
		if err := e.opts.Device.Supports(e.opts.codec().OnDevice, layout, f.Width, f.Height); err != nil {
			return astiav.PixelFormatNone, hint.Add(err, fmt.Sprintf("--pixel-format %s converts", offered[0]))
		}
	}
	alpha := C.int(0)
	if f.Video.Alpha || av.HasAlpha(f) {
		alpha = 1
	}
	list := make([]C.enum_AVPixelFormat, 0, len(offered)+1)
	for _, pf := range offered {
		list = append(list, C.enum_AVPixelFormat(pf))
	}
	list = append(list, C.AV_PIX_FMT_NONE)
	best := C.avcodec_find_best_pix_fmt_of_list(&list[0], C.enum_AVPixelFormat(own), alpha, nil)
	if best == C.AV_PIX_FMT_NONE {
		return astiav.PixelFormatNone, target.Refusal("try "+DefaultEncoder, "the encoder %s takes no format that %s can be converted to", codec.Name(), own)
	}
	less := !layout.Info().Gray() && lessChroma(best, C.enum_AVPixelFormat(own))
	if less {
		e.told.Add(fidelity.Video, "", "chroma")
	}
	rgb := astiav.PixelFormat(best).Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagRgb)
	if less || !rgb && (layout.Arrangement() == pipeline.GBRP || e.form.Layouts != nil && layout == pipeline.RGBA) {
		e.warn("%s takes no %s here; the output is %s", e.opts.taker(codec), own, astiav.PixelFormat(best))
	}
	return astiav.PixelFormat(best), nil
}

// codedLayout returns the layout of frames with as many bits as are coded of them.
func (o *Options) codedLayout(l pipeline.Layout) pipeline.Layout {
	depth := o.codedDepth(l.Info().Depth)
	planes := map[pipeline.Layout]pipeline.Layout{
		pipeline.RGBA: pipeline.GBRP, pipeline.NV12: pipeline.YUV420P, pipeline.NV16: pipeline.YUV422P, pipeline.NV24: pipeline.YUV444P,
	}
	for _, coded := range []pipeline.Layout{l.At(depth), planes[l.Arrangement()].At(depth)} {
		if coded.Valid() {
			return coded
		}
	}
	return l
}

// ofDepth returns the pixel formats with samples of so many bits.
func ofDepth(all []astiav.PixelFormat, depth int) (some []astiav.PixelFormat) {
	for _, pf := range all {
		if av.Depth(pf) == depth {
			some = append(some, pf)
		}
	}
	return some
}

// ownFormat returns the pixel format that is a frame's own in the layout that is coded of it, with
// its alpha if one that is offered has alpha. Gray frames have chroma without colour where no gray
// keeps their depth as others do.
func ownFormat(f *pipeline.Frame, layout pipeline.Layout, offered []astiav.PixelFormat) astiav.PixelFormat {
	depth := layout.Info().Depth
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

func hasAlpha(pf astiav.PixelFormat) bool {
	return pf.Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
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

// picture returns a frame, which it takes, as the encoder gets it.
func (e *coder) picture(f *pipeline.Frame) (*astiav.Frame, error) {
	if e.onDevice != nil {
		return e.surface(f)
	}
	return e.converted(f)
}

// converted returns a frame, which it takes, in the encoder's format.
func (e *coder) converted(f *pipeline.Frame) (*astiav.Frame, error) {
	f.Retain() // for its alpha
	defer f.Release()
	frame, err := av.Wrap(f) // takes f
	if err != nil {
		return nil, err
	}
	if e.colourless {
		if err := av.AddColourless(frame, f.Layout); err != nil {
			frame.Free()
			return nil, err
		}
	}
	if e.to != nil {
		converted, err := e.to.convert(frame)
		frame.Free()
		if err != nil {
			return nil, fmt.Errorf("convert to %s: %w", e.to.to.pixelFormat, err)
		}
		frame = converted
	}
	if width, height := e.enc.Width(), e.enc.Height(); width != f.Width || height != f.Height {
		padded, err := pad(frame, width, height)
		frame.Free()
		if err != nil {
			return nil, fmt.Errorf("pad to %dx%d: %w", width, height, err)
		}
		frame = padded
	}
	if e.alphaBeside {
		if err := av.SetAlpha(frame, f, e.enc.PixelFormat()); err != nil {
			frame.Free()
			return nil, fmt.Errorf("alpha: %w", err)
		}
	}
	return frame, nil
}

func (e *coder) drain() error {
	enc, pkt := e.enc, e.pkt
	for {
		err := e.onDevice.call(func() error { return enc.ReceivePacket(pkt) })
		if errors.Is(err, astiav.ErrEagain) || errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return e.encodeFailed(err, "encode")
		}
		if e.pkt.Duration() == 0 {
			e.pkt.SetDuration(e.lasting[e.pkt.Pts()])
		}
		if len(e.decoding) > 0 {
			e.pkt.SetDts(e.decoding[0])
			e.decoding = e.decoding[1:]
		}
		delete(e.lasting, e.pkt.Pts())
		if dts := e.order.next(e.pkt.Pts(), e.pkt.Dts()); e.reopened {
			e.pkt.SetDts(dts)
		}
		if err := e.complete(); err != nil {
			return err
		}
		if e.grain != nil {
			if err := e.grain.give((*C.AVPacket)(av.PacketPtr(e.pkt))); err != nil {
				return fmt.Errorf("encode: %w", err)
			}
		}
		if err := e.carrier.give((*C.AVPacket)(av.PacketPtr(e.pkt))); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		err = e.give()
		e.pkt.Unref()
		if err != nil {
			return err
		}
	}
}

// complete adds to the encoder's packet the fields that FFmpeg leaves out.
func (e *coder) complete() error {
	finish := e.opts.codec().finish
	if finish == nil {
		return nil
	}
	p := (*C.AVPacket)(av.PacketPtr(e.pkt))
	if err := av.Error(int(C.av_packet_make_writable(p))); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	finish((*C.AVCodecContext)(e.enc.UnsafePointer()), unsafe.Slice((*byte)(p.data), int(p.size)))
	return nil
}

// flush drains the encoder.
func (e *coder) flush() error {
	enc := e.enc
	e.decodeShort()
	if err := e.onDevice.call(func() error { return enc.SendFrame(nil) }); err != nil && !errors.Is(err, astiav.ErrEof) {
		return e.encodeFailed(err, "encode the last frames")
	}
	return e.drain()
}

// decodeShort makes decode times for a video that is shorter than the encoder's delay, if the
// encoder does not: as if the video went on until the delay is over.
func (e *coder) decodeShort() {
	times := slices.Sorted(maps.Keys(e.lasting))
	n := int64(len(times))
	if delay := e.opts.codec().untimedDelay; n > 0 && n == e.frames && n <= delay {
		last := times[n-1]
		length := last - times[0] + (delay-n+1)*max(1, e.lasting[last])
		for _, t := range times {
			e.decoding = append(e.decoding, t-length)
		}
	}
}
