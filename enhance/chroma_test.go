package enhance

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

func TestParseChromaShift(t *testing.T) {
	for text, want := range map[string]ChromaShift{
		"auto": {Auto: true}, "-4,-2": {X: -4, Y: -2}, "1.5,0": {X: 1.5}, "0,0": {}, "32,-32": {X: 32, Y: -32},
	} {
		c, err := ParseChromaShift(text)
		if c != want || err != nil {
			t.Errorf("%s: %v, %v", text, c, err)
		}
		if again, err := ParseChromaShift(c.String()); !c.Auto && (again != c || err != nil) {
			t.Errorf("%s: written as %v", text, c)
		}
	}
	for _, text := range []string{"", "4", "1,2,3", "x,1", "33,0", "0,-40", "NaN,0", "Inf,0", "1, 2"} {
		if c, err := ParseChromaShift(text); err == nil || hint.Of(err) == "" {
			t.Errorf("%q: %v, %v", text, c, err)
		}
	}
}

// coloured draws a frame. level returns the 8-bit level of component i, 0 to 2, at a position in
// luma samples.
func coloured(f pipeline.Format, interlaced bool, level func(i int, x, y float64) float64) *pipeline.Frame {
	frame := pipeline.Blank(f)
	frame.Interlaced = interlaced
	subX, subY := f.ChromaShift()
	for i := range 3 {
		c := plane.ComponentOf(frame, plane.Whole, i)
		stepX, stepY, down := 1.0, 1.0, 0.0
		if i > 0 {
			stepX, stepY = float64(int(1)<<subX), float64(int(1)<<subY)
			down = (stepY - 1) / 2 // as in MPEG-2
		}
		row := make([]uint16, c.Width)
		for y := range c.Height {
			for x := range row {
				v := level(i, float64(x)*stepX, float64(y)*stepY+down) * float64(int(1)<<(c.Depth-8))
				row[x] = uint16(math.Round(min(max(v, 0), float64(int(1)<<c.Depth-1))))
			}
			c.Write(row, y)
		}
	}
	return frame
}

// component returns a sample of a frame in 8-bit levels.
func component(f *pipeline.Frame, i, x, y int) float64 {
	c := plane.ComponentOf(f, plane.Whole, i)
	row := make([]uint16, c.Width)
	c.Read(row, 0, y)
	return float64(row[x]) / float64(int(1)<<(c.Depth-8))
}

// Shifted chroma of a smooth picture matches a picture drawn with the shift, at all depths and
// subsamplings. Luma stays unchanged.
func TestChromaShift(t *testing.T) {
	const width, height = 75, 53
	wave := func(i int, x, y float64) float64 { return 120 + 40*math.Sin(x/9+float64(i)) + 30*math.Cos(y/11) }
	for _, l := range []pipeline.Layout{
		pipeline.YUV420P, pipeline.YUV422P.At(10), pipeline.YUV444P.At(16), pipeline.YUV420P.At(12), pipeline.NV12, pipeline.NV12.At(10), pipeline.NV24,
	} {
		f := pipeline.Format{Layout: l, Width: width, Height: height}
		in := coloured(f, false, wave)
		for _, c := range []ChromaShift{{X: -4, Y: -2}, {X: 2.5, Y: 1.25}, {X: 0, Y: -1}, {X: 3}} {
			var results [2]*pipeline.Frame
			for i, threads := range []int{1, 7} {
				results[i] = pipeline.Blank(f)
				if err := c.Shift(results[i], in, threads); err != nil {
					t.Fatal(err)
				}
			}
			want := coloured(f, false, func(i int, x, y float64) float64 {
				if i == 0 {
					return wave(0, x, y)
				}
				return wave(i, x-c.X, y-c.Y)
			})
			for i := range 3 {
				size := plane.ComponentOf(in, plane.Whole, i)
				for y := range size.Height {
					for x := range size.Width {
						got := component(results[0], i, x, y)
						if got != component(results[1], i, x, y) {
							t.Fatalf("%v %v: the number of threads changes the result at %d %d %d", l, c, i, x, y)
						}
						inside := x > 8 && x < size.Width-8 && y > 8 && y < size.Height-8
						within := 1.01
						if i == 0 {
							inside, within = true, 0
						}
						if off := math.Abs(got - component(want, i, x, y)); inside && off > within {
							t.Fatalf("%v %v: component %d at %d, %d is %.2f off", l, c, i, x, y, off)
						}
					}
				}
			}
		}
	}
}

