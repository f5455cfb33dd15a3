package repair

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// run repairs frames, and returns copies of the results. Context frames have no result.
func run(t *testing.T, frames []*pipeline.Frame, open func(*pipeline.Pool) *Filter) (out []*pipeline.Frame) {
	t.Helper()
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	f := open(pool)
	emit := func(r *pipeline.Frame) error {
		own := pipeline.Blank(r.Format)
		own.CopySamples(r)
		own.CopyTiming(r)
		out = append(out, own)
		r.Release()
		return nil
	}
	for _, frame := range frames {
		e2e.Must(t, f.Process(context.Background(), frame.Retain(), emit))
	}
	e2e.Must(t, f.Flush(context.Background(), emit))
	return out
}

func onC(threads int, seen func(int)) func(*pipeline.Pool) *Filter {
	return func(pool *pipeline.Pool) *Filter {
		each := onThreads(threads)
		return newFilter(newFast(isa.Fastest(), each), pool, each, seen)
	}
}

// drawn returns plane c of frame i of a moving scene.
func drawn(c, i, width, height, stepX, stepY int) plane.Plane {
	key := [6]int{c, i, width, height, stepX, stepY}
	p, ok := planes[key]
	if !ok {
		p = denoisetest.Texture(uint64(c)).Moved(2*float64(i), 2*float64(i)).Draw(width, height, 16, stepX, stepY)
		planes[key] = p
	}
	return p.Crop(width, height)
}

var planes = map[[6]int]plane.Plane{}

// moving returns frames of a moving scene, and copies of them with a spot in all planes of one
// frame, or of its first field.
func moving(format pipeline.Format, interlaced bool, count, spoiled int) (clean, dirty []*pipeline.Frame) {
	info := format.Layout.Info()
	for i := range count {
		f := pipeline.Blank(format)
		f.PTS, f.Interlaced = int64(i), interlaced
		for _, field := range plane.Fields(f) {
			for c, part := range componentsOf(f, field) {
				sx, sy := 1, 1
				if c > 0 {
					sx, sy = 1<<info.SubX, 1<<info.SubY
				}
				p := drawn(c, i, part.Width, part.Height, sx, sy)
				for j, v := range p.Pix {
					p.Pix[j] = v >> (p.Depth - part.Depth)
				}
				for y := range p.Height {
					part.Write(p.Row(y), y)
				}
			}
		}
		clean = append(clean, f)
		g := pipeline.Blank(format)
		g.CopySamples(f)
		g.CopyTiming(f)
		if i == spoiled {
			for c, part := range componentsOf(g, plane.Fields(g)[0]) {
				row := make([]uint16, part.Width)
				sx, sy := 0, 0
				if c > 0 {
					sx, sy = info.SubX, info.SubY
				}
				for y := part.Height / 2; y < min(part.Height/2+8>>sy, part.Height); y++ {
					part.Read(row, 0, y)
					for x := part.Width / 2; x < min(part.Width/2+10>>sx, part.Width); x++ {
						row[x] = uint16(1<<part.Depth - 1)
					}
					part.Write(row, y)
				}
			}
		}
		dirty = append(dirty, g)
	}
	return clean, dirty
}

// differences counts the bytes of two frames that differ by more than most.
func differences(a, b *pipeline.Frame, most int) (n int) {
	wide := a.Layout.Info().SampleBytes() == 2
	for i, y := range a.Rows() {
		p, q := a.Row(i, y), b.Row(i, y)
		for x := range p {
			if d := int(p[x]) - int(q[x]); (d > most || -d > most) && (!wide || most == 0 || x%2 == 1) {
				n++
			}
		}
	}
	return n
}

// A spot is removed from frames of every layout, progressive and interlaced, and the other frames
// stay unchanged. The number of threads, the Go reference and a division into parts make no
// difference.
func TestSpot(t *testing.T) {
	const count, spoiled = 8, 4
	for i, layout := range pipeline.Layouts() {
		for _, interlaced := range []bool{false, true} {
			format := pipeline.Format{Layout: layout, Width: 83, Height: 61, Matrix: pipeline.BT709}
			if interlaced {
				format.Height = 122
			}
			name := fmt.Sprint(format, ", interlaced: ", interlaced)
			clean, dirty := moving(format, interlaced, count, spoiled)
			patches, frames := 0, 0
			got := run(t, dirty, onC(1, func(n int) { patches, frames = patches+n, frames+1 }))
			if len(got) != count || patches != 1 || frames != 1 {
				t.Errorf("%s: %d frames, %d patches in %d", name, len(got), patches, frames)
				continue
			}
			for k, r := range got {
				switch {
				case k != spoiled && differences(r, dirty[k], 0) > 0:
					t.Errorf("%s: frame %d has changed", name, k)
				case k == spoiled && differences(r, clean[k], 60) > 0:
					t.Errorf("%s: %d bytes are far from the clean picture", name, differences(r, clean[k], 60))
				}
			}
			if i%7 > 0 {
				continue
			}
			others := map[string][]*pipeline.Frame{
				"3 threads": run(t, dirty, onC(3, nil)),
				"reference": run(t, dirty, func(pool *pipeline.Pool) *Filter { return newFilter(plain{}, pool, onThreads(2), nil) }),
				"parts":     parts(t, dirty, 3),
			}
			for what, all := range others {
				for k, r := range all {
					if len(all) != count || differences(r, got[k], 0) > 0 {
						t.Errorf("%s, %s: frame %d of %d differs", name, what, k, len(all))
					}
				}
			}
		}
	}
}

