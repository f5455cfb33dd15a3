package deflicker

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// texture is a smooth pattern with values from 0 to 1, independent of the picture size.
func texture(x, y float64) float64 {
	v := 0.5
	for _, w := range [3][3]float64{{13, 7, 0.13}, {-9, 27, 0.12}, {41, 17, 0.1}} {
		v += w[2] * math.Sin(w[0]*x+w[1]*y+10*w[2])
	}
	return v
}

// scene returns a frame of the texture, moved by thousandths of the width, with its brightness
// multiplied by gain.
func scene(format pipeline.Format, moved int, gain float64) *pipeline.Frame {
	f := pipeline.Blank(format)
	paint(f, plane.Whole, moved, gain)
	return f
}

// paint draws the scene into a field of a frame.
func paint(f *pipeline.Frame, field plane.Field, moved int, gain float64) {
	info := f.Layout.Info()
	black, span := levels(f.Format)
	most := 1<<info.Depth - 1
	for i, y := range f.Rows() {
		if field != plane.Whole && y%2 != int(field-plane.Top) {
			continue
		}
		row := f.Row(i, y)
		n := len(row) / info.SampleBytes()
		_, rows := f.PlaneSize(i)
		per := 1 // samples of a pixel
		if info.SemiPlanar && i > 0 {
			per = 2
		}
		per *= info.Samples
		for x := range n {
			u := (float64(x/per) + 0.5) * float64(per) / float64(n)
			v := (float64(y) + 0.5) / float64(rows)
			s := gain * texture(u+float64(moved)/1000, v*float64(f.Height)/float64(f.Width))
			level := float64(black) + s*float64(span)
			if i > 0 && !info.RGB {
				level = float64(int(1)<<(info.Depth-1)) + gain*0.2*float64(span)*math.Sin(9*u+float64(x%per))
			}
			if info.Samples == 4 && x%4 == 3 {
				level = 77 // alpha
			}
			sample := min(max(int(level+0.5), 0), most)
			if info.Depth == 8 {
				row[x] = byte(sample)
			} else {
				binary.LittleEndian.PutUint16(row[2*x:], uint16(sample)<<info.Shift)
			}
		}
	}
}

// filtered returns the results of frames. Unchanged frames are the originals.
func filtered(t *testing.T, frames []*pipeline.Frame, threads int) (all []*pipeline.Frame) {
	t.Helper()
	pool := pipeline.NewPool(kernels.Host{}, len(frames))
	t.Cleanup(pool.Close)
	f := NewFilter(pool, threads)
	emit := func(out *pipeline.Frame) error { all = append(all, out); return nil }
	for i, in := range frames {
		in.PTS = int64(i)
		if err := f.Process(context.Background(), in.Retain(), emit); err != nil {
			t.Fatal(err)
		}
		if held := i + 1 - len(all); held > f.Held() {
			t.Fatalf("%d frames are held", held)
		}
	}
	if err := f.Flush(context.Background(), emit); err != nil {
		t.Fatal(err)
	}
	if len(all) != len(frames) {
		t.Fatalf("%d results of %d frames", len(all), len(frames))
	}
	for i, out := range all {
		if out.PTS != int64(i) || out.Format != frames[i].Format {
			t.Fatalf("result %d is of frame %d, %v", i, out.PTS, out.Format)
		}
	}
	return all
}

// unsteady returns the remaining flicker of each component: the RMS change from frame to frame of
// the sum of its distances from black or neutral, relative to the sum without flicker.
func unsteady(frames []*pipeline.Frame, field plane.Field, truth func(t int) *pipeline.Frame) (all []float64) {
	sums := func(f *pipeline.Frame) (sums []float64) {
		black, _ := levels(f.Format)
		if f.Layout.Info().RGB {
			for _, c := range colours(f, field) {
				sums = append(sums, distance(c, black))
			}
			return sums
		}
		for i := range plane.Components(f.Layout) {
			if i > 0 {
				black = 1 << (f.Layout.Info().Depth - 1)
			}
			sums = append(sums, distance(plane.ComponentOf(f, field, i), black))
		}
		return sums
	}
	var before []float64
	for t, f := range frames {
		now, want := sums(f), sums(truth(t))
		for i := range now {
			now[i] /= want[i]
		}
		if all == nil {
			all = make([]float64, len(now))
		} else {
			for i := range now {
				all[i] += (now[i] - before[i]) * (now[i] - before[i]) / float64(len(frames)-1)
			}
		}
		before = now
	}
	for i := range all {
		all[i] = math.Sqrt(all[i])
	}
	return all
}

