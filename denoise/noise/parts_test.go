package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

func TestDCT(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var b block
	for i := range b {
		b[i] = float32(r.IntN(256))
	}
	in := b
	b.dct()
	for v := range 8 {
		for u := range 8 {
			want := 0.0
			for i, s := range in {
				want += float64(s) * cosine(u, i%8) * cosine(v, i/8)
			}
			if got := float64(b[v*8+u]); math.Abs(got-want) > 1e-3 {
				t.Errorf("u %d, v %d: %f, want %f", u, v, got, want)
			}
		}
	}
}

// TestFast: the C functions match plain Go.
func TestFast(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		all := make([]byte, n)
		for i := range all {
			all[i] = byte([]int{0, 255, r.IntN(256)}[r.IntN(3)])
		}
		return all
	}
	for n := range 70 {
		a, b, got := random(2*n+1), random(2*n+1), make([]byte, n)
		halveRow(got, a, b)
		for i, v := range got {
			if want := (int(a[2*i]) + int(a[2*i+1]) + int(b[2*i]) + int(b[2*i+1]) + 2) / 4; int(v) != want {
				t.Fatalf("sample %d of %d: %d, want %d", i, n, v, want)
			}
		}
	}
	for range 300 {
		m := matcher{level{40, 30, random(40 * 30)}, level{33, 28, random(33 * 28)}}
		got := trial{m: m, x: r.IntN(40 - window + 1), y: r.IntN(30 - window + 1), cost: 20000 + r.IntN(12000)}
		want := got
		var options []option
		for range 1 + r.IntN(8) {
			v, extra := vector{r.IntN(40) - 20, r.IntN(40) - 20}, r.IntN(3000)
			options = append(options, v.costs(extra))
			x, y := got.x+v.x, got.y+v.y
			if x < 0 || y < 0 || x > 33-window || y > 28-window {
				continue
			}
			for i := range window * window {
				d := int(m.cur.pix[(got.y+i/window)*40+got.x+i%window]) - int(m.ref.pix[(y+i/window)*33+x+i%window])
				extra += max(d, -d)
			}
			if extra < want.cost {
				want.best, want.cost = v, extra
			}
		}
		if got.try(options); got.best != want.best || got.cost != want.cost {
			t.Fatalf("%v costs %d, want %v, %d", got.best, got.cost, want.best, want.cost)
		}
	}
}

// TestSmooth: bytes are smoothed as samples of any depth are.
func TestSmooth(t *testing.T) {
	f := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: 67, Height: 40})
	noisy(draw(67, 40, 1, pan(0, 0)), 1, white(40))[0].Into(f, plane.Whole)
	bytewise, samplewise := plane.ViewsOf(f, plane.Whole), plane.Of(f, plane.Whole).Views()
	for _, side := range []int{window, window + 2*margin} {
		for y := -1; y <= 40-side+1; y++ {
			for x := -1; x <= 67-side+1; x++ {
				got, want := make([]byte, side*side), make([]byte, side*side)
				smooth(got, side, &bytewise.Planes[0], x, y)
				smooth(want, side, &samplewise.Planes[0], x, y)
				if !slices.Equal(got, want) {
					t.Fatalf("%d samples at %d, %d differ", side, x, y)
				}
			}
		}
	}
}

func TestHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var h, first, second histogram
	var list []float64
	for i := range 20000 {
		e := float32(math.Exp(2 * r.NormFloat64()))
		list = append(list, float64(e))
		h.add(e)
		[]*histogram{&first, &second}[i%2].add(e)
	}
	slices.Sort(list)
	for _, part := range []float64{0.1, 0.5, 0.9} {
		near(t, "quantile", h.quantile(part), list[int(part*20000)], 0.02)
		limit := list[int(part*20000)]
		sum, n := 0.0, 0.0
		for _, e := range list[h.zeros:int(part*20000)] {
			sum, n = sum+e, n+1
		}
		mean, _ := h.meanBelow(limit)
		near(t, "mean below", mean, sum/n, 0.02)
	}
	first.merge(&second)
	if first.count != h.count || first.n != h.n || first.zeros != h.zeros {
		t.Error("two histograms do not make one")
	}
	for _, e := range []float32{0, least / 2, least, 1, 65025 * 32, math.MaxFloat32} {
		if b := h.add(e); (b < 0) != (e < least) || b >= bins {
			t.Errorf("energy %g is in bin %d", e, b)
		}
	}
}

