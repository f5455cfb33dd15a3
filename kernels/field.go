package kernels

import (
	"encoding/binary"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// field is a picture filtered on its own: a progressive frame, or every second row of an
// interlaced one (a view of the same memory with double pitch).
//
// Rows of subsampled chroma in field f are the frame's chroma rows f, f+2, ... If the height is not
// a multiple of four, the second field may own one chroma row fewer than its luma rows need: the
// luma rows beyond read the field's last row, and only rows that exist are written. A second field
// without any chroma row (frames of one or two luma rows) reads the frame's first one and does not
// write chroma. Gray is 4:2:0 whose chroma has no colour and is not written: one row of such
// samples stands for all.
type field struct {
	info          pipeline.LayoutInfo
	width, height int // luma samples
	planes        [3]pipeline.Plane
	chromaRead    int // chroma rows that may be read, at least 1 where there is chroma
	chromaWrite   int // chroma rows that are this field's own
}

// fieldsOf splits a frame into n independently filtered views, one or two, top first.
func fieldsOf(f *pipeline.Frame, interlaced bool) (views [2]field, n int) {
	rows, n := rowsOf(f.Format, interlaced)
	for i := range n {
		views[i] = rows[i].of(f)
	}
	return views, n
}

// fieldRows is the rows of a frame that belong to a field, independent of the frame's address.
type fieldRows struct {
	first       [3]int // the field's first row in each plane of the frame
	step        int    // from one row of the field to the next, in rows of the frame
	height      int    // luma rows
	chromaRead  int    // as in field
	chromaWrite int
}

// rowsOf returns the rows of each field of a frame, top first: one field for a progressive frame,
// else two.
func rowsOf(f pipeline.Format, interlaced bool) (rows [2]fieldRows, n int) {
	if !interlaced || f.Height < 2 {
		return [2]fieldRows{oneField(f, plane.Whole)}, 1
	}
	return [2]fieldRows{oneField(f, plane.Top), oneField(f, plane.Bottom)}, 2
}

func oneField(f pipeline.Format, which plane.Field) (r fieldRows) {
	for i := range f.NumPlanes() {
		_, height := f.PlaneSize(i)
		first, step, n, own := which.Rows(height)
		r.first[i], r.step = first, step
		switch {
		case i == 0:
			r.height = n
		case own:
			r.chromaRead, r.chromaWrite = n, n
		default:
			r.chromaRead = n
		}
	}
	return r
}

// of returns the field's view of a frame.
func (r fieldRows) of(f *pipeline.Frame) field {
	v := field{info: f.Layout.Info(), width: f.Width, height: r.height, chromaRead: r.chromaRead, chromaWrite: r.chromaWrite}
	for i := range f.NumPlanes() {
		p := f.Planes[i]
		v.planes[i] = pipeline.Plane{Data: p.Data[r.first[i]*p.Pitch:], Pitch: p.Pitch * r.step}
	}
	if v.info.Gray() {
		row := pipeline.Plane{Data: colourless(f.Format)}
		v.planes[1], v.planes[2], v.chromaRead = row, row, 1
	}
	return v
}

// colourless returns a row of chroma of a gray frame, as it would be in 4:2:0.
func colourless(f pipeline.Format) []byte {
	info := f.Layout.Info()
	row := make([]byte, (f.Width+1)>>info.SubX*info.SampleBytes())
	for i := range row {
		if info.Depth == 8 {
			row[i] = 128
		} else if i%2 > 0 {
			binary.LittleEndian.PutUint16(row[i-1:], 1<<(info.Depth-1))
		}
	}
	return row
}

// sample returns a sample of a plane. Two bytes may hold more than the depth allows, which becomes
// the largest sample.
func (f field) sample(plane, x, y int) uint16 {
	row := f.planes[plane].Data[y*f.planes[plane].Pitch:]
	if f.info.Depth == 8 {
		return uint16(row[x])
	}
	return min(binary.LittleEndian.Uint16(row[2*x:])>>f.info.Shift, uint16(mostOf(f.info.Depth)))
}

func (f field) set(plane, x, y int, v uint16) {
	row := f.planes[plane].Data[y*f.planes[plane].Pitch:]
	if f.info.Depth == 8 {
		row[x] = byte(v)
		return
	}
	binary.LittleEndian.PutUint16(row[2*x:], v<<f.info.Shift)
}