func distance(c plane.Component, from int) (sum float64) {
	row := make([]uint16, c.Width)
	for y := range c.Height {
		c.Read(row, 0, y)
		for _, v := range row {
			sum += math.Abs(float64(int(v) - from))
		}
	}
	return sum
}

// gains returns random gains of frames with flicker.
func gains(n int, size float64) (all []float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		all = append(all, 1+size*rng.NormFloat64())
	}
	return all
}

// Flicker of a moving scene falls below a quarter, in all components of all layouts.
func TestLayouts(t *testing.T) {
	all := gains(18, 0.03)
	for _, l := range pipeline.Layouts() {
		if depth := l.Info().Depth; !(Stage{}).Takes(l) || depth != 8 && depth != 10 && depth != 16 {
			continue
		}
		format := pipeline.Format{Layout: l, Width: 97, Height: 63, Matrix: pipeline.BT709, FullRange: l.Info().Depth == 10}
		still := scene(format, 0, 1)
		var frames []*pipeline.Frame
		for i, g := range all {
			frames = append(frames, scene(format, 2*i, g))
		}
		truth := func(int) *pipeline.Frame { return still }
		was, is := unsteady(frames, plane.Whole, truth), unsteady(filtered(t, frames, 2), plane.Whole, truth)
		for i := range is {
			if is[i] > was[i]/4 {
				t.Errorf("%v: component %d flickers by %.4f, and by %.4f before", format, i, is[i], was[i])
			}
		}
	}
}

// Clips without flicker pass unchanged.
func TestUnharmed(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.GRAY, Width: 160, Height: 90}
	const n = 24
	for name, gain := range map[string]func(t int) (moved int, gain float64){
		"still":           func(int) (int, float64) { return 0, 1 },
		"pan":             func(t int) (int, float64) { return 11 * t, 1 },
		"fade out":        func(t int) (int, float64) { return 0, min(1, float64(n-t)/16) },
		"fade in, moving": func(t int) (int, float64) { return 5 * t, min(1, float64(t)/12) },
		"light is turned on": func(t int) (int, float64) {
			if t < 10 {
				return t, 0.7
			}
			return t, 1
		},
		"flash": func(t int) (int, float64) {
			if t == 11 {
				return t, 1.3
			}
			return t, 0.9
		},
		"cut": func(t int) (int, float64) {
			if t < 12 {
				return 0, 1
			}
			return 2500, 0.8
		},
	} {
		var frames []*pipeline.Frame
		for i := range n {
			moved, g := gain(i)
			frames = append(frames, scene(format, moved, g))
		}
		for _, interlaced := range []bool{false, true} {
			for _, f := range frames {
				f.Interlaced = interlaced
			}
			for i, out := range filtered(t, frames, 1) {
				if out != frames[i] {
					t.Errorf("%s, interlaced %v: frame %d has changed", name, interlaced, i)
				}
			}
		}
	}
}

// A lasting change across the picture is the camera's pan under a lens that darkens the corners,
// and its shake is no flicker. Flicker that varies across the picture does not last.
func TestSweep(t *testing.T) {
	for _, c := range []struct {
		flicker, across float64
		lasts, changed  bool
	}{
		{0.012, 0, true, true}, {0.012, 0.09, false, true}, {0.012, 0.09, true, false}, {0.05, 0.09, true, true},
	} {
		changes := []*change{{cut: true}}
		for i, g := range gains(2*ahead, c.flicker) {
			now := &change{gain: g}
			for k := range areas * areas {
				now.parts[k] = c.across * float64(k%areas-1)
				if !c.lasts && i%2 > 0 {
					now.parts[k] *= -1
				}
			}
			changes = append(changes, now)
		}
		if changed := steady(changes, ahead).gain != 1; changed != c.changed {
			t.Errorf("flicker %v, %v across, lasting %v: changed %v", c.flicker, c.across, c.lasts, changed)
		}
	}
}

