package plane

import "vidfilter/pipeline"

// View reads a plane where it lies, in a frame or in a Plane.
type View struct {
	Width, Height int
	Depth         int       // bits of a sample, 8 to 16
	words         []uint16  // of a Plane
	component     Component // of a frame
	whole         *View     // of twice the size
}

// Views are the planes of a picture.
type Views struct {
	Planes         []View
	ShiftX, ShiftY int // log2 of the chroma subsampling across and down
}

// ViewsOf returns views of a frame, or of one of its fields. The frame must be YUV.
func ViewsOf(f *pipeline.Frame, field Field) Views {
	info := f.Layout.Info()
	v := Views{ShiftX: info.SubX, ShiftY: info.SubY}
	for i := range Components(f.Layout) {
		c := ComponentOf(f, field, i)
		v.Planes = append(v.Planes, View{Width: c.Width, Height: c.Height, Depth: c.Depth, component: c})
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
	switch {
	case v.words != nil:
		copy(out, v.words[y*v.Width+x:])
	case v.whole != nil:
		v.readHalved(out, x, y)
	default:
		v.component.Read(out, x, y)
	}
}

// Bytes returns row y if its samples are bytes side by side.
func (v *View) Bytes(y int) (row []byte, ok bool) {
	if c := &v.component; v.words == nil && c.Step == 1 {
		return c.Data[y*c.Pitch:][:v.Width], true
	}
	return nil, false
}

// BytesView returns a view of samples of 8 bits, in rows without padding.
func BytesView(pix []byte, width, height int) View {
	return View{Width: width, Height: height, Depth: 8, component: Component{
		Data: pix, Pitch: width, Step: 1, Depth: 8, Width: width, Height: height, Own: true,
	}}
}
