package pipeline

// Display is the rotation and pixel shape with which pictures are meant to be shown. They are
// stored and filtered without.
type Display struct {
	Turn   int     `json:"turn"`   // degrees clockwise: 0, 90, 180 or 270
	Aspect float64 `json:"aspect"` // width of a pixel for its height; 0 counts as 1
}

// Size returns the displayed size of a picture; no side becomes smaller than stored.
func (d Display) Size(width, height int) (w, h int) {
	x, y := float64(width), float64(height)
	switch {
	case d.Aspect > 1:
		x *= d.Aspect
	case d.Aspect > 0:
		y /= d.Aspect
	}
	w, h = int(x+0.5), int(y+0.5)
	if d.Turn%180 != 0 {
		w, h = h, w
	}
	return w, h
}

// DrawTurned fills a frame with another one of 8-bit 4:2:0, turned clockwise by a number of
// degrees; the sizes are equal, or one is the other on its side.
func DrawTurned(out, in *Frame, turn int) {
	for i := range out.NumPlanes() {
		w, h := in.PlaneSize(i)
		pitch := out.Planes[i].Pitch
		at, along, down := 0, 1, pitch // of the first sample, and to the next in a row and a column
		switch turn {
		case 90:
			at, along, down = h-1, pitch, -1
		case 180:
			at, along, down = (h-1)*pitch+w-1, -1, -pitch
		case 270:
			at, along, down = (w-1)*pitch, -pitch, 1
		}
		to := out.Planes[i].Data
		for y := range h {
			n := at + y*down
			for _, v := range in.Row(i, y) {
				to[n] = v
				n += along
			}
		}
	}
}

// Fit returns the largest even size of a picture's shape within another size, or that size if it is
// as good as equal.
func Fit(width, height, mostWidth, mostHeight int) (w, h int) {
	w, h = mostWidth, mostWidth*height/width
	if h > mostHeight {
		w, h = mostHeight*width/height, mostHeight
	}
	even := func(n, most int) int {
		if n >= most-1 {
			return most
		}
		return max(n&^1, 2)
	}
	return even(w, mostWidth), even(h, mostHeight)
}
