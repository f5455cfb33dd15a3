package encode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

const (
	previewCRF = "20"
	// vbvSeconds is how long the pictures that come at once may take to send: a key frame is one.
	vbvSeconds = 0.25
	never      = 1 << 30 // pictures between key frames
)

// previewAVC codes what a composer draws as H.264.
type previewAVC struct {
	composer
	canvas   *canvas
	enc      *astiav.CodecContext
	pkt      *astiav.Packet
	fps      float64
	vbv      int64 // bits a second that the encoder was told
	favoured bool  // the stamp, by the encoder
	n        int64
	avcc     []byte
	data     []byte
}

// composer draws a pair on a yuv420p canvas.
type composer interface {
	size() (width, height int) // of the canvas
	compose(c *canvas, original, filtered *pipeline.Frame, s Stamp) error
	describe(c *PreviewConfig) // says where what is, and by what it was scaled
	close()
}

// newPreviewAVC takes the composer.
func newPreviewAVC(c composer, f *pipeline.Frame, o PreviewOptions, preset string, bits int64) (p *previewAVC, err error) {
	p = &previewAVC{composer: c, fps: o.FrameRate, pkt: astiav.AllocPacket()}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.pkt == nil {
		return nil, errors.New("out of memory")
	}
	to := yuvFormat(f.Format)
	to.Layout = pipeline.YUV420P
	to.Width, to.Height = p.size()
	if p.canvas, err = newCanvas(to); err != nil {
		return nil, err
	}
	return p, p.openEncoder(f, o, preset, bits)
}

func (p *previewAVC) openEncoder(f *pipeline.Frame, o PreviewOptions, preset string, bits int64) error {
	codec := astiav.FindEncoderByName("libx264")
	if codec == nil {
		return errors.New("this build has no libx264")
	}
	if p.enc = astiav.AllocCodecContext(codec); p.enc == nil {
		return errors.New("out of memory")
	}
	coded := p.canvas.view.Format
	p.enc.SetWidth(coded.Width)
	p.enc.SetHeight(coded.Height)
	p.enc.SetPixelFormat(astiav.PixelFormatYuv420P)
	// x264 counts pictures, not time: told of times, it holds each picture back until it knows the next one's.
	rate := astiav.NewRational(int(math.Round(o.FrameRate*1000)), 1000)
	p.enc.SetFramerate(rate)
	p.enc.SetTimeBase(astiav.NewRational(rate.Den(), rate.Num()))
	p.enc.SetGopSize(never)
	p.enc.SetThreadCount(previewThreads(o.Threads))
	p.enc.SetThreadType(astiav.ThreadTypeSlice)
	p.setRate(rateOf(bits, 1/o.FrameRate, o.FrameRate), bits)
	c := (*C.AVCodecContext)(p.enc.UnsafePointer())
	c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	setColour(c, f, encoderFormat{pixelFormat: astiav.PixelFormatYuv420P, format: coded, isYUV: true})
	completeColour(c, coded)
	d := astiav.NewDictionary()
	defer d.Free()
	for k, v := range map[string]string{"preset": preset, "tune": "zerolatency", "crf": previewCRF, "forced-idr": "1",
		"x264-params": "annexb=0:scenecut=0:aq-mode=1:qpmax=64"} {
		_ = d.Set(k, v, 0)
	}
	if o.Baseline {
		_ = d.Set("profile", "baseline", 0)
	}
	if err := p.enc.Open(codec, d); err != nil {
		return fmt.Errorf("open libx264 for %v: %w", coded, err)
	}
	var err error
	p.avcc, err = avcC(headers(p.enc.ExtraData()))
	return err
}

// fewBits for a sample of the stack are those with which x264 may give up single pictures.
const fewBits = 0.05

// favourStamp has the stamp coded so that it can be read whatever becomes of the pictures. x264 lets go of such
// wishes at the coarsest of its steps, which are not allowed therefore. Where there are bits enough it is left
// alone: a fine stamp in a small picture misleads the rate control.
func (p *previewAVC) favourStamp(bits int64) error {
	stacked, ok := p.composer.(*stacker)
	if !ok {
		return nil
	}
	s, f := stacked.stack, (*C.AVFrame)(p.canvas.frame.UnsafePointer())
	want := float64(bits) < fewBits*p.fps*float64(s.codedWidth*s.codedHeight)
	switch {
	case want == p.favoured:
		return nil
	case !want:
		C.av_frame_remove_side_data(f, C.AV_FRAME_DATA_REGIONS_OF_INTEREST)
	default:
		right := min(s.codedWidth, 8*stampBytes*stampBlock)
		if n := C.vf_favour(f, 0, C.int(s.stampY), C.int(right), C.int(s.codedHeight), C.AVRational{-6, 10}); n < 0 {
			return av.Error(int(n))
		}
	}
	p.favoured = want
	return nil
}

