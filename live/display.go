package live

// Display is the rotation and pixel shape with which pictures are meant to be shown; they are
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

// displayed is a source that knows the Display of its pictures.
type displayed interface{ Display() Display }

func (f *file) Display() Display {
	turn, aspect := f.in.Display()
	return Display{turn, aspect}
}