// flickering returns a gray clip with flicker of the whole picture and between left and right, a
// moving ball of light, and a cut.
func flickering(n int) (frames []*pipeline.Frame) {
	format := pipeline.Format{Layout: pipeline.GRAY, Width: 200, Height: 120, FullRange: true}
	whole, side := gains(n, 0.05), gains(2*n, 0.03)[n:]
	for i := range n {
		moved := 4 * i
		if i > 2*n/3 {
			moved += 3000
		}
		f := scene(format, moved, 1)
		for y := range f.Height {
			row := f.Row(0, y)
			for x, v := range row {
				g := whole[i] * (1 + (side[i]-1)*(2*float64(x)/float64(f.Width)-1))
				if math.Hypot(float64(x-6*i), float64(y-60)) < 20 {
					v = 250
				}
				row[x] = byte(min(float64(v)*g, 255))
			}
		}
		frames = append(frames, f)
	}
	return frames
}

func same(a, b *pipeline.Frame) bool {
	for i, y := range a.Rows() {
		if !bytes.Equal(a.Row(i, y), b.Row(i, y)) {
			return false
		}
	}
	return true
}

// Parts with their windows, and any number of threads, give the same bits as the whole video.
func TestPartsAndThreads(t *testing.T) {
	for _, interlaced := range []bool{false, true} {
		frames := flickering(30)
		for _, f := range frames {
			f.Interlaced = interlaced
		}
		whole := filtered(t, frames, 1)
		for i, out := range filtered(t, frames, 3) {
			if !same(out, whole[i]) {
				t.Errorf("interlaced %v: frame %d differs with 3 threads", interlaced, i)
			}
		}
		w, changed := Stage{}.Window(), 0
		for at := range frames {
			from, to := max(at-w.Before, 0), min(at+w.After+1, len(frames))
			part := filtered(t, frames[from:to], 2)[at-from]
			if !same(part, whole[at]) {
				t.Errorf("interlaced %v: frame %d of a part differs", interlaced, at)
			}
			if !same(whole[at], frames[at]) {
				changed++
			}
		}
		if changed < len(frames)-4 {
			t.Errorf("interlaced %v: %d of %d frames have changed", interlaced, changed, len(frames))
		}
	}
}

// Flicker that varies across the picture, or between dark and light tones, is removed.
func TestParts(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.GRAY, Width: 200, Height: 120, FullRange: true}
	still := scene(format, 0, 1)
	for name, factor := range map[string]func(g, x, v float64) float64{
		"left and right": func(g, x, _ float64) float64 { return 1 + (g-1)*(2*x-1) },
		"gamma":          func(g, _, v float64) float64 { return math.Pow(v/255, g-1) },
	} {
		var frames []*pipeline.Frame
		for _, g := range gains(18, 0.03) {
			f := scene(format, 0, 1)
			for y := range f.Height {
				for x, v := range f.Row(0, y) {
					f.Row(0, y)[x] = byte(min(float64(v)*factor(g, float64(x)/float64(f.Width), float64(v))+0.5, 255))
				}
			}
			frames = append(frames, f)
		}
		sum := func(all []*pipeline.Frame) (squares float64) {
			for i, f := range all {
				for y := range f.Height {
					for x, v := range f.Row(0, y) {
						before := still.Row(0, y)[x]
						if i > 0 {
							before = all[i-1].Row(0, y)[x]
						}
						squares += float64(int(v)-int(before)) * float64(int(v)-int(before))
					}
				}
			}
			return squares
		}
		if was, is := sum(frames), sum(filtered(t, frames, 2)); is > was/10 {
			t.Errorf("%s: squares of changes are %.0f, and %.0f before", name, is, was)
		}
	}
}

// Each field of an interlaced frame gets its own gain.
func TestFields(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 128, Height: 99, Matrix: pipeline.BT601}
	still := scene(format, 0, 1)
	truth := func(int) *pipeline.Frame { return still }
	for _, top := range []bool{false, true} {
		all := gains(36, 0.04)
		var frames []*pipeline.Frame
		for i := range 18 {
			f := scene(format, 0, 1)
			f.Interlaced, f.TopFieldFirst = true, top
			for k, field := range plane.Fields(f) {
				paint(f, field, 4*i+2*k, all[2*i+k])
			}
			frames = append(frames, f)
		}
		out := filtered(t, frames, 2)
		for _, field := range []plane.Field{plane.Top, plane.Bottom} {
			was, is := unsteady(frames, field, truth), unsteady(out, field, truth)
			for i := range is {
				if is[i] > was[i]/4 {
					t.Errorf("top field first %v: component %d of field %d flickers by %.4f, and by %.4f before", top, i, field, is[i], was[i])
				}
			}
		}
	}
}