func previewThreads(n int) int {
	if n == 0 {
		n = runtime.NumCPU()
	}
	return min(n, maxPreviewThreads)
}

// rateOf returns the rate to tell x264, which takes pictures to come at fps, when they come every so many seconds.
func rateOf(bits int64, interval, fps float64) int64 {
	return int64(float64(bits) * interval * fps)
}

func (p *previewAVC) setRate(vbv, bits int64) {
	p.vbv = vbv
	p.enc.SetRateControlMaxRate(vbv)
	p.enc.SetRateControlBufferSize(int(float64(bits) * vbvSeconds))
}

// follow tells x264 of a new rate, when it is one: a change costs it some of what it has learnt.
func (p *previewAVC) follow(at slot) {
	want := rateOf(at.bits, at.interval.Seconds(), p.fps)
	buffer := int(float64(at.bits) * vbvSeconds)
	if d := math.Abs(float64(want-p.vbv)) / float64(p.vbv); d > 0.1 || buffer != p.enc.RateControlBufferSize() {
		p.setRate(want, at.bits)
	}
}

func (p *previewAVC) code(original, filtered *pipeline.Frame, s Stamp, at slot, key bool) (Packet, error) {
	if err := p.canvas.writable(); err != nil {
		return Packet{}, err
	}
	if err := p.compose(p.canvas, original, filtered, s); err != nil {
		return Packet{}, err
	}
	p.follow(at)
	if err := p.favourStamp(at.bits); err != nil {
		return Packet{}, err
	}
	f := p.canvas.frame
	f.SetPts(p.n)
	p.n++
	f.SetPictureType(astiav.PictureTypeNone)
	if key {
		f.SetPictureType(astiav.PictureTypeI)
	}
	if err := p.enc.SendFrame(f); err != nil {
		return Packet{}, err
	}
	if err := p.enc.ReceivePacket(p.pkt); err != nil {
		return Packet{}, err
	}
	defer p.pkt.Unref()
	var err error
	p.data, err = pictureUnits(p.data[:0], p.pkt.Data())
	return Packet{Data: p.data, Key: p.pkt.Flags().Has(astiav.PacketFlagKey)}, err
}

func (p *previewAVC) config() *PreviewConfig {
	coded := p.canvas.view.Format
	c := &PreviewConfig{
		Codec: avcName(p.avcc), Description: slices.Clone(p.avcc), CodedWidth: coded.Width, CodedHeight: coded.Height,
	}
	p.describe(c)
	return c
}

func (p *previewAVC) close() {
	if p.enc != nil {
		p.enc.Free()
	}
	if p.pkt != nil {
		p.pkt.Free()
	}
	p.canvas.close()
	p.composer.close()
}

// colourTags are what a frame says of its colours beside its Format.
type colourTags struct{ primaries, transfer, chroma int }

func tagsOf(f *pipeline.Frame) colourTags {
	p := propsFrame(f)
	if p == nil {
		return colourTags{}
	}
	return colourTags{int(p.color_primaries), int(p.color_trc), int(p.chroma_location)}
}

// completeColour tags what the frames leave open: a stack is higher than its pictures, so viewers would guess wrong
// by its size. What is said of primaries and transfer is what they take where nothing is.
func completeColour(c *C.AVCodecContext, f pipeline.Format) {
	primaries, transfer := C.enum_AVColorPrimaries(C.AVCOL_PRI_BT709), C.enum_AVColorTransferCharacteristic(C.AVCOL_TRC_BT709)
	switch f.Matrix {
	case pipeline.BT709:
		c.colorspace = C.AVCOL_SPC_BT709
	case pipeline.BT2020:
		c.colorspace = C.AVCOL_SPC_BT2020_NCL
		primaries, transfer = C.AVCOL_PRI_BT2020, C.AVCOL_TRC_BT2020_10
	default:
		c.colorspace = C.AVCOL_SPC_SMPTE170M
	}
	if c.color_primaries == C.AVCOL_PRI_UNSPECIFIED || c.color_primaries == C.AVCOL_PRI_RESERVED0 {
		c.color_primaries = primaries
	}
	if c.color_trc == C.AVCOL_TRC_UNSPECIFIED || c.color_trc == C.AVCOL_TRC_RESERVED0 {
		c.color_trc = transfer
	}
	if c.color_range = C.AVCOL_RANGE_MPEG; f.FullRange {
		c.color_range = C.AVCOL_RANGE_JPEG
	}
}