// A shift by whole samples copies them, and replicates the edges.
func TestChromaShiftWhole(t *testing.T) {
	f := pipeline.Format{Layout: pipeline.YUV420P, Width: 33, Height: 21}
	in, out := coloured(f, false, func(i int, x, y float64) float64 { return float64(int(37*x+91*y+float64(i)) % 256) }), pipeline.Blank(f)
	if err := (ChromaShift{X: 6, Y: -4}).Shift(out, in, 0); err != nil {
		t.Fatal(err)
	}
	for y := range 11 {
		for x := range 17 {
			if got, want := component(out, 1, x, y), component(in, 1, max(x-3, 0), min(y+2, 10)); got != want {
				t.Fatalf("at %d, %d: %v, not %v", x, y, got, want)
			}
		}
	}
}

// Each field of an interlaced frame is shifted like a separate picture. A frame with one row of
// chroma is shifted as a whole.
func TestChromaShiftFields(t *testing.T) {
	for _, height := range []int{46, 45, 2, 1} {
		f := pipeline.Format{Layout: pipeline.YUV420P, Width: 40, Height: height}
		in, out := coloured(f, true, func(i int, x, y float64) float64 { return float64(int(37*x+91*y+float64(i)) % 256) }), pipeline.Blank(f)
		if err := (ChromaShift{X: -3, Y: 2}).Shift(out, in, 0); err != nil {
			t.Fatal(err)
		}
		if height < 3 {
			continue
		}
		for _, which := range []plane.Field{plane.Top, plane.Bottom} {
			from := plane.ComponentOf(in, which, 2)
			field := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV444P, Width: from.Width, Height: from.Height})
			row := make([]uint16, from.Width)
			for y := range from.Height {
				from.Read(row, 0, y)
				for i := range 3 {
					c := plane.ComponentOf(field, plane.Whole, i)
					c.Write(row, y)
				}
			}
			alone := pipeline.Blank(field.Format)
			if err := (ChromaShift{X: -1.5, Y: 0.5}).Shift(alone, field, 1); err != nil {
				t.Fatal(err)
			}
			got := plane.ComponentOf(out, which, 2)
			for y := range got.Height {
				got.Read(row, 0, y)
				for x, v := range row {
					if want := component(alone, 2, x, y); float64(v) != want {
						t.Fatalf("%d rows, field %d at %d, %d: %d, not %v", height, which, x, y, v, want)
					}
				}
			}
		}
	}
}

// The direction refers to the picture as shown.
func TestChromaShiftTurned(t *testing.T) {
	f := video(64, 48).turned(turned90)
	level := func(i int, x, y float64) float64 { return float64(int(37*x+91*y+float64(i)) % 256) }
	in, out, want := coloured(f.Format, false, level), pipeline.Blank(f.Format), pipeline.Blank(f.Format)
	if err := (ChromaShift{X: -4, Y: 2}).Shift(want, in, 0); err != nil { // as stored
		t.Fatal(err)
	}
	in.Video = &pipeline.Video{Matrix: turned90}
	stored := ChromaShift{X: -4, Y: 2}
	if err := stored.shown(f).Shift(out, in, 0); err != nil {
		t.Fatal(err)
	}
	for _, m := range [][9]int32{{}, turned90, turned180, turned270} {
		if again := stored.shown(f.turned(m)).stored(f.turned(m)); again != stored {
			t.Errorf("%v becomes %v", stored, again)
		}
	}
	// A picture turned by 90 degrees is shown with its first column at the top.
	if shown := stored.shown(f); shown != (ChromaShift{X: -2, Y: -4}) {
		t.Errorf("shown: %v", shown)
	}
	for y := range 24 {
		for x := range 32 {
			if component(out, 1, x, y) != component(want, 1, x, y) {
				t.Fatalf("the pictures differ at %d, %d", x, y)
			}
		}
	}
}

func TestChromaShiftRefused(t *testing.T) {
	for _, l := range []pipeline.Layout{pipeline.GRAY, pipeline.GRAY.At(10), pipeline.GBRP, pipeline.RGBA} {
		f := pipeline.Format{Layout: l, Width: 16, Height: 16}
		if err := (ChromaShift{X: 1}).Shift(pipeline.Blank(f), pipeline.Blank(f), 1); err == nil || hint.Of(err) == "" {
			t.Errorf("%v: %v", l, err)
		}
	}
}

