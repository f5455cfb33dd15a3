package scene

import (
	"math"

	"vidfilter/pipeline"
)

// A clip has ClipFrames frames. The frames ClipFirst to ClipLast have the whole window of every
// filter; in clips of events, the event is among them.
const (
	ClipFrames = 16
	ClipFirst  = 6
	ClipLast   = 9
)

// Tuning is the set for choosing the denoiser's constants, Proof for judging them, and Events has
// scenes that break filters in time. No scene or motion of one set is in another.
const (
	Tuning = "tuning"
	Proof  = "proof"
	Events = "events"
)

// Clip is a short clip on which lab/quality measures the denoiser.
type Clip struct {
	Set, Name string
	at        func(v view, t float64) Scene
	source    func(t int) int // the frame that is shown at t; nil: each in turn
	bars      float64         // part of the height that is black, above and below
	woven     bool            // of two fields
}

// view is the size of a picture.
type view struct{ w, h float64 }

// FullName is the set and the name.
func (c Clip) FullName() string { return c.Set + "/" + c.Name }

// Source returns the number of the picture that frame t shows. Repeated pictures have the noise of
// the first, as in a telecine.
func (c Clip) Source(t int) int {
	if c.source == nil {
		return t
	}
	return c.source(t)
}

// Bar returns how many rows above and below are black, and have no noise.
func (c Clip) Bar(height int) int { return 2 * int(c.bars*float64(height)/2) }

// Draw returns the frames of the clip, at 24 a second.
func (c Clip) Draw(width, height int) []*pipeline.Frame {
	frames := make([]*pipeline.Frame, ClipFrames)
	for t := range frames {
		frames[t] = c.frame(width, height, t)
	}
	return frames
}

func (c Clip) frame(width, height, t int) *pipeline.Frame {
	f := pipeline.Blank(pipeline.Format{
		Layout: pipeline.YUV420P, Width: width, Height: height, Matrix: pipeline.BT709,
	})
	f.PTS, f.Duration = int64(t), 1
	v := view{float64(width), float64(height)}
	n := float64(c.Source(t))
	c.at(v, n).draw(f, 2)
	if c.woven {
		f.Interlaced, f.TopFieldFirst = true, true
		second := pipeline.Blank(f.Format)
		c.at(v, n+0.5).draw(second, 2)
		weave(f, second)
	}
	c.blacken(f)
	return f
}

// weave takes the odd rows of another frame.
func weave(f, second *pipeline.Frame) {
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		for y := 1; y < rows; y += 2 {
			copy(f.Row(i, y), second.Row(i, y))
		}
	}
}

func (c Clip) blacken(f *pipeline.Frame) {
	for i, black := range []byte{16, 128, 128} {
		_, rows := f.PlaneSize(i)
		bar := c.Bar(f.Height) * rows / f.Height
		for y := range rows {
			if y >= bar && y < rows-bar {
				continue
			}
			for x := range f.Row(i, y) {
				f.Row(i, y)[x] = black
			}
		}
	}
}

// Clips returns the clips of every set.
func Clips() []Clip {
	all := append(ofSet(Tuning, tuning), ofSet(Proof, proof)...)
	return append(all, ofSet(Events, events)...)
}

func ofSet(set string, clips []Clip) (all []Clip) {
	for _, c := range clips {
		c.Set = set
		all = append(all, c)
	}
	return all
}

// still is a scene that does not move.
func still(s Scene) func(view, float64) Scene {
	return func(view, float64) Scene { return s }
}

// shaken is the offset of a hand-held camera at a time.
func shaken(t float64, size float64) (dx, dy float64) {
	return size * (math.Sin(0.9*t) + 0.5*math.Sin(2.3*t)), size * math.Sin(1.3*t+1)
}

var skins = []Colour{{205, 112, 150}, {150, 112, 152}, {175, 108, 156}, {95, 118, 144}}

var tuning = []Clip{
	{Name: "still", at: still(land(11))},
	{Name: "pan", at: func(_ view, t float64) Scene { return land(12).Moved(1.7*t, 0.3*t) }},
	{Name: "zoom", at: func(v view, t float64) Scene {
		return town(13).turned(v.w/2, v.h/2, 0, math.Pow(1.012, t))
	}},
	{Name: "rotation", at: func(v view, t float64) Scene {
		return cloth(14).turned(v.w/2, v.h/2, 0.012*t, 1)
	}},
	{Name: "occlusion", at: func(v view, t float64) Scene {
		thing := land(16).graded(0.7, 60).inside(0, 0, v.w/4, v.h/2).Moved(v.w/8+5*t, v.h/4)
		return thing.over(town(15))
	}},
	{Name: "grass", at: func(_ view, t float64) Scene { return grass(17).Moved(0.8*t, 0) }},
	{Name: "text", at: func(v view, t float64) Scene {
		return letters(18, 1.5).Moved(20, v.h-3*t).over(land(19).graded(0.4, 10))
	}},
	{Name: "logo", at: func(v view, t float64) Scene {
		return letters(21, 2).inside(0, 0, 60, 20).Moved(v.w-80, 15).over(town(20).Moved(3*t, 0))
	}},
	{Name: "faces", at: func(v view, t float64) Scene {
		s := face(v.w*0.3+1.2*t, v.h*0.5, v.h*0.3, skins[0], 22)
		return s.over(sky(23, v.h*2).graded(0.5, 30))
	}},
	{Name: "dark", at: func(_ view, t float64) Scene { return town(24).graded(0.16, 4).Moved(0.9*t, 0) }},
	{Name: "low contrast", at: func(_ view, t float64) Scene {
		return cloth(25).graded(0.12, 100).Moved(-t, 0.5*t)
	}},
	{Name: "sky", at: func(v view, t float64) Scene { return sky(26, v.h*0.8).Moved(0.4*t, 0) }},
}

