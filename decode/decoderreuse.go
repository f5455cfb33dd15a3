package decode

//#include "glue.h"
import "C"

import (
	"bytes"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Spare keeps the decoder that one input had on a device for the next one, which reads another
// part of the same file: NVDEC takes a tenth of a second to open a decoder and to close it, and
// opens one at a time. The zero value is empty. It is for one input at a time, and the device must
// outlive it.
type Spare struct {
	device HardwareDecoder
	codec  *astiav.Codec
	dec    *astiav.CodecContext
	c      *C.struct_vf_on_device
}

// keep takes a decoder that is about to close, unless anything went wrong with it.
func (s *Spare) keep(d *decoder, damaged bool) {
	o := d.device
	if s == nil || d.dec == nil || o == nil || o.problem != nil || o.lost() || o.c.refused != 0 || d.decoded == 0 || damaged {
		return
	}
	s.Close()
	c := (*C.AVCodecContext)(d.dec.UnsafePointer())
	if o.call(func() error { C.vf_decoder_rest(c); return nil }) == nil {
		s.device, s.codec, s.dec, s.c = o.HardwareDecoder, d.codec, d.dec, o.c
		d.dec, o.c = nil, nil
	}
}

// give has another use the decoder, and reports whether there is one for its video.
func (s *Spare) give(d *decoder, is *C.AVCodecParameters) bool {
	if s == nil || s.dec == nil || d.device == nil {
		return false
	}
	was := (*C.AVCodecContext)(s.dec.UnsafePointer())
	same := func(a *C.uint8_t, na C.int, b *C.uint8_t, nb C.int) bool {
		return bytes.Equal(av.Slice((*byte)(unsafe.Pointer(a)), int(na)), av.Slice((*byte)(unsafe.Pointer(b)), int(nb)))
	}
	if was.codec_id != is.codec_id || !same(was.extradata, was.extradata_size, is.extradata, is.extradata_size) {
		return false
	}
	d.codec, d.dec, d.device.c = s.codec, s.dec, s.c
	*s = Spare{}
	d.prepare()
	C.vf_decoder_again(was, d.device.c, C.uintptr_t(d.handle))
	return true
}

// Close frees the decoder. The spare is empty then, and may be used again.
func (s *Spare) Close() {
	if s.dec != nil {
		dec, c := s.dec, s.c
		_ = s.device.Call(func() { dec.Free(); C.vf_device_free(c) })
	}
	*s = Spare{}
}
