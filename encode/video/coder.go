// Package video turns frames into coded packets: the table of encoders, their options and their
// checks, and the conversion of pictures for them.
package video

//#include <libavcodec/avcodec.h>
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

	"vidfilter/encode/mux"
	"vidfilter/encode/side"
	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Coder turns frames into coded packets, which hold all that goes with their pictures: a
// pipeline.Sink. The first frame fixes size, format and colour of the video. It is for one
// goroutine.
type Coder struct {
	*encoder
	input
	give     func(*astiav.Packet) error
	pkt      *astiav.Packet
	header   []byte // of the codec
	carrier  *side.Carrier
	lasting  map[int64]int64 // durations of frames in the encoder, by time; SVT-AV1 does not return them
	decoding []int64         // decode times of the packets to come, instead of the encoder's
	fields   interlacing
	changes  changes
	order    mux.Order // of packets, across encoders
	reopened bool
}

// New returns the coder of an output. give borrows each packet, which it may change, in decode
// order, with times in the unit of frames. Close frees the coder.
func New(s *spec.Spec, give func(*astiav.Packet) error) *Coder {
	e := encoderOf(s)
	muxer := astiav.FindOutputFormat(s.Form.Muxer())
	e.globalHeader = muxer != nil && muxer.Flags().Has(astiav.IOFormatFlagGlobalheader)
	return &Coder{encoder: e, give: give, pkt: astiav.AllocPacket(), lasting: map[int64]int64{}, fields: interlacing{encoder: e}, changes: changes{encoder: e}}
}

// NewPart returns the coder of a part of a video while others code its other parts. The template
// and the options are the whole output's.
func NewPart(in spec.Template, o spec.Options, give func(*astiav.Packet) error) *Coder {
	c := New(spec.New(in, o), give)
	c.part = true
	return c
}

// Open opens the encoder for frames like f.
func (e *Coder) Open(f *pipeline.Frame) error {
	if err := e.openEncoder(f); err != nil {
		return err
	}
	e.header = bytes.Clone(e.enc.ExtraData())
	_, err := e.fields.follow(f)
	return err
}

// IsOpen reports whether the encoder is open.
func (e *Coder) IsOpen() bool { return e.enc != nil }

// Put codes a frame, which it takes.
func (e *Coder) Put(_ context.Context, f *pipeline.Frame) error {
	if e.enc == nil {
		if err := e.Open(f); err != nil {
			f.Release()
			return err
		}
	}
	return e.put(f)
}

// Finish codes the frames that the encoder keeps back.
func (e *Coder) Finish(context.Context) error {
	if e.enc == nil {
		return nil
	}
	return e.flush()
}

// CloseEncoder frees the encoder. The known properties of the video stay.
func (e *Coder) CloseEncoder() { e.input.close() }

// Close frees the coder.
func (e *Coder) Close() {
	if e.pkt != nil {
		e.onDevice.dispose(e.pkt.Free)
		e.pkt = nil
	}
	e.CloseEncoder()
	e.carrier.Close()
	e.scaler.Close()
	e.changes.stated.Close()
}

// KeepHeader has packets come without the codec's header, for any format.
func (e *Coder) KeepHeader() { e.globalHeader = true }

// SameHeader reports whether parts with two headers of the codec can be joined.
func (e *Coder) SameHeader(a, b []byte) bool {
	headers := e.about.headers
	return headers != nil && slices.EqualFunc(headers(a), headers(b), bytes.Equal)
}

// Carry notes the side data of a frame that others code.
func (e *Coder) Carry(f *pipeline.Frame) { e.carrier.Take(f, false) }

// Coded describes the video of pictures like f for the muxer. The encoder must be open.
func (e *Coder) Coded(f *pipeline.Frame) mux.Coded {
	c := mux.Coded{Encoder: e.enc, Format: astiav.PixelFormatNone, Tag: e.about.tags[e.Form.Family], Least: e.about.minSide,
		Packed: e.carrier.Packed(f), Side: e.carrier.Describe}
	if e.onDevice != nil {
		c.Format = av.PixelFormat(e.onDevice.layout)
	}
	return c
}

