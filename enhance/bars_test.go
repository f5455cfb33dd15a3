package enhance

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"vidfilter/pipeline"
)

// drawn makes a frame of luma levels, given in 8 bits and limited range.
func drawn(f pipeline.Format, level func(x, y int) float64) *pipeline.Frame {
	offsets, pitches, size := f.PlanLayout(0)
	block := make([]byte, size)
	var planes [4]pipeline.Plane
	for i := range f.NumPlanes() {
		planes[i] = pipeline.Plane{Data: block[offsets[i]:], Pitch: pitches[i]}
	}
	frame := pipeline.NewFrame(f, planes, nil, nil)
	l := f.Layout.Info()
	for y := range f.Height {
		for x := range f.Width {
			v := level(x, y)
			if f.FullRange || l.RGB {
				v = (v - 16) * 255 / 219
			}
			v = math.Round(min(255, max(0, v)) * float64(int(1)<<(l.Depth-8)))
			planesOfLuma := 1
			if l.RGB && l.Planes == 3 {
				planesOfLuma = 3
			}
			for i := range planesOfLuma {
				for c := range l.Samples {
					row, at := frame.Row(i, y), x*l.Samples+c
					if l.SampleBytes() == 1 {
						row[at] = byte(v)
					} else {
						binary.LittleEndian.PutUint16(row[2*at:], uint16(v)<<l.Shift)
					}
				}
			}
		}
	}
	return frame
}

// noisy returns noise of a deviation, the same at each call.
func noisy(x, y, frame int, sigma float64) float64 {
	sum := 0.0
	for i := range 4 {
		h := uint32(x*374761393 + y*668265263 + frame*974711 + i*2246822519)
		h = (h ^ h>>13) * 1274126177
		sum += float64(h^h>>16)/(1<<32) - 0.5
	}
	return sum * sigma * math.Sqrt(3)
}

// texture is a picture in motion, about 40 to 200.
func texture(x, y, frame int) float64 {
	return 120 + 50*math.Sin(float64(x+7*frame)/11) + 30*math.Cos(float64(y-3*frame)/7+float64(x)/23)
}

// inside draws a picture in a box, on black.
func inside(b Box, picture func(x, y, frame int) float64) func(x, y, frame int) float64 {
	return func(x, y, frame int) float64 {
		if x < b.X || x >= b.X+b.Width || y < b.Y || y >= b.Y+b.Height {
			return 16
		}
		return picture(x, y, frame)
	}
}

