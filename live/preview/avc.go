package preview

//#include <libavcodec/avcodec.h>
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

const (
	crf = "20"
	// vbvSeconds is the longest time to send a key frame, which is sent at once.
	vbvSeconds = 0.25
	never      = 1 << 30 // pictures from one key frame to the next
)

// avcCoder encodes pictures as H.264.
type avcCoder struct {
	coding
	fps      float64
	vbv      int64    // bits a second that the encoder knows
	favoured bool     // the encoder favours the stamp
	sets     [][]byte // parameter sets
	avcc     []byte
	data     []byte
}

// newAVC takes the composer.
func newAVC(c composer, f *pipeline.Frame, o Options, preset string, bits int64) (coder, error) {
	p := &avcCoder{coding: coding{composer: c}, fps: o.FrameRate}
	if err := p.open(f, o, preset, bits); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *avcCoder) open(f *pipeline.Frame, o Options, preset string, bits int64) error {
	if err := p.begin(spec.X264, av.AsYUV(f.Format), o.Threads); err != nil {
		return err
	}
	coded := p.canvas.View.Format
	// x264 counts pictures, not time: with timestamps, it delays each picture until it knows the
	// next one's.
	rate := astiav.NewRational(int(math.Round(o.FrameRate*1000)), 1000)
	p.enc.SetFramerate(rate)
	p.enc.SetTimeBase(astiav.NewRational(rate.Den(), rate.Num()))
	p.enc.SetGopSize(never)
	p.setRate(rateOf(bits, 1/o.FrameRate, o.FrameRate), bits)
	c := (*C.AVCodecContext)(p.enc.UnsafePointer())
	c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	av.TagColour(p.enc, f, coded, true)
	completeColour(c, coded)
	d := astiav.NewDictionary()
	defer d.Free()
	for k, v := range map[string]string{"preset": preset, "tune": "zerolatency", "crf": crf, "forced-idr": "1",
		"x264-params": "annexb=0:scenecut=0:aq-mode=1:qpmax=64"} {
		_ = d.Set(k, v, 0)
	}
	if o.Baseline {
		_ = d.Set("profile", "baseline", 0)
	}
	if err := p.enc.Open(p.codec, d); err != nil {
		return fmt.Errorf("open %s for %v: %w", spec.X264, coded, err)
	}
	p.sets = units.ParameterSets(bytes.Clone(p.enc.ExtraData()))
	var err error
	p.avcc, err = avcC(p.sets)
	return err
}

// Below fewBits per sample of the stack, x264 may degrade single pictures.
const fewBits = 0.05

// favourStamp keeps the stamp readable when pictures degrade. x264 ignores such requests at its
// coarsest quantizer, which qpmax therefore excludes. With enough bits the stamp is not favoured:
// a fine stamp in a small picture misleads the rate control.
func (p *avcCoder) favourStamp(bits int64) error {
	stacked, ok := p.composer.(*stacker)
	if !ok {
		return nil
	}
	s, f := stacked.stack, (*C.AVFrame)(p.canvas.Frame.UnsafePointer())
	want := float64(bits) < fewBits*p.fps*float64(s.codedWidth*s.codedHeight)
	switch {
	case want == p.favoured:
		return nil
	case !want:
		C.av_frame_remove_side_data(f, C.AV_FRAME_DATA_REGIONS_OF_INTEREST)
	default:
		right := min(s.codedWidth, 8*stampBytes*stampBlock)
		if err := favour(f, s.stampY, s.codedHeight, right, C.AVRational{-6, 10}); err != nil {
			return err
		}
	}
	p.favoured = want
	return nil
}

// favour asks an encoder to spend more bits on rows top to bottom: offset is a share, from -1 to
// 1, of its range of quantization. The frame owns the request.
func favour(f *C.AVFrame, top, bottom, right int, offset C.AVRational) error {
	d := C.av_frame_new_side_data(f, C.AV_FRAME_DATA_REGIONS_OF_INTEREST, C.sizeof_AVRegionOfInterest)
	if d == nil {
		return errors.New("out of memory")
	}
	*(*C.AVRegionOfInterest)(unsafe.Pointer(d.data)) = C.AVRegionOfInterest{
		self_size: C.sizeof_AVRegionOfInterest, top: C.int(top), bottom: C.int(bottom), right: C.int(right), qoffset: offset,
	}
	return nil
}

