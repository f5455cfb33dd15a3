package decode

//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// payload returns the packet's data, valid until the packet is unreferenced.
func payload(p *astiav.Packet) []byte {
	c := (*C.AVPacket)(av.PacketPtr(p))
	return av.Slice((*byte)(unsafe.Pointer(c.data)), int(c.size))
}

func entries(d *C.AVDictionary) map[string]string { return av.Entries(unsafe.Pointer(d)) }

func tag(s string) C.uint32_t { return C.uint32_t(binary.LittleEndian.Uint32([]byte(s))) }

// tagName returns the four letters by which a container names a codec.
func tagName(tag C.uint32_t) string {
	name := binary.LittleEndian.AppendUint32(nil, uint32(tag))
	for _, c := range name {
		if c < ' ' || c > '~' {
			return fmt.Sprintf("0x%08x", uint32(tag))
		}
	}
	return string(name)
}

func numberOf(p *astiav.Packet) uintptr { return uintptr((*C.AVPacket)(av.PacketPtr(p)).opaque) }

// frameRate returns FFmpeg's best guess of a stream's rate, 0/1 if unknown.
func frameRate(fc *astiav.FormatContext, s *astiav.Stream) astiav.Rational {
	if r := fc.GuessFrameRate(s, nil); r.Num() > 0 && r.Den() > 0 {
		return r
	}
	return astiav.NewRational(0, 1)
}

func hasAlpha(pf astiav.PixelFormat) bool {
	return pf != astiav.PixelFormatNone && pf.Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
}

func ratio(r astiav.Rational) pipeline.Ratio { return pipeline.Ratio{Num: r.Num(), Den: r.Den()} }

// matrixOf returns the display matrix of a stream, or else of a picture; par may be nil.
func matrixOf(par *C.AVCodecParameters, c *C.AVFrame) (m [9]int32) {
	C.vf_matrix(par, c, (*C.int32_t)(&m[0]))
	return m
}

// setIn sets a value in a map, which it makes if it is nil.
func setIn[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