func TestBars(t *testing.T) {
	hd := pipeline.Format{Layout: pipeline.YUV420P, Width: 320, Height: 180}
	tape := pipeline.Format{Layout: pipeline.YUV420P, Width: 360, Height: 576}
	wide := Box{320, 132, 0, 24}
	credits := func(x, y, frame int) float64 {
		if line := (y + 5*frame) % 24; x > 60 && x < 200+(y+5*frame)/24*13%80 && line < 9 && (x/3+line/2)%3 == 0 {
			return 220
		}
		return 16
	}
	dim := func(x, y, frame int) float64 { return 17 + (texture(x, y, frame)-40)/25 }
	// A street at night: a skyline that is not straight, below a sky that is nearly black.
	night := func(x, y, frame int) float64 {
		if y > 90+20*(x/40%3) {
			return texture(x, y, frame) / 2
		}
		return 18 + noisy(x, y, frame, 0.7)
	}
	fireworks := func(x, y, frame int) float64 {
		if math.Hypot(float64(x-40-frame*37%240), float64(y-50-frame*23%80)) < 25 {
			return 200
		}
		return 16
	}
	fade := func(x, y, frame int) float64 { return 16 + (texture(x, y, frame)-16)*float64(frame%20)/40 }
	soft := func(x, y, frame int) float64 {
		edge := min(1, float64(min(y-24, 155-y)+1)/6)
		return 16 + edge*(texture(x, y, frame)-16)
	}
	film := inside(wide, texture)
	with := func(f func(x, y, frame int) float64, in Box, first, last int, level float64) func(x, y, frame int) float64 {
		return func(x, y, frame int) float64 {
			inBox := x >= in.X && x < in.X+in.Width && y >= in.Y && y < in.Y+in.Height
			if inBox && frame >= first && frame <= last && x/3%2 == 0 {
				return level
			}
			return f(x, y, frame)
		}
	}
	switching := func(f func(x, y, frame int) float64) func(x, y, frame int) float64 { // the last rows of a tape
		return func(x, y, frame int) float64 {
			if y >= 576-9 {
				return 60 + 100*float64((x+frame*31)/40%2) + noisy(x, y, frame, 30)
			}
			return f(x, y, frame) + noisy(x, y, frame, 6)
		}
	}
	heads := func(x, y, frame int) float64 { // the last rows are delayed and skewed
		if y >= 567 {
			return texture(x-24+y-567, y, frame) + noisy(x, y, frame, 12)
		}
		return texture(x, y, frame) + noisy(x, y, frame, 4)
	}
	table := func(x, y, frame int) float64 { // an edge of the picture in the same row of all frames
		if y >= 567 {
			return 60 + 50*math.Sin(float64(x)/7) + noisy(x, y, frame, 4)
		}
		return texture(x, y, frame) + noisy(x, y, frame, 4)
	}
	data := func(x, y, frame int) float64 {
		if y == 0 && (x < 40 || (x/5+x*x/700+frame)%2 == 0) || y == 1 && x < 180 {
			return 16
		}
		return max(60, texture(x, y, frame))
	}
	const frames = 24
	rest := "there is something in them"
	for _, c := range []struct {
		name   string
		format pipeline.Format
		level  func(x, y, frame int) float64
		want   Box // zero: the whole
		text   string
	}{
		{"none", hd, texture, Box{}, "no black bars"},
		{"letterbox", hd, film, wide, "320x132 at 0,24: 24 rows off the top and 24 rows off the bottom"},
		{"odd", hd, inside(Box{320, 131, 0, 25}, texture), Box{320, 132, 0, 24}, "320x132"},
		{"pillarbox", hd, inside(Box{240, 180, 40, 0}, texture), Box{240, 180, 40, 0}, "40 columns off the left and 40 columns off the right"},
		{"window", hd, inside(Box{240, 132, 40, 24}, texture), Box{240, 132, 40, 24}, "24 rows off the top, 24 rows off the bottom, 40"},
		{"upright", hd, inside(Box{102, 180, 110, 0}, texture), Box{102, 180, 110, 0}, ""},
		{"one bar", hd, inside(Box{320, 156, 0, 24}, texture), Box{320, 156, 0, 24}, "24 rows off the top"},
		{"dark film", hd, inside(wide, dim), wide, ""},
		{"fades", hd, inside(wide, fade), wide, ""},
		{"film grain", hd, func(x, y, frame int) float64 { return film(x, y, frame) + noisy(x, y, frame, 4) }, wide, ""},
		{"raised black", hd, func(x, y, frame int) float64 { return max(26, film(x, y, frame)) }, wide, ""},
		{"soft edges", hd, inside(wide, soft), wide, ""},
		{"blurred fill", hd, func(x, y, frame int) float64 {
			if x < 110 || x > 210 {
				return 40 + 20*math.Sin(float64(x+frame)/40)
			}
			return texture(x, y, frame)
		}, Box{}, "no black bars"},
		{"logo", hd, with(film, Box{30, 10, 270, 8}, 0, 99, 180), Box{320, 156, 0, 0}, rest},
		{"subtitle once", hd, with(film, Box{120, 9, 100, 162}, 7, 7, 220), Box{320, 156, 0, 24}, "rows at the bottom stay: " + rest},
		{"film and credits", hd, func(x, y, frame int) float64 {
			if frame > 10 {
				return inside(wide, credits)(x, y, frame)
			}
			return film(x, y, frame)
		}, wide, ""},
		{"credits alone", hd, credits, Box{}, "credits"},
		{"two shapes", hd, func(x, y, frame int) float64 {
			if frame%10 == 3 {
				return texture(x, y, frame)
			}
			return film(x, y, frame)
		}, Box{}, "no black bars: the whole picture stays; most of the video would fit --crop 320:132:0:24"},
		{"black", hd, inside(Box{}, texture), Box{}, "the video is black in all 24 pictures"},
		{"black and noise", hd, func(x, y, frame int) float64 { return 17 + noisy(x, y, frame, 2) }, Box{}, "whole picture stays"},
		{"night sky", hd, night, Box{}, "whole picture stays"},
		{"fireworks", hd, fireworks, Box{}, "a few lights on black"},
		{"tape", tape, switching(inside(Box{340, 576, 8, 0}, texture)), Box{340, 566, 8, 0}, "heads of the recorder switch"},
		{"tape, letterbox", tape, switching(inside(Box{340, 432, 8, 72}, texture)), Box{340, 432, 8, 72}, ""},
		{"tape, heads", tape, heads, Box{360, 566, 0, 0}, "10 rows off the bottom; at the bottom the heads of the recorder switch"},
		{"tape, a table", tape, table, Box{}, "no black bars: the whole picture stays"},
		{"tape, data", tape, data, Box{360, 574, 0, 2}, "2 rows off the top; the rows at the top are data or half a line"},
		{"10 bits", pipeline.Format{Layout: pipeline.YUV420P.At(10), Width: 320, Height: 180}, film, wide, ""},
		{"P010", pipeline.Format{Layout: pipeline.NV12.At(10), Width: 320, Height: 180}, film, wide, ""},
		{"full range", pipeline.Format{Layout: pipeline.YUV420P, FullRange: true, Width: 320, Height: 180}, inside(wide, dim), wide, ""},
		{"RGBA", pipeline.Format{Layout: pipeline.RGBA, Width: 320, Height: 180}, film, wide, ""},
		{"GBR", pipeline.Format{Layout: pipeline.GBRP.At(12), Width: 320, Height: 180}, film, wide, ""},
		{"gray", pipeline.Format{Layout: pipeline.GRAY, Width: 320, Height: 180}, film, wide, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := NewBars(Facts{Format: c.format, Progressive: true})
			for i := range frames {
				b.Add(drawn(c.format, func(x, y int) float64 { return c.level(x, y, i) }))
			}
			found := b.Find()
			if c.want.empty() {
				c.want = Box{Width: c.format.Width, Height: c.format.Height}
			}
			if text := found.String(); found.Box != c.want || !strings.Contains(text, c.text) {
				t.Errorf("%v, %q; want %v, %q", found.Box, text, c.want, c.text)
			}
			if whole := found.Crop() == ""; whole != (c.want == Box{Width: c.format.Width, Height: c.format.Height}) {
				t.Errorf("--crop %q keeps %v", found.Crop(), c.want)
			}
		})
	}
}

// TestBarsTurned: messages about a video that is shown on its side name the sides as shown.
func TestBarsTurned(t *testing.T) {
	f := video(320, 180).turned(turned90)
	b := NewBars(f)
	level := inside(Box{320, 132, 0, 24}, texture)
	for i := range 9 {
		b.Add(drawn(f.Format, func(x, y int) float64 {
			if x > 280 && x < 310 && y > 160 && x/3%2 == 0 {
				return 180 // a logo, in the bar that is shown on the left
			}
			return level(x, y, i)
		}))
	}
	found := b.Find()
	const want = "crop: 156x320 at 0,0: 24 columns off the right; 24 dark columns on the left stay: there is something in them"
	if text := found.String(); !strings.HasPrefix(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
	c := CropOf(f, found.Box)
	if text, err := c.Graph(f); text != "crop=320:156:0:24" || c.Box != (Box{156, 320, 0, 0}) || err != nil {
		t.Errorf("%v: %q, %v", c, text, err)
	}
	if b.Full() {
		t.Error("the picture does not fill the frame")
	}
}