var proof = []Clip{
	{Name: "still", at: still(town(41))},
	{Name: "pan", at: func(_ view, t float64) Scene {
		dx, dy := shaken(t, 0.8)
		return land(42).Moved(-2.6*t+dx, 0.9*t+dy)
	}},
	{Name: "zoom", at: func(v view, t float64) Scene {
		return land(43).turned(v.w*0.4, v.h*0.6, 0, math.Pow(0.984, t))
	}},
	{Name: "rotation", at: func(v view, t float64) Scene {
		return town(44).turned(v.w*0.6, v.h*0.5, -0.02*t, 1)
	}},
	{Name: "occlusion", at: func(v view, t float64) Scene {
		near := ball(v.w*0.75-6*t, v.h*0.55, v.h*0.28, Colour{180, 100, 140})
		far := cloth(46).inside(0, 0, v.w/6, v.h*0.6).Moved(v.w/5+3*t, v.h/5)
		return near.over(far).over(land(45).Moved(-0.7*t, 0))
	}},
	{Name: "grass", at: func(v view, t float64) Scene {
		return func(x, y float64) Colour { // the tips sway
			return grass(47)(x+2.5*math.Sin(0.4*t+x/90)*(1-y/v.h), y)
		}
	}},
	{Name: "text", at: func(v view, t float64) Scene {
		return letters(48, 1.2).Moved(14, v.h*0.8-1.5*t).over(sky(49, v.h*0.9).graded(0.6, 0))
	}},
	{Name: "logo", at: func(v view, t float64) Scene {
		mark := letters(50, 2.4).inside(0, 0, 72, 52)
		return mark.Moved(18, v.h-70).over(land(51).Moved(-4*t, 1.1*t))
	}},
	{Name: "faces", at: func(v view, t float64) Scene {
		dx, dy := shaken(t, 1.1)
		s := face(v.w*0.28+dx, v.h*0.52+dy, v.h*0.27, skins[1], 52)
		s = s.over(face(v.w*0.6-0.7*t, v.h*0.55, v.h*0.24, skins[2], 53))
		s = s.over(face(v.w*0.85, v.h*0.45+0.8*t, v.h*0.2, skins[3], 54))
		return s.over(cloth(55).graded(0.25, 60))
	}},
	{Name: "dark", at: func(v view, t float64) Scene {
		lamp := ball(v.w*0.3+2*t, v.h*0.4, v.h*0.07, Colour{200, 100, 150})
		return lamp.over(land(56).graded(0.13, 3).Moved(-1.3*t, 0))
	}},
	{Name: "low contrast", at: func(v view, t float64) Scene {
		return land(57).graded(0.14, 120).turned(v.w/2, v.h/2, 0.01*t, 1+0.006*t)
	}},
	{Name: "sky", at: func(v view, t float64) Scene {
		return sky(58, v.h*0.85).Moved(-1.1*t, 0.2*t)
	}},
}

// uneven skips pictures, as in a recording of variable rate.
func uneven(t int) int { return t + t/3*2 + t/7*4 }

// Events happen between frames 7 and 8.
var events = []Clip{
	{Name: "cut", at: func(_ view, t float64) Scene {
		if t >= 8 {
			return town(72).Moved(1.5*t, 0)
		}
		return land(71).Moved(-1.2*t, 0.4*t)
	}},
	{Name: "flash", at: func(_ view, t float64) Scene {
		s := land(73).Moved(t, 0)
		if t == 8 {
			return s.graded(0.8, 70)
		}
		return s
	}},
	{Name: "fade", at: func(_ view, t float64) Scene {
		return town(74).Moved(0.8*t, 0).graded(min(max((13-t)/10, 0), 1), 0)
	}},
	{Name: "dissolve", at: func(_ view, t float64) Scene {
		a, b := land(75).Moved(1.5*t, 0), town(76).Moved(-t, 0)
		return a.mixed(b, min(max((t-3)/10, 0), 1))
	}},
	{Name: "scrolling text", at: func(v view, t float64) Scene {
		return letters(77, 1.4).Moved(12, v.h-2*t).over(land(78).graded(0.5, 0))
	}},
	{Name: "still logo", at: func(v view, t float64) Scene {
		mark := letters(79, 2).inside(0, 0, 48, 40)
		return mark.Moved(16, 14).over(land(80).Moved(3.3*t, -0.6*t))
	}},
	{Name: "telecine", source: func(t int) int { return t * 4 / 5 }, at: func(_ view, t float64) Scene {
		return town(81).Moved(2.2*t, 0.5*t)
	}},
	{Name: "duplicates", source: func(t int) int { return t / 2 }, at: func(_ view, t float64) Scene {
		return land(84).Moved(-2.6*t, 0.7*t)
	}},
	{Name: "variable rate", source: uneven, at: func(_ view, t float64) Scene {
		return town(85).Moved(1.1*t, -0.3*t)
	}},
	{Name: "letterbox", bars: 0.13, at: func(_ view, t float64) Scene {
		return land(82).Moved(-2*t, 0)
	}},
	{Name: "interlaced", woven: true, at: func(v view, t float64) Scene {
		thing := ball(v.w*0.2+4*t, v.h*0.5, v.h*0.25, Colour{190, 120, 140})
		return thing.over(land(83).Moved(1.6*t, 0))
	}},
}