// Videos of one frame and pictures of any size work, also if the format or field order changes.
func TestSmall(t *testing.T) {
	for _, l := range []pipeline.Layout{pipeline.YUV420P, pipeline.RGBA, pipeline.NV12.At(10), pipeline.GRAY} {
		var frames []*pipeline.Frame
		for _, size := range [][2]int{{1, 1}, {2, 1}, {1, 3}, {7, 5}, {64, 2}, {3, 200}} {
			format := pipeline.Format{Layout: l, Width: size[0], Height: size[1], Matrix: pipeline.BT709}
			for i, g := range gains(12, 0.2) {
				f := scene(format, 0, g)
				f.Interlaced, f.TopFieldFirst = i%8 > 3, i > 8
				frames = append(frames, f)
			}
			filtered(t, frames[len(frames)-1:], 1)
		}
		filtered(t, frames, 4)
	}
}

// Corrections match their definition within the amplitude of the dither, and on average. Neutral
// colours and alpha stay unchanged.
func TestApply(t *testing.T) {
	c := correction{gain: 1.015}
	for i := range c.parts {
		c.parts[i] = 0.01 * float64(i%5-2)
	}
	for _, l := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12.At(10), pipeline.GRAY.At(16), pipeline.RGBA, pipeline.GBRP.At(12)} {
		format := pipeline.Format{Layout: l, Width: 75, Height: 51, Matrix: pipeline.BT709}
		in, out := scene(format, 0, 0.9), pipeline.Blank(format)
		c.apply(out, in, plane.Whole, 2)
		info := l.Info()
		black, span := levels(format)
		most, middle := float64(int(1)<<info.Depth-1), 1<<(info.Depth-1)
		check := func(from, to, by plane.Component, zero int) {
			var sum float64
			a, b, l := make([]uint16, from.Width), make([]uint16, from.Width), make([]uint16, by.Width)
			for y := range from.Height {
				from.Read(a, 0, y)
				to.Read(b, 0, y)
				by.Read(l, 0, min(y*((by.Height+1)/from.Height), by.Height-1))
				for x := range a {
					blk := block{x: (float64(x) + 0.5) / float64(from.Width), y: (float64(y) + 0.5) / float64(from.Height)}
					blk.level = float64(int(l[min(x*((by.Width+1)/from.Width), by.Width-1)])-black) / float64(span)
					var area, tone float64
					for _, s := range blk.shares() {
						switch {
						case s.term > areas*areas:
							tone += s.w * c.parts[s.term-1]
						case s.term > 0:
							area += s.w * c.parts[s.term-1]
						}
					}
					want := min(max(float64(zero)+(float64(int(a[x])-zero))*c.gain*(1+area)*(1+tone), 0), most)
					e := float64(b[x]) - want
					sum += e
					if math.Abs(e) > 0.9 || int(a[x]) == zero && a[x] != b[x] {
						t.Fatalf("%v: %d became %d at %d, %d, not %.2f", format, a[x], b[x], x, y, want)
					}
				}
			}
			if mean := sum / float64(from.Width*from.Height); math.Abs(mean) > 0.03 {
				t.Errorf("%v: results are off by %.3f on average", format, mean)
			}
		}
		if info.RGB {
			a, b := colours(in, plane.Whole), colours(out, plane.Whole)
			for i := range a {
				check(a[i], b[i], a[i], 0)
			}
			if info.Samples == 4 && out.Row(0, 3)[7] != 77 {
				t.Error("alpha has changed")
			}
			continue
		}
		for i := range plane.Components(l) {
			zero := black
			if i > 0 {
				zero = middle
			}
			check(plane.ComponentOf(in, plane.Whole, i), plane.ComponentOf(out, plane.Whole, i), plane.ComponentOf(in, plane.Whole, 0), zero)
		}
	}
}

// Discard releases all frames after an error.
func TestDiscard(t *testing.T) {
	released := 0
	f := NewFilter(pipeline.NewPool(kernels.Host{}, 1), 1)
	format := pipeline.Format{Layout: pipeline.GRAY, Width: 8, Height: 8}
	for range 5 {
		in := pipeline.FrameIn(make([]byte, 64*8), format, nil, func() { released++ })
		if err := f.Process(context.Background(), in, nil); err != nil {
			t.Fatal(err)
		}
	}
	if f.Discard(); released != 5 {
		t.Errorf("%d of 5 frames were released", released)
	}
}
