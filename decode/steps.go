package decode

//#include "glue.h"
//#include "step.h"
import "C"

import (
	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

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
