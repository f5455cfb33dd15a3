package encode

//#include <stdlib.h>
//#include "glue.h"
//#include <libavutil/mem.h>
import "C"

import (
	"encoding/binary"
	"errors"
	"slices"
	"unsafe"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// previewMP4 puts the pictures of previewAVC into movie fragments, one each. FFmpeg's muxer writes the description of
// all, but not the fragments: it lets each begin where the one before was to end, and times that drift with guesses
// of lengths are of no use.
type previewMP4 struct {
	*previewAVC
	init     []byte
	sequence uint32
	data     []byte
}

// newPreviewMP4 takes avc.
func newPreviewMP4(avc *previewAVC) (*previewMP4, error) {
	p := &previewMP4{previewAVC: avc}
	if err := p.describe(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// describe makes ftyp and moov.
func (p *previewMP4) describe() error {
	name := C.CString("mp4")
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
	if err := av.Error(int(C.vf_set_extradata(st.codecpar, (*C.uint8_t)(&p.avcc[0]), C.int(len(p.avcc))))); err != nil {
		return err
	}
	st.time_base = C.AVRational{1, mediaSecond}
	if err := av.Error(int(C.avio_open_dyn_buf(&oc.pb))); err != nil {
		return err
	}
	var d *C.AVDictionary
	defer C.av_dict_free(&d)
	set(&d, "movflags", "empty_moov+default_base_moof")
	err := av.Error(int(C.avformat_write_header(oc, &d)))
	var b *C.uint8_t
	n := C.avio_close_dyn_buf(oc.pb, &b)
	p.init = slices.Clone(av.Slice((*byte)(b), int(n)))
	C.av_free(unsafe.Pointer(b))
	return err
}

func (p *previewMP4) code(original, filtered *pipeline.Frame, s Stamp, at slot, key bool) (Packet, error) {
	packet, err := p.previewAVC.code(original, filtered, s, at, key)
	if err != nil {
		return packet, err
	}
	p.sequence++
	p.data = appendFragment(p.data[:0], p.sequence, at, packet)
	packet.Data = p.data
	return packet, nil
}

// The sizes of the boxes of a fragment of one sample.
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
	const offset, length, size, flags = 1, 0x100, 0x200, 0x400 // what trun says
	dependence := uint32(0x01010000)                           // on others, and decoding cannot begin here
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

func (p *previewMP4) config() *PreviewConfig {
	c := p.previewAVC.config()
	c.Description, c.Init = nil, slices.Clone(p.init)
	return c
}