// Mixed reports whether pictures differed in their fields.
func (e *Coder) Mixed() bool { return e.fields.mixed() }

// FieldKinds reports which pictures were put: progressive, top field first, bottom field first.
func (e *Coder) FieldKinds() [3]bool { return e.fields.kinds }

// Kept reports whether the coded pictures have an extra of the input, as package av names it.
func (e *Coder) Kept(extra string) bool {
	return extra == av.Alpha && e.alphaKept || extra == av.Grain && e.carrier.Grained()
}

// Join takes over the losses of the coder of a part. It returns an error if that has described its
// part in another way than header, the codec's header of the whole.
func (e *Coder) Join(c *Coder, header []byte) error {
	for _, name := range c.Lost {
		e.Lost.Add(name)
	}
	e.alphaKept = e.alphaKept || c.alphaKept
	for i, is := range c.fields.kinds {
		e.fields.kinds[i] = e.fields.kinds[i] || is
	}
	switch {
	case c.fields.told != e.fields.told || len(c.changes.told) > 0:
		return errors.New("what pictures say of the video changes")
	case c.Frames > 0 && !bytes.Equal(c.header, header):
		return errors.New("parts of the video are described in different ways")
	}
	return nil
}

// put codes a frame, which it takes. The encoder must be open.
func (e *Coder) put(f *pipeline.Frame) error {
	if e.Frames == 0 {
		e.origin = f.PTS
	}
	if f.Video == nil || f.Video.TimeBase != e.Shown.TimeBase {
		f.Release()
		return errors.New("encode: the unit of times changes from one frame to the next: a fault of vidfilter; please report it")
	}
	if err := e.follow(f); err != nil {
		f.Release()
		return err
	}
	e.lasting[f.PTS] = f.Duration
	e.carrier.Take(f, e.fields.asFrame)
	frame, err := e.picture(f)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	defer e.onDevice.dispose(frame.Free)
	if e.fields.asFrame && e.fields.topFirst { // or x264 would take the order for another one
		(*C.AVFrame)(frame.UnsafePointer()).flags |= C.AV_FRAME_FLAG_TOP_FIELD_FIRST
	}
	e.Frames++
	enc := e.enc
	if err := e.onDevice.call(func() error { return enc.SendFrame(frame) }); err != nil {
		return e.onDevice.failed(err, "encode frame %d", e.Frames)
	}
	return e.drain()
}

// follow has the coder go on with a frame that may differ from earlier ones in properties that its
// encoder sets once.
func (e *Coder) follow(f *pipeline.Frame) error {
	anew, err := e.fields.follow(f)
	if err == nil && e.changes.follow(f, e.carrier) || anew {
		return e.reopen(f)
	}
	return err
}

func (e *Coder) openEncoder(f *pipeline.Frame) error {
	codec, err := findEncoder(e.about.Name)
	if err != nil {
		return err
	}
	if err := e.Fits(f.Width, f.Height); err != nil {
		return err
	}
	if err := e.Describe(f); err != nil {
		return err
	}
	to, err := e.codedFormat(codec, f)
	if err != nil {
		return err
	}
	enc := astiav.AllocCodecContext(codec)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	width, height := e.about.coded(f.Width, f.Height)
	enc.SetWidth(width)
	enc.SetHeight(height)
	enc.SetPixelFormat(to.pixelFormat)
	c.time_base = fraction(e.Unit)
	if rate := e.frameRate(); rate.Known() {
		c.framerate = fraction(rate)
	}
	enc.SetThreadCount(e.threads())
	if f.Video.Aspect.Known() {
		c.sample_aspect_ratio = fraction(f.Video.Aspect)
	}
	av.TagColour(enc, f, to.format, to.isYUV)
	name := C.GoString(C.avcodec_get_name(c.codec_id))
	e.clocks = e.needsClocks(f)
	e.carrier.Close()
	e.carrier = side.New(e.Spec, name, f, to.pixelFormat.Name(), e.clocks)
	if t := av.CodedTransfer(f); t > 0 && e.carrier.Carries(units.AlternativeTransfer) {
		c.color_trc = C.enum_AVColorTransferCharacteristic(t)
	}
	if e.globalHeader {
		c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	}
	c.flags |= C.AV_CODEC_FLAG_FRAME_DURATION
	e.fields.open(c, f)
	if e.onDevice, err = e.onDeviceOf(c, to.pixelFormat, f.Width, f.Height); err != nil {
		freeEncoder(enc)
		return err
	}
	if err := e.onDevice.call(func() error { return e.open(enc, codec) }); err != nil {
		if refused, ok := errors.AsType[*encoderError](err); ok && e.onDevice != nil {
			err = e.onDevice.failed(refused.err, "open the encoder")
		}
		e.onDevice.dispose(func() { freeEncoder(enc) })
		return err
	}
	e.enc = enc
	if err := e.carrier.Open(enc, e.about.OnDevice == ""); err != nil {
		return err
	}
	e.input.prepare(f, to)
	return nil
}