// parts repairs parts of size frames, each with its window of context frames.
func parts(t *testing.T, frames []*pipeline.Frame, size int) (all []*pipeline.Frame) {
	w := Stage{Mode: 1}.Window()
	for from := 0; from < len(frames); from += size {
		var part []*pipeline.Frame
		for i := max(from-w.Before, 0); i < min(from+size+w.After, len(frames)); i++ {
			f := pipeline.Blank(frames[i].Format)
			f.CopySamples(frames[i])
			f.CopyTiming(frames[i])
			f.Context = i < from || i >= from+size
			part = append(part, f)
		}
		all = append(all, run(t, part, onC(2, nil))...)
	}
	return all
}

// The smallest pictures and the shortest videos pass unchanged.
func TestSmall(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {2, 2}, {3, 1}, {16, 2}, {7, 5}} {
		for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12.At(10), pipeline.GBRP} {
			for _, count := range []int{1, 2, 5} {
				format := pipeline.Format{Layout: layout, Width: size[0], Height: size[1], Matrix: pipeline.BT709}
				clean, _ := moving(format, size[1] > 1, count, -1)
				for k, r := range run(t, clean, onC(2, nil)) {
					if differences(r, clean[k], 0) > 0 {
						t.Errorf("%v: frame %d of %d has changed", format, k, count)
					}
				}
			}
		}
	}
}

// Spots are repaired in all frames but the first and the last, as whole and in parts, if the video
// has at least four frames.
func TestEnds(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 83, Height: 61, Matrix: pipeline.BT709}
	for _, count := range []int{3, 4, 5, 7} {
		for spoiled := range count {
			_, dirty := moving(format, false, count, spoiled)
			repaired := spoiled > 0 && spoiled < count-1 && count > 3
			got, inParts := run(t, dirty, onC(1, nil)), parts(t, dirty, 2)
			for k, r := range got {
				if changed := differences(r, dirty[k], 0) > 0; changed != (k == spoiled && repaired) {
					t.Errorf("frame %d of %d, with a spot in %d: changed: %v", k, count, spoiled, changed)
				}
				if differences(r, inParts[k], 0) > 0 {
					t.Errorf("frame %d of %d, with a spot in %d: parts differ", k, count, spoiled)
				}
			}
		}
	}
}

// No sample is mended twice, under damage of luma either.
func TestOnce(t *testing.T) {
	const spoiled = 3
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 83, Height: 61, Matrix: pipeline.BT709}
	_, dirty := moving(format, false, spoiled+2, spoiled)
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	f := onC(2, nil)(pool)
	for _, frame := range dirty {
		e2e.Must(t, f.Process(context.Background(), frame, func(r *pipeline.Frame) error { r.Release(); return nil }))
	}
	e2e.Must(t, f.lookAt(context.Background()))
	for c, all := range f.damage(0) {
		seen := map[int32]bool{}
		for _, p := range all {
			for _, q := range p.samples {
				if seen[q] {
					t.Fatalf("plane %d: sample %d is in two patches", c, q)
				}
				seen[q] = true
			}
		}
		if len(seen) == 0 {
			t.Errorf("plane %d: no patch", c)
		}
	}
	f.Discard()
}

// TestMemory: PixelMemory is the memory that the filter keeps.
func TestMemory(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV444P, Width: 160, Height: 96, Matrix: pipeline.BT709}
	clean, _ := moving(format, false, 10, -1)
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	f := onC(1, nil)(pool)
	for _, frame := range clean {
		e2e.Must(t, f.Process(context.Background(), frame, func(r *pipeline.Frame) error { r.Release(); return nil }))
	}
	const search = 4 // bytes per pixel, in C
	bytes := 0
	views := f.free
	pictures := f.spare
	for _, e := range f.window {
		bytes += (3 + search) * format.Width * format.Height
		pictures = append(pictures, e.pictures...)
		for _, l := range e.looks {
			views = append(views, l.views...)
		}
	}
	for _, p := range pictures {
		for _, samples := range p.Planes {
			bytes += 2 * len(samples.Pix)
		}
	}
	for _, v := range views {
		c := v.cells
		bytes += 2*len(v.before.Pix) + 2*len(v.after.Pix) + 4*len(v.labels) + 4*len(v.noise) + 2*len(c.peak) + 2*len(c.split) + 4*len(c.sum)
	}
	if says := (Stage{}).PixelMemory() * format.Width * format.Height; bytes > says || bytes < says*3/4 {
		t.Errorf("%d bytes per pixel", bytes/format.Width/format.Height)
	}
	f.Discard()
}

