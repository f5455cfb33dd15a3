package encode

//#include "glue.h"
import "C"

import (
	"time"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Opus codes sound of any codec as Opus: stereo at 48 kHz, in packets of 20 ms. Pauses become
// silence, and damaged packets too. It is for one goroutine.
type Opus struct{ a *audioConverter }

// NewOpus returns a coder of packets that par describes, with times in a unit. The caller closes
// it.
func NewOpus(par *astiav.CodecParameters, unit astiav.Rational) (*Opus, error) {
	from := (*C.AVCodecParameters)(av.ParametersPtr(par))
	a, err := newAudioConverter(from, C.AVRational{C.int(unit.Num()), C.int(unit.Den())}, soundOpus, true)
	if err != nil {
		return nil, err
	}
	return &Opus{a}, nil
}

// Code takes a packet, which it borrows, and hands on those that are ready, each with the time of
// its first sample. Data is valid during the call only. All errors are final.
func (o *Opus) Code(p *astiav.Packet, ready func(data []byte, at time.Duration)) error {
	unit := o.a.c.enc.time_base
	return o.a.push(p, func(out *C.AVPacket) error {
		at := int64(C.av_rescale_q(out.pts, unit, C.AVRational{1, 1_000_000}))
		ready(unsafe.Slice((*byte)(out.data), int(out.size)), time.Duration(at)*time.Microsecond)
		return nil
	})
}

// Close frees the coder.
func (o *Opus) Close() { o.a.close() }
