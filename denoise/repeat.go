package denoise

import (
	"bytes"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// repeats reports whether a field of a frame repeats another frame's, with the same noise: a frame
// shown twice has no new information.
func repeats(a, b *pipeline.Frame, field plane.Field) bool {
	for i := range a.NumPlanes() {
		_, rows := a.PlaneSize(i)
		first, step, n, _ := field.Rows(rows)
		for y := first; n > 0; y, n = y+step, n-1 {
			if !bytes.Equal(a.Row(i, y), b.Row(i, y)) {
				return false
			}
		}
	}
	return true
}

// distinct returns the pictures of the entries about a centre, and where it is among them. Of
// pictures that repeat each other, the one nearest to the centre stays.
func distinct(entries []*entry, centre, field int) (window []Picture, at int) {
	for i, e := range entries {
		switch {
		case i < centre && entries[i+1].repeats[field]:
		case i > centre && e.repeats[field]:
		default:
			if i == centre {
				at = len(window)
			}
			window = append(window, e.pictures[field])
		}
	}
	return window, at
}
