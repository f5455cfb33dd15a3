package plane

import "vidfilter/pipeline"

// View reads a plane where it lies, in a frame or in a Plane.
type View struct {
	Width, Height int
	Depth         int      // bits of a sample, 8 to 16
	words         []uint16 // of a Plane
	bytes         []byte   // of a frame, from the first sample
	pitch         int      // bytes from row to row
	step          int      // bytes from sample to sample
}

// Views are those of a picture.
type Views struct {
	Planes         []View
	ShiftX, ShiftY int // log2 of the chroma subsampling across and down
}

// ViewsOf returns views of a frame, or of one of its fields. The frame must be YUV.
func ViewsOf(f *pipeline.Frame, field Field) Views {
	info := f.Layout.Info()
	v := Views{ShiftX: info.SubX, ShiftY: info.SubY}
	for i := range 3 {
		c := ComponentOf(f, field, i)
		v.Planes = append(v.Planes, View{
			Width: c.Width, Height: c.Height, Depth: info.Depth,
			bytes: c.Data, pitch: c.Pitch, step: c.Step,
		})
	}
	return v
}

// Views returns views of a picture.
func (pic Picture) Views() Views {
	v := Views{ShiftX: pic.ShiftX, ShiftY: pic.ShiftY}
	for _, p := range pic.Planes {
		v.Planes = append(v.Planes, View{Width: p.Width, Height: p.Height, Depth: p.Depth, words: p.Pix})
	}
	return v
}

// Unit is the size of an 8-bit level in levels of this depth.
func (v *View) Unit() int { return 1 << (v.Depth - 8) }

// Read copies samples of row y, from x on.
func (v *View) Read(out []uint16, x, y int) {
	if v.words != nil {
		copy(out, v.words[y*v.Width+x:])
		return
	}
	in := v.bytes[y*v.pitch+x*v.step:]
	if v.step == 1 {
		in = in[:len(out)]
		for i, s := range in {
			out[i] = uint16(s)
		}
		return
	}
	for i := range out {
		out[i] = uint16(in[i*v.step])
	}
}

// Bytes returns row y if its samples are bytes side by side.
func (v *View) Bytes(y int) (row []byte, ok bool) {
	if v.words != nil || v.step != 1 {
		return nil, false
	}
	return v.bytes[y*v.pitch:][:v.Width], true
}