// frameRate returns the rate for the encoder. Devices share out bits by it: the usual rate of a
// video with pauses would leave many unused.
func (e *encoder) frameRate() pipeline.Ratio {
	usual, mean := e.Shown.Rate, e.Shown.MeanRate
	switch {
	case e.about.OnDevice == "":
	case mean.Known() && (!usual.Known() || mean.Float64() < 0.9*usual.Float64()):
		return mean
	case !usual.Known():
		return pipeline.Ratio{Num: 25, Den: 1}
	}
	return usual
}

func (e *Coder) reopen(f *pipeline.Frame) error {
	if err := e.flush(); err != nil {
		return err
	}
	header := bytes.Clone(e.enc.ExtraData())
	e.CloseEncoder()
	e.reopened = true
	if err := e.openEncoder(f); err != nil {
		return err
	}
	if e.globalHeader && !bytes.Equal(header, e.enc.ExtraData()) {
		return errors.New("encode: pictures that change would change the header of the stream")
	}
	return nil
}

func (e *Coder) drain() error {
	enc, pkt := e.enc, e.pkt
	for {
		err := e.onDevice.call(func() error { return enc.ReceivePacket(pkt) })
		if errors.Is(err, astiav.ErrEagain) || errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return e.onDevice.failed(err, "encode")
		}
		if e.pkt.Duration() == 0 {
			e.pkt.SetDuration(e.lasting[e.pkt.Pts()])
		}
		if len(e.decoding) > 0 {
			e.pkt.SetDts(e.decoding[0])
			e.decoding = e.decoding[1:]
		}
		delete(e.lasting, e.pkt.Pts())
		if dts := e.order.Next(e.pkt.Pts(), e.pkt.Dts()); e.reopened {
			e.pkt.SetDts(dts)
		}
		if err := e.complete(); err != nil {
			return err
		}
		if err := e.carrier.Give(e.pkt); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		err = e.give(e.pkt)
		e.pkt.Unref()
		if err != nil {
			return err
		}
	}
}

// complete adds to the encoder's packet the fields that FFmpeg leaves out.
func (e *Coder) complete() error {
	finish := e.about.finish
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

func (e *Coder) flush() error {
	enc := e.enc
	e.decodeShort()
	if err := e.onDevice.call(func() error { return enc.SendFrame(nil) }); err != nil && !errors.Is(err, astiav.ErrEof) {
		return e.onDevice.failed(err, "encode the last frames")
	}
	return e.drain()
}

// decodeShort makes decode times for a video that is shorter than the encoder's delay, if the
// encoder does not: as if the video went on until the delay is over.
func (e *Coder) decodeShort() {
	times := slices.Sorted(maps.Keys(e.lasting))
	n := int64(len(times))
	if delay := e.about.untimedDelay; n > 0 && n == e.Frames && n <= delay {
		last := times[n-1]
		length := last - times[0] + (delay-n+1)*max(1, e.lasting[last])
		for _, t := range times {
			e.decoding = append(e.decoding, t-length)
		}
	}
}

func fraction(r pipeline.Ratio) C.AVRational { return C.AVRational{C.int(r.Num), C.int(r.Den)} }
