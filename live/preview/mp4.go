package preview

//#cgo pkg-config: libavformat libavcodec libavutil
//#include <libavcodec/avcodec.h>
//#include <libavformat/avformat.h>
//#include <libavutil/mem.h>
//#include <stdlib.h>
import "C"

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// mp4Coder puts avcCoder's pictures into movie fragments, one each. FFmpeg's muxer writes the
// initialization segment but not the fragments: it begins each where the one before was expected
// to end, so times would drift with guessed lengths.
type mp4Coder struct {
	*avcCoder
	init     []byte
	sequence uint32
	data     []byte
}

// newMP4 takes avc.
func newMP4(avc *avcCoder) (coder, error) {
	p := &mp4Coder{avcCoder: avc}
	if err := p.describe(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// describe makes ftyp and moov.
func (p *mp4Coder) describe() error {
	name := C.CString(formats.MP4)
	defer C.free(unsafe.Pointer(name))
	var oc *C.AVFormatContext
	if err := av.Error(int(C.avformat_alloc_output_context2(&oc, nil, name, nil))); err != nil {
		return err
	}
	defer func() { C.avformat_free_context(oc) }()
	st := C.avformat_new_stream(oc, nil)
	if st == nil {
		return errors.New("out of memory")
	}
	if err := av.Error(int(C.avcodec_parameters_from_context(st.codecpar, (*C.AVCodecContext)(p.enc.UnsafePointer())))); err != nil {
		return err
	}
	if err := av.SetExtradata(unsafe.Pointer(st.codecpar), p.avcc); err != nil {
		return err
	}
	st.time_base = C.AVRational{1, mediaSecond}
	if err := av.Error(int(C.avio_open_dyn_buf(&oc.pb))); err != nil {
		return err
	}
	var d *C.AVDictionary
	defer C.av_dict_free(&d)
	av.SetOption(unsafe.Pointer(&d), "movflags", "empty_moov+default_base_moof")
	err := av.Error(int(C.avformat_write_header(oc, &d)))
	var b *C.uint8_t
	n := C.avio_close_dyn_buf(oc.pb, &b)
	p.init = slices.Clone(av.Slice((*byte)(b), int(n)))
	C.av_free(unsafe.Pointer(b))
	return err
}

func (p *mp4Coder) code(original, filtered *pipeline.Frame, s Stamp, at slot, key bool) (Packet, error) {
	packet, err := p.avcCoder.code(original, filtered, s, at, key)
	if err != nil {
		return packet, err
	}
	p.sequence++
	p.data = appendFragment(p.data[:0], p.sequence, at, packet)
	packet.Data = p.data
	return packet, nil
}

// Sizes of the boxes of a fragment with one sample.
const (
	mfhdSize = 16
	tfhdSize = 16
	tfdtSize = 20
	trunSize = 32
	trafSize = 8 + tfhdSize + tfdtSize + trunSize
	moofSize = 8 + mfhdSize + trafSize
)

// appendFragment appends moof and mdat of one sample (ISO 14496-12, 8.8).
func appendFragment(b []byte, sequence uint32, at slot, p Packet) []byte {
	u32 := func(values ...uint32) {
		for _, v := range values {
			b = binary.BigEndian.AppendUint32(b, v)
		}
	}
	box := func(size int, name string, values ...uint32) {
		u32(uint32(size))
		b = append(b, name...)
		u32(values...)
	}
	const track, one = 1, 1
	const baseIsMoof = 0x020000                                // of tfhd
	const offset, length, size, flags = 1, 0x100, 0x200, 0x400 // fields that trun has
	dependence := uint32(0x01010000)                           // on others; no start for decoding
	if p.Key {
		dependence = 0x02000000
	}
	box(moofSize, "moof")
	box(mfhdSize, "mfhd", 0, sequence)
	box(trafSize, "traf")
	box(tfhdSize, "tfhd", baseIsMoof, track)
	box(tfdtSize, "tfdt", 1<<24, uint32(at.at>>32), uint32(at.at))
	box(trunSize, "trun", offset|length|size|flags, one, moofSize+8, uint32(at.duration), uint32(len(p.Data)), dependence)
	box(8+len(p.Data), "mdat")
	return append(b, p.Data...)
}

func (p *mp4Coder) config() *Config {
	c := p.avcCoder.config()
	c.Description, c.Sets, c.Init = nil, nil, slices.Clone(p.init)
	return c
}
