package encode

//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// pad returns a frame of a larger size whose right and lower edges repeat the last samples of
// another, which it borrows.
func pad(src *astiav.Frame, width, height int) (*astiav.Frame, error) {
	dst := astiav.AllocFrame()
	if dst == nil {
		return nil, errors.New("out of memory")
	}
	dst.SetWidth(width)
	dst.SetHeight(height)
	dst.SetPixelFormat(src.PixelFormat())
	err := dst.AllocBuffer(0)
	if err == nil {
		err = av.Error(int(C.vf_pad((*C.AVFrame)(dst.UnsafePointer()), (*C.AVFrame)(src.UnsafePointer()))))
	}
	if err != nil {
		dst.Free()
		return nil, err
	}
	return dst, nil
}

// hidePadding has the container hide what the encoder needs beside pictures like f, and says so.
func (m *muxer) hidePadding(f *pipeline.Frame) error {
	par := m.video.codecpar
	right, bottom := int(par.width)-f.Width, int(par.height)-f.Height
	if right <= 0 && bottom <= 0 {
		return nil
	}
	var crop [16]byte // top, bottom, left, right
	if d := C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, C.AV_PKT_DATA_FRAME_CROPPING); d != nil {
		copy(crop[:], unsafe.Slice((*byte)(d.data), int(d.size)))
	}
	for at, more := range map[int]int{4: bottom, 12: right} {
		binary.LittleEndian.PutUint32(crop[at:], binary.LittleEndian.Uint32(crop[at:])+uint32(more))
	}
	if err := av.Error(int(C.vf_put_side_data(par, C.AV_PKT_DATA_FRAME_CROPPING, (*C.uint8_t)(&crop[0]), C.size_t(len(crop))))); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	m.told.Add(fidelity.Video, "", "size")
	m.warn("the encoder %s takes even sides of at least %d only: pictures are coded as %dx%d, of which %s tells players to show %dx%d",
		m.opts.codec().Name, m.opts.codec().minSide, int(par.width), int(par.height), m.opts.Format, f.Width, f.Height)
	return nil
}
