package decode

//#include "step.h"
//#include "glue.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// scanned are the kinds of units that FFmpeg's decoders repeat, change or leave out.
var scanned = []units.MetadataKind{
	units.HDR10Plus, units.HDRVivid, units.Captions, units.AFD, units.AlternativeTransfer, units.Timecode, units.FilmGrain, units.DolbyVision,
}

// packetUnits holds the units of packets until the decoder returns their pictures. The zero value
// finds no units.
type packetUnits struct {
	stream   units.Stream
	fields   units.Fields
	transfer int // that the stream is tagged with, beside its units
	packets  uintptr
	waiting  map[uintptr][]units.Unit // by packet
	lasting  []units.Unit             // since the last key frame

	steps quantisers
}

func newPacketUnits(par *C.AVCodecParameters, transfer int) packetUnits {
	codec, extradata := C.GoString(C.avcodec_get_name(par.codec_id)), av.Slice((*byte)(par.extradata), int(par.extradata_size))
	return packetUnits{
		stream: units.StreamOf(codec, extradata), transfer: transfer, waiting: map[uintptr][]units.Unit{},
	}
}

// scans reports whether units of a kind come from packets, and not from the decoder.
func (u *packetUnits) scans(k units.MetadataKind) bool {
	return slices.Contains(scanned, k) && u.stream.Carries(k)
}

// wants reports whether a unit of a packet is to be kept. Lasting ones may also be in a container,
// from where the decoder has them.
func (u *packetUnits) wants(x units.Unit) bool { return u.scans(x.Kind) || x.Kind.Lasting() }

// packet reads the units of a packet that is sent to the decoder next.
func (u *packetUnits) packet(pkt *astiav.Packet) {
	p := (*C.AVPacket)(av.PacketPtr(pkt))
	if u.stream == (units.Stream{}) {
		u.packets++
		C.vf_number(p, C.uintptr_t(u.packets))
		u.steps.packet(u.packets, pkt)
		return
	}
	data := av.Slice((*byte)(p.data), int(p.size))
	u.stream.Learn(data)
	if !u.fields.Second(u.stream, data) {
		u.packets++
	}
	C.vf_number(p, C.uintptr_t(u.packets))
	delete(u.waiting, u.packets-mostHeld)
	u.steps.packet(u.packets, pkt)
	list := slices.DeleteFunc(u.stream.Scan(data), func(x units.Unit) bool { return !u.wants(x) })
	lasting := func(x units.Unit) bool { return x.Kind.Lasting() }
	if now := slices.Clone(list); p.flags&C.AV_PKT_FLAG_KEY != 0 || slices.ContainsFunc(now, lasting) {
		u.lasting = slices.DeleteFunc(now, func(x units.Unit) bool { return !lasting(x) })
	}
	list = append(u.waiting[u.packets], slices.DeleteFunc(list, lasting)...)
	for _, x := range u.lasting {
		if !slices.ContainsFunc(list, func(y units.Unit) bool { return y.Kind == x.Kind }) {
			list = append(list, x)
		}
	}
	if len(list) > 0 {
		u.waiting[u.packets] = list
	}
}

// describe adds the units of a picture to its properties.
func (u *packetUnits) describe(p *av.Props, c *C.AVFrame, rate astiav.Rational) {
	n := uintptr(C.vf_number_of(c))
	p.Units = u.waiting[n]
	delete(u.waiting, n)
	for _, x := range p.Units {
		if x.Kind == units.AlternativeTransfer {
			p.Transfer = u.transfer
		}
	}
	for _, x := range av.FrameUnits(unsafe.Pointer(c), rate) {
		had := slices.ContainsFunc(p.Units, func(y units.Unit) bool { return y.Kind == x.Kind && x.Kind.Lasting() })
		if !had && !u.scans(x.Kind) {
			p.Units = append(p.Units, x)
		}
	}
}

// mostHeld is more than pictures that a decoder holds.
const mostHeld = 256

// quantisers has the steps of the quantiser of pictures until their decoder returns them.
type quantisers struct {
	reader   *C.struct_vf_steps  // nil for other codecs
	of       map[uintptr]float32 // by packet
	smoothed bool
	faithful bool
}

// open begins with a decoder's codec.
func (s *quantisers) open(dec *astiav.CodecContext) {
	c := (*C.AVCodecContext)(dec.UnsafePointer())
	s.close()
	*s = quantisers{
		reader: C.vf_steps_open(c), of: map[uintptr]float32{},
		smoothed: c.codec_id == C.AV_CODEC_ID_AV1, faithful: C.vf_is_faithful(c.codec_id) != 0,
	}
}

func (s *quantisers) close() {
	C.vf_steps_close(s.reader)
	s.reader = nil
}

// packet reads a packet of a number. Two may have one number, as fields of a picture do.
func (s *quantisers) packet(number uintptr, p *astiav.Packet) {
	if s.reader == nil {
		return
	}
	if step := float32(C.vf_step(s.reader, (*C.AVPacket)(av.PacketPtr(p)))); step > 0 {
		s.of[number] = step
	}
	delete(s.of, number-mostHeld)
}

// quantiser returns a picture's quantiser, and takes the table of blocks out of the picture.
func (s *quantisers) quantiser(c *C.AVFrame) pipeline.Quantiser {
	step := float32(C.vf_quantiser(c))
	if s.reader != nil {
		step = s.of[uintptr(C.vf_number_of(c))]
	}
	return pipeline.Quantiser{Step: step, Smoothed: s.smoothed, Faithful: s.faithful}
}
