package encode

//#include <libavcodec/avcodec.h>
import "C"

import (
	"bytes"
	"encoding/binary"
	"slices"

	"vidfilter/internal/av"
)

// keepOrientation stores how a picture must be turned to be shown; 1 is upright.
func (m *muxer) keepOrientation(orientation int) {
	switch {
	case orientation <= 1 || !m.isPicture():
	case m.form.Orientation:
		m.exif = exif(orientation)
	default:
		m.warn("the picture must be turned when shown, which %s cannot express; a .jpg can", m.opts.Format)
	}
}

// exif returns a JPEG segment that holds only an orientation. FFmpeg reads it but does not write
// it.
func exif(orientation int) []byte {
	var b bytes.Buffer
	b.Write([]byte{0xff, 0xe1, 0, 0})
	b.WriteString("Exif\x00\x00MM\x00*")
	for _, v := range []any{uint32(8), uint16(1), // one entry, 8 bytes after "MM"
		uint16(0x112), uint16(3), uint32(1), uint16(orientation), uint16(0), // Orientation, SHORT
		uint32(0)} {
		_ = binary.Write(&b, binary.BigEndian, v) // a buffer never fails
	}
	binary.BigEndian.PutUint16(b.Bytes()[2:], uint16(b.Len()-2))
	return b.Bytes()
}

// insertExif puts the segment after the start of the JPEG in p.
func (m *muxer) insertExif(p *C.AVPacket) error {
	const start = 2
	if len(m.exif) == 0 || p.size < start {
		return nil
	}
	data := av.Slice((*byte)(p.data), int(p.size))
	return setData(p, slices.Concat(data[:start], m.exif, data[start:]))
}
