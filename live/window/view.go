package window

import "math"

// mode chooses the picture that is shown.
type mode int

const (
	split mode = iota
	original
	filtered
	apart // the difference
)

// box is a rectangle in pixels of the window.
type box struct{ x, y, w, h int }

// view is the visible part of the picture.
type view struct {
	mode mode
	swap bool    // filtered left of the line
	line float64 // position, as a fraction of the window's width

	zoom   float64 // 1 is the whole picture
	cx, cy float64 // the window's centre when zoomed, as a fraction of the picture
}

const mostZoom = 32

func newView() view { return view{line: 0.5, zoom: 1, cx: 0.5, cy: 0.5} }

// place returns the position of a picture of size pw x ph in a window of ww x wh: whole,
// undistorted and centred, or zoomed.
func (v *view) place(pw, ph, ww, wh int) box {
	scale := min(float64(ww)/float64(pw), float64(wh)/float64(ph)) * v.zoom
	w, h := max(1, int(math.Round(scale*float64(pw)))), max(1, int(math.Round(scale*float64(ph))))
	return box{along(ww, w, v.cx), along(wh, h, v.cy), w, h}
}

// along returns the start of n pixels of a picture in the given room: centred if they fit, else
// with c in the middle and no gap.
func along(room, n int, c float64) int {
	if n <= room {
		return (room - n) / 2
	}
	return min(0, max(room-n, room/2-int(math.Round(c*float64(n)))))
}

// zoomAt zooms by a factor around x, y of the window. b is the picture's box.
func (v *view) zoomAt(factor float64, x, y int, b box, pw, ph, ww, wh int) {
	fx, fy := float64(x-b.x)/float64(b.w), float64(y-b.y)/float64(b.h)
	v.zoom = min(mostZoom, max(1, v.zoom*factor))
	n := v.place(pw, ph, ww, wh)
	v.cx = fx + (float64(ww)/2-float64(x))/float64(n.w)
	v.cy = fy + (float64(wh)/2-float64(y))/float64(n.h)
	v.settle(v.place(pw, ph, ww, wh), ww, wh)
}

// pan moves a zoomed picture with the pointer.
func (v *view) pan(dx, dy int, b box, ww, wh int) {
	v.cx -= float64(dx) / float64(b.w)
	v.cy -= float64(dy) / float64(b.h)
	b.x, b.y = along(ww, b.w, v.cx), along(wh, b.h, v.cy)
	v.settle(b, ww, wh)
}

// settle clips the view at the picture's edges, so that the opposite pan takes effect at once.
func (v *view) settle(b box, ww, wh int) {
	v.cx = (float64(ww)/2 - float64(b.x)) / float64(b.w)
	v.cy = (float64(wh)/2 - float64(b.y)) / float64(b.h)
}

// fit shows the whole picture.
func (v *view) fit() { v.zoom, v.cx, v.cy = 1, 0.5, 0.5 }

// fitInto returns the largest size with the shape of w x h that exceeds neither it nor the room.
func fitInto(w, h, roomW, roomH int) (int, int) {
	if roomW <= 0 || roomH <= 0 {
		return w, h
	}
	scale := min(1, float64(roomW)/float64(w), float64(roomH)/float64(h))
	return max(1, int(float64(w)*scale)), max(1, int(float64(h)*scale))
}