func TestSearchFindsMotion(t *testing.T) {
	for _, v := range []vector{{0, 0}, {1, 0}, {-3, 2}, {7, -5}, {-18, 11}, {40, 3}} {
		move := func(c, t int, x, y float64) float64 {
			return detailed(0, 0)(c, 0, x+float64(t*v.x), y+float64(t*v.y))
		}
		clip := draw(width, height, 2, move)
		s := newSearch(NewFrame(clip[0].Views()), NewFrame(clip[1].Views()))
		right, n := 0, 0
		for _, a := range areas(s.cur) {
			x, y := a.x*window+v.x, a.y*window+v.y
			if x < 0 || y < 0 || x > width-window || y > height-window {
				continue
			}
			n++
			if s.area(a, new(patch)) == v {
				right++
			}
		}
		if right < n*9/10 {
			t.Errorf("%v: found in %d of %d areas", v, right, n)
		}
	}
}

func TestAreas(t *testing.T) {
	for _, size := range [][2]int{{32, 32}, {416, 240}, {1920, 1080}, {3840, 2160}} {
		list := areas(NewFrame(empty(size[0], size[1], 8).Views()))
		w, h := size[0]/window, size[1]/window
		if len(list) != min(w*h, maxAreas) {
			t.Errorf("%v: %d areas", size, len(list))
		}
		seen, columns := map[area]bool{}, map[int]bool{}
		for _, a := range list {
			if a.x < 0 || a.y < 0 || a.x >= w || a.y >= h || seen[a] {
				t.Errorf("%v: %v", size, a)
			}
			seen[a], columns[a.x] = true, true
		}
		if len(columns) < w/2 {
			t.Errorf("%v: %d of %d columns", size, len(columns), w)
		}
	}
}

// TestFrames: a frame is measured where it lies, as its samples are.
func TestFrames(t *testing.T) {
	clip := noisy(draw(width, height, 2, pan(1.7, 0.6)), 1, white(8))
	for _, layout := range []pipeline.Layout{pipeline.YUV420P, pipeline.NV12} {
		for _, field := range []plane.Field{plane.Whole, plane.Top, plane.Bottom} {
			var want, got Meter
			for i, pic := range clip {
				f := pipeline.Blank(pipeline.Format{Layout: layout, Width: width, Height: height})
				pic.Into(f, plane.Whole)
				want.Put(plane.Of(f, field).Views(), pipeline.Quantiser{})
				got.Put(plane.ViewsOf(f, field), pipeline.Quantiser{})
				if got.Model(i) != want.Model(i) {
					t.Errorf("%v, field %d, frame %d", layout, field, i)
				}
			}
		}
	}
}

func BenchmarkPair1080p(b *testing.B) { benchmarkPair(b, 1920, 1080) }
func BenchmarkPair4K(b *testing.B)    { benchmarkPair(b, 3840, 2160) }

func benchmarkPair(b *testing.B, w, h int) {
	var frames []plane.Views
	for _, pic := range noisy(draw(w, h, 2, pan(3.3, 1.2)), 1, white(8)) {
		f := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: w, Height: h})
		pic.Into(f, plane.Whole)
		frames = append(frames, plane.ViewsOf(f, plane.Whole))
	}
	var last *Reading
	for i := 0; b.Loop(); i++ {
		last = Read(last, frames[i%2])
		last.Wait()
	}
}

func BenchmarkEstimate(b *testing.B) {
	clip := noisy(draw(width, height, 7, pan(3.3, 1.2)), 1, white(8))
	m := NewMeter(3)
	for _, pic := range clip {
		m.Put(pic.Views(), pipeline.Quantiser{})
	}
	for b.Loop() {
		m.Model(3)
	}
}
