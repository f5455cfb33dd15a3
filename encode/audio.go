package encode

//#cgo pkg-config: libswresample
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
)

// audioConverter turns audio into AAC, which most containers take, PCM or Opus.
type audioConverter struct {
	c   *C.vf_audio
	pkt *astiav.Packet // output of the encoder
}

// newAudioConverter is for packets with times in a unit.
func newAudioConverter(from *C.AVCodecParameters, unit C.AVRational, to C.enum_AVCodecID, globalHeader bool) (*audioConverter, error) {
	a := &audioConverter{c: (*C.vf_audio)(C.calloc(1, C.sizeof_vf_audio))}
	global := C.int(0)
	if globalHeader {
		global = 1
	}
	if err := av.Error(int(C.vf_audio_open(a.c, from, unit, to, global))); err != nil {
		C.free(unsafe.Pointer(a.c))
		return nil, err
	}
	if a.pkt = astiav.AllocPacket(); a.pkt == nil {
		a.close()
		return nil, errors.New("out of memory")
	}
	return a, nil
}

func (a *audioConverter) close() {
	if a.c == nil {
		return
	}
	C.vf_audio_close(a.c)
	C.free(unsafe.Pointer(a.c))
	a.c = nil
	if a.pkt != nil {
		a.pkt.Free()
	}
}

// padding returns how many samples of silence the encoder puts in front.
func (a *audioConverter) padding() C.int { return a.c.enc.initial_padding }

// push takes a packet in, nil for the end, and hands on those that are ready, which it lends. It
// borrows p.
func (a *audioConverter) push(p *astiav.Packet, ready func(*C.AVPacket) error) error {
	var in *C.AVPacket
	if p != nil {
		in = (*C.AVPacket)(av.PacketPtr(p))
	}
	if err := av.Error(int(C.vf_audio_send(a.c, in))); err != nil {
		return fmt.Errorf("encode: convert audio: %w", err)
	}
	for {
		out := (*C.AVPacket)(av.PacketPtr(a.pkt))
		n := C.vf_audio_receive(a.c, out)
		if n <= 0 {
			if err := av.Error(int(n)); err != nil {
				return fmt.Errorf("encode: convert audio: %w", err)
			}
			return nil
		}
		err := ready(out)
		a.pkt.Unref()
		if err != nil {
			return err
		}
	}
}

// pushAudio converts a packet of a lane, nil for the end, and writes the packets that are ready.
func (o *Output) pushAudio(l *lane, p *astiav.Packet) error {
	return l.aud.push(p, func(out *C.AVPacket) error { return o.carryTo(l, out, l.aud.c.enc.time_base) })
}

// convertAudio makes a stream that the container holds from one that it cannot hold.
func (o *Output) convertAudio(s *astiav.Stream) error {
	in := inputStream(s)
	a, err := newAudioConverter(in.codecpar, in.time_base, codecNamed(cmp.Or(o.form.Audio, "aac")).id, o.oc.oformat.flags&C.AVFMT_GLOBALHEADER != 0)
	if err != nil {
		return err
	}
	st, err := o.newStream(s)
	if st == nil {
		a.close()
		return err
	}
	o.lanes[s.Index()] = &lane{st: st, from: in.time_base, last: av.NoPTS, aud: a} // for Close
	if err != nil {
		return err
	}
	dropCoding(&st.metadata)
	st.time_base = a.c.enc.time_base
	o.told.Add(fidelity.Stream, strconv.Itoa(s.Index()), "codec")
	o.warn("%s becomes %s at %d kb/s: %s cannot hold it", streamName(s), C.GoString(C.avcodec_get_name(a.c.enc.codec_id)),
		a.c.enc.bit_rate/1000, o.opts.Format)
	return av.Error(int(C.avcodec_parameters_from_context(st.codecpar, a.c.enc)))
}
