package fidelity

//#include "glue.h"
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	"vidfilter/internal/av"
	"vidfilter/internal/units"
)

// Seen is the information in the packets and pictures of a video. The zero value is ready; Close
// frees its memory. Facts may be read by another goroutine than the one that notes.
type Seen struct {
	mu       sync.Mutex
	frame    *C.AVFrame // the first, without samples
	dec      *C.AVCodecContext
	err      error // of the decoder
	coding   units.Stream
	packets  int64
	pictures int64
	orders   [3]int64                     // of those, by the order of their fields
	whole    bool                         // Decode goes on behind the first picture
	alpha    bool                         // a picture is not opaque
	inPacket map[units.MetadataKind]int64 // packets with such a unit
	inFrame  map[units.MetadataKind]int64 // pictures with such data
}

// framed lists the data of decoded pictures, for codecs whose packets are not understood.
var framed = map[units.MetadataKind]C.enum_AVFrameSideDataType{
	units.Captions: C.AV_FRAME_DATA_A53_CC, units.HDR10Plus: C.AV_FRAME_DATA_DYNAMIC_HDR_PLUS,
	units.DolbyVision: C.AV_FRAME_DATA_DOVI_RPU_BUFFER,
}

// beside lists the data that containers keep beside packets.
var beside = map[units.MetadataKind]C.enum_AVPacketSideDataType{
	units.Captions: C.AV_PKT_DATA_A53_CC, units.HDR10Plus: C.AV_PKT_DATA_DYNAMIC_HDR10_PLUS,
}

// Packet notes the units of an AVPacket of an AVStream.
func (s *Seen) Packet(stream, packet unsafe.Pointer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inPacket == nil {
		par := (*C.AVStream)(stream).codecpar
		s.inPacket = map[units.MetadataKind]int64{}
		s.coding = units.StreamOf(C.GoString(C.avcodec_get_name(par.codec_id)), unsafe.Slice((*byte)(par.extradata), int(par.extradata_size)))
	}
	s.packets++
	p := (*C.AVPacket)(packet)
	here := map[units.MetadataKind]bool{}
	for kind, data := range beside {
		if C.av_packet_get_side_data(p, data, nil) != nil {
			here[kind] = true
		}
	}
	for _, u := range s.coding.Scan(unsafe.Slice((*byte)(p.data), int(p.size))) {
		here[u.Kind] = true
	}
	for kind := range here {
		s.inPacket[kind]++
	}
}

// Picture notes a decoded AVFrame, and whether it or one before is not opaque.
func (s *Seen) Picture(frame unsafe.Pointer, transparent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alpha = transparent
	if s.frame == nil {
		s.frame = C.vf_describing((*C.AVFrame)(frame))
		s.inFrame = map[units.MetadataKind]int64{}
	}
	s.pictures++
	s.orders[C.vf_order((*C.AVFrame)(frame))]++
	for kind, data := range framed {
		if C.av_frame_get_side_data((*C.AVFrame)(frame), data) != nil {
			s.inFrame[kind]++
		}
	}
}

// DecodeWhole has Decode decode all pictures, to count their fields. It must be called first.
func (s *Seen) DecodeWhole() { s.whole = true }

// Decode decodes an AVPacket of an AVStream, nil for the end, if pictures are still needed.
func (s *Seen) Decode(stream, packet unsafe.Pointer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.frame != nil && !s.whole {
		return
	}
	var one C.int
	if !s.whole {
		one = 1
	}
	var orders [3]C.int64_t
	s.err = av.Error(int(C.vf_decode(&s.dec, (*C.AVStream)(stream), (*C.AVPacket)(packet), one, &s.frame, &orders[0])))
	for i, n := range orders {
		s.orders[i] += int64(n)
	}
}

// fields counts the pictures seen by the order of their fields.
func (s *Seen) fields() (counts [3]int64, all int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.orders, s.orders[0] + s.orders[1] + s.orders[2]
}

// first returns the first picture, or nil.
func (s *Seen) first() *C.AVFrame {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frame
}

// opaque reports whether all pictures were looked at and are opaque.
func (s *Seen) opaque() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pictures > 0 && !s.alpha
}

// count returns how many pictures have a unit, or "".
func (s *Seen) count(kind units.MetadataKind) string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n, all := s.inPacket[kind], s.packets
	if n == 0 && s.coding == (units.Stream{}) {
		n, all = s.inFrame[kind], s.pictures
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d pictures", n, all)
}

// Close frees the picture. It may be called twice.
func (s *Seen) Close() {
	C.av_frame_free(&s.frame)
	C.avcodec_free_context(&s.dec)
}