// patches draws overlapping coloured squares.
func patches(i int, x, y float64, frame int) float64 {
	v := [3]float64{90, 128, 128}[i]
	for _, p := range drawnPatches {
		inside := p.size - max(math.Abs(x-p.x-float64(3*frame)), math.Abs(y-p.y))
		v += min(max(inside/3+0.5, 0), 1) * (p.colour[i] - v)
	}
	return v
}

type patch struct {
	x, y, size float64
	colour     [3]float64
}

var drawnPatches = func() (all [60]patch) {
	for k := range all {
		h := func(n int) float64 { return noisy(k, n, 1, 1) }
		all[k] = patch{230 + 160*h(0), 150 + 110*h(1), 18 + 9*math.Abs(h(2)), [3]float64{120 + 35*h(3), 128 + 35*h(4), 128 + 35*h(5)}}
	}
	return all
}()

func TestAlignment(t *testing.T) {
	for _, c := range []struct {
		layout     pipeline.Layout
		interlaced bool
		x, y       float64
		text       string
	}{
		{pipeline.YUV420P, false, 0, 0, "chroma fits luma: it stays"},
		{pipeline.YUV420P, false, 4, 2, "chroma lies 4 pixels to the right and 2 pixels down: moved by -4,-2"},
		{pipeline.YUV422P.At(10), true, -2.5, 4, "to the left and"},
		{pipeline.NV12, false, 6.5, 0, "6.5 pixels to the right: moved by -6.5,0"},
		{pipeline.YUV444P, false, 0, -3, "chroma lies 3 pixels up: moved by 0,3"},
	} {
		t.Run(fmt.Sprint(c.layout, c.x, c.y), func(t *testing.T) {
			f := Facts{Format: pipeline.Format{Layout: c.layout, Width: 460, Height: 300}, Interlaced: c.interlaced}
			a := NewAlignment(f)
			a.Add(coloured(f.Format, c.interlaced, func(i int, x, y float64) float64 {
				if i == 0 {
					return patches(0, x, y, 0) + noisy(int(x), int(y), 0, 3)
				}
				return patches(i, x-c.x, y-c.y, 0) + noisy(int(x), int(y), 10*i, 3)
			}))
			found := a.Find()
			if math.Abs(found.X-c.x) > 0.25 || math.Abs(found.Y-c.y) > 0.25 || !found.KnownX || !found.KnownY {
				t.Errorf("%+v, not %v, %v", found, c.x, c.y)
			}
			if value, text := a.Value(); !strings.Contains(text, c.text) || (value == "") != (c.x == 0 && c.y == 0) {
				t.Errorf("%q, %q; want %q", value, text, c.text)
			}
		})
	}
}

// Chroma stays without evidence of a shift.
func TestAlignmentUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		format pipeline.Format
		level  func(i int, x, y float64, frame int) float64
		text   string
	}{
		"no colour": {pipeline.Format{Layout: pipeline.YUV420P, Width: 360, Height: 240}, func(i int, x, y float64, frame int) float64 {
			if i > 0 {
				return 128
			}
			return patches(0, x, y, frame)
		}, "could not be measured in all 3 pictures: chroma stays where it is"},
		"noise": {pipeline.Format{Layout: pipeline.YUV420P, Width: 360, Height: 240}, func(i int, x, y float64, frame int) float64 {
			return 128 + noisy(int(x), int(y), frame+10*i, 9)
		}, "could not be measured"},
		"small": {pipeline.Format{Layout: pipeline.YUV420P, Width: 80, Height: 60}, patches, "could not be measured"},
		"gray":  {pipeline.Format{Layout: pipeline.GRAY, Width: 80, Height: 60}, nil, "a gray video has no chroma: it stays as it is"},
		"RGB":   {pipeline.Format{Layout: pipeline.GBRP, Width: 80, Height: 60}, nil, "RGB has no planes of chroma: it stays as it is"},
	} {
		a := NewAlignment(Facts{Format: c.format})
		for n := range 3 {
			f := pipeline.Blank(c.format)
			if c.level != nil {
				f = coloured(c.format, false, func(i int, x, y float64) float64 { return c.level(i, x, y, n) })
			}
			a.Add(f)
		}
		if value, text := a.Value(); value != "" || !strings.Contains(text, c.text) || a.Full() != (c.level == nil) {
			t.Errorf("%s: %q, %q", name, value, text)
		}
	}
}