// Points of colour stay, as lamps and glints, and a lost part of a line of colour is repaired.
func TestColour(t *testing.T) {
	for _, c := range []struct{ width, height, patches int }{{4, 4, 0}, {24, 2, 1}} {
		format := pipeline.Format{Layout: pipeline.YUV444P, Width: 83, Height: 61, Matrix: pipeline.BT709}
		frames, _ := moving(format, false, 5, -1)
		for y := range c.height {
			for x := range c.width {
				frames[2].Row(1, 30+y)[30+x] = 250
			}
		}
		patches := 0
		run(t, frames, onC(1, func(n int) { patches += n }))
		if patches != c.patches {
			t.Errorf("%dx%d: %d patches", c.width, c.height, patches)
		}
	}
}

// Moving, flashing and glittering objects stay: fewer than one in 10,000 squares of 16x16 samples
// is taken for damage.
func TestHazards(t *testing.T) {
	const width, height = 240, 136
	patches, squares := 0, 0
	for _, c := range scene.Hazards() {
		own := 0
		run(t, c.Draw(width, height), onC(2, func(n int) { own += n }))
		if own > 1 {
			t.Errorf("%s: %d patches", c.Name, own)
		}
		patches, squares = patches+own, squares+scene.ClipFrames*width*height/256
	}
	if 10000*patches > squares {
		t.Errorf("%d of %d squares", patches, squares)
	}
}

// Spots, dropouts, lost lines and scratches are repaired, with and without noise.
func TestHits(t *testing.T) {
	const width, height = 160, 96
	clip := scene.Clips()[1]
	clean := clip.Draw(width, height)
	for _, c := range []struct{ sigma, least int }{{0, 90}, {5, 85}, {10, 60}} {
		r := rand.New(rand.NewPCG(1, uint64(c.sigma)))
		hits, all := 0, 0
		for kind := range 4 {
			var dirty []*pipeline.Frame
			for k, f := range clean {
				g := pipeline.Blank(f.Format)
				g.CopyTiming(f)
				for i, y := range f.Rows() {
					for x, v := range f.Row(i, y) {
						g.Row(i, y)[x] = byte(min(max(float64(v)+float64(c.sigma)*r.NormFloat64()+0.5, 0), 255))
					}
				}
				x0, y0, w, h := 20+r.IntN(90), 20+r.IntN(50), 5, 4
				switch kind {
				case 1: // a dropout
					w, h = 40, 2
				case 2: // a lost line
					x0, w, h = 0, width, 1
				case 3: // a scratch
					w, h = 2, 26
				}
				if k%3 == 0 {
					for y := y0; y < y0+h; y++ {
						for x := x0; x < min(x0+w, width); x++ {
							g.Row(0, y)[x] = byte(225 + r.IntN(20))
						}
					}
				}
				dirty = append(dirty, g)
			}
			for k, f := range run(t, dirty, onC(2, nil)) {
				if k%3 != 0 || k == 0 || k == len(clean)-1 {
					continue
				}
				all++
				left := 0
				for y := range height {
					for x, v := range dirty[k].Row(0, y) {
						if d := int(v) - int(clean[k].Row(0, y)[x]); d > 60 && int(f.Row(0, y)[x])-int(clean[k].Row(0, y)[x]) > d/2 {
							left++
						}
					}
				}
				if left < 4 {
					hits++
				}
			}
		}
		if 100*hits < c.least*all {
			t.Errorf("noise %d: %d of %d", c.sigma, hits, all)
		}
	}
}

// Discard releases all frames after an error in mid-stream.
func TestDiscard(t *testing.T) {
	clean, _ := moving(pipeline.Format{Layout: pipeline.YUV420P, Width: 32, Height: 32, Matrix: pipeline.BT709}, false, 3, -1)
	var released int
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	f := onC(1, nil)(pool)
	for _, c := range clean {
		own := pipeline.NewFrame(c.Format, c.Planes, nil, func() { released++ })
		e2e.Must(t, f.Process(context.Background(), own, func(r *pipeline.Frame) error { r.Release(); return nil }))
	}
	pipeline.Discard(f)
	if released != 3 {
		t.Errorf("%d frames were released", released)
	}
}