// rateOf returns the rate for x264, which expects fps pictures a second, when they come at this
// interval.
func rateOf(bits int64, interval, fps float64) int64 {
	return int64(float64(bits) * interval * fps)
}

func (p *avcCoder) setRate(vbv, bits int64) {
	p.vbv = vbv
	p.enc.SetRateControlMaxRate(vbv)
	p.enc.SetRateControlBufferSize(int(float64(bits) * vbvSeconds))
}

// follow sets a new rate in x264 if it differs enough: each change costs x264 some of its
// statistics.
func (p *avcCoder) follow(at budget) {
	want := rateOf(at.bits, at.interval.Seconds(), p.fps)
	buffer := int(float64(at.bits) * vbvSeconds)
	if d := math.Abs(float64(want-p.vbv)) / float64(p.vbv); d > 0.1 || buffer != p.enc.RateControlBufferSize() {
		p.setRate(want, at.bits)
	}
}

func (p *avcCoder) code(original, filtered *pipeline.Frame, s Stamp, at budget, key bool) (Packet, error) {
	if err := p.draw(original, filtered, s); err != nil {
		return Packet{}, err
	}
	p.follow(at)
	if err := p.favourStamp(at.bits); err != nil {
		return Packet{}, err
	}
	f := p.canvas.Frame
	f.SetPictureType(astiav.PictureTypeNone)
	if key {
		f.SetPictureType(astiav.PictureTypeI)
	}
	if err := p.encode(); err != nil {
		return Packet{}, err
	}
	defer p.pkt.Unref()
	var err error
	p.data, err = pictureUnits(p.data[:0], p.pkt.Data())
	return Packet{Data: p.data, Key: p.pkt.Flags().Has(astiav.PacketFlagKey)}, err
}

func (p *avcCoder) config() *Config {
	c := p.coding.config()
	c.Codec, c.Description, c.Sets = avcName(p.avcc), bytes.Clone(p.avcc), p.sets
	return c
}

// colourTags are a frame's colour properties beside its Format.
type colourTags struct{ primaries, transfer, chroma int }

func tagsOf(f *pipeline.Frame) colourTags {
	p := (*C.AVFrame)(av.FrameProps(f))
	if p == nil {
		return colourTags{}
	}
	return colourTags{int(p.color_primaries), int(p.color_trc), int(p.chroma_location)}
}

// completeColour fills in missing tags. Viewers would guess them by the size, and a stack is
// higher than its pictures.
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

// NAL unit types (ISO 14496-10, table 7-1).
const (
	nalSEI       = 6
	nalSPS       = 7
	nalPPS       = 8
	nalDelimiter = 9
)

var errUnits = errors.New("the encoder gave NAL units that are cut off")

// avcC returns the header of H.264 with the given SPS and PPS and 4 bytes of length per unit (ISO
// 14496-15, 5.3.3.1). FFmpeg's has surplus bytes for the Baseline profile.
func avcC(units [][]byte) ([]byte, error) {
	var sps, pps []byte
	for _, u := range units {
		if u[0]&31 == nalSPS {
			sps = u
		} else {
			pps = u
		}
	}
	if len(sps) < 4 || len(pps) == 0 {
		return nil, errors.New("the encoder gave no parameter sets")
	}
	b := []byte{1, sps[1], sps[2], sps[3], 0xff, 0xe1}
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(sps))), sps...)
	b = append(b, 1)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(pps))), pps...)
	if high := 100; int(sps[1]) >= high {
		b = append(b, 0xfc|1, 0xf8, 0xf8, 0) // 4:2:0, 8 bits, no extensions
	}
	return b, nil
}

// avcName returns the codec's name by RFC 6381.
func avcName(avcc []byte) string { return fmt.Sprintf("avc1.%02x%02x%02x", avcc[1], avcc[2], avcc[3]) }

// pictureUnits appends the NAL units of an access unit that carry the picture, with 4 bytes of
// length each: no parameter sets, which are in avcC, and no messages of the encoder.
func pictureUnits(dst, unit []byte) ([]byte, error) {
	list, whole := units.NALUnits(unit, 4)
	if !whole {
		return dst, errUnits
	}
	for _, u := range list {
		switch u[0] & 31 {
		case nalSEI, nalSPS, nalPPS, nalDelimiter:
		default:
			dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(u))), u...)
		}
	}
	return dst, nil
}
