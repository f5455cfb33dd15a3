package denoise

import (
	"fmt"
	"math"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
)

// TestPast: the past removes more noise where the picture is still, and other scenes keep no trace
// of it.
func TestPast(t *testing.T) {
	const (
		width, height = 96, 64
		sigma         = 10
		at            = 52 // the filtered frame; the past ends at 45
	)
	scene := denoisetest.Texture(3)
	disc := func(x, y, cx, cy float64) float64 { return max(0, 1-math.Hypot(x-cx, y-cy)/16) }
	still := func(n int, x, y float64) float64 { return scene(x, y) }
	object := func(height float64) func(n int, x, y float64) float64 {
		return func(n int, x, y float64) float64 { // it comes, stands for 20 frames and leaves
			if n < 24 || n >= 44 {
				return scene(x, y)
			}
			return scene(x, y) + height*disc(x, y, 48, 32)
		}
	}
	for _, c := range []struct {
		name string
		draw func(n int, x, y float64) float64
		gain float64 // at least, in dB
	}{
		{"still", still, 2.5},
		{"a faint object", object(6), 0},
		{"an object", object(50), 0},
		{"something passes", func(n int, x, y float64) float64 { return scene(x, y) + 60*disc(x, y, 4*float64(n-20), 32) }, 0},
		{"fade", func(n int, x, y float64) float64 { return 0.7*scene(x, y) + float64(n) }, 1},
		{"fade of contrast", func(n int, x, y float64) float64 { return scene(x, y) * (0.5 + float64(n)/200) }, 0},
		{"light", func(n int, x, y float64) float64 {
			if n > 46 {
				return 0.8*scene(x, y) + 30
			}
			return 0.8 * scene(x, y)
		}, 0},
		{"flicker", func(n int, x, y float64) float64 { return 0.9*scene(x, y) + 5*math.Sin(2*float64(n)) }, 1},
		{"shadow", func(n int, x, y float64) float64 { return scene(x, y) * (0.85 + 0.15*math.Tanh((x-2*float64(n)+40)/8)) }, 0},
		{"shake", func(n int, x, y float64) float64 { return scene(x+0.3*math.Sin(1.7*float64(n)), y) }, 0},
		{"cut", func(n int, x, y float64) float64 {
			if n < 40 {
				return denoisetest.Texture(4)(x, y)
			}
			return scene(x, y)
		}, -0.05},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			picture := func(n int) plane.Picture {
				s := denoisetest.Scene(func(x, y float64) float64 { return c.draw(n, x, y) })
				return plane.Picture{Planes: []plane.Plane{s.Draw(width, height, 8, 1, 1)}}
			}
			noisy := func(n int) plane.Picture { return denoisetest.NoisyPicture(picture(n), sigma, uint64(n)) }
			s := Default(Best)
			var window []plane.Picture
			for n := at - s.Far; n <= at+s.Ahead; n++ {
				window = append(window, noisy(n))
			}
			var past []plane.Sum
			for begin := 32; begin >= 0; begin -= plane.SumOf {
				var sum plane.Sum
				for n := begin; n < min(begin+plane.SumOf, at-s.Far); n++ {
					sum.Add(noisy(n))
				}
				past = append(past, sum)
			}
			want := picture(at).Planes[0]
			without := Reference(window, s.Far, noise.Flat(sigma), s).Planes[0]
			with := Reference(window, s.Far, noise.Flat(sigma), s, past...).Planes[0]
			if gain := denoisetest.PSNR(with, want) - denoisetest.PSNR(without, want); gain < c.gain {
				t.Errorf("the past gains %.2f dB", gain)
			}
			if a, b := worst(with, want), worst(without, want); a > b+1 {
				t.Errorf("a block of 8x8 is %.1f levels off, without the past %.1f", a, b)
			}
		})
	}
}

// worst is the largest mean difference in a block of 8x8, in levels.
func worst(a, b plane.Plane) (most float64) {
	for y := 0; y+8 <= a.Height; y += 4 {
		for x := 0; x+8 <= a.Width; x += 4 {
			sum := 0
			for i := range 64 {
				sum += a.At(x+i%8, y+i/8) - b.At(x+i%8, y+i/8)
			}
			most = max(most, math.Abs(float64(sum))/64)
		}
	}
	return most
}

// The past is of frames that the window has left, each once, in runs that begin at fixed frames.
func TestPastOfFilter(t *testing.T) {
	for _, c := range []struct {
		frames     int
		each       int // times that a frame is shown
		interlaced bool
		want       string
	}{
		{6, 1, false, "[]"},
		{14, 1, false, "[2]"}, // 0 to 7 have been filtered; 1 has left last
		{12 + 16, 1, false, "[16]"},
		{12 + 17, 1, true, "[1 16]"},
		{12 + 70, 1, false, "[6 16 16]"},
		{12 + 40, 2, false, "[4 8 8]"},
		{12 + 41, 2, false, "[4 8 8]"}, // its repeat is in the window
	} {
		f := newFilm(t, known(options(Best)))
		for n := range c.frames {
			in := f.frame(n/c.each, small)
			in.PTS, in.Interlaced, in.Context = int64(n), c.interlaced, true // there are no results
			f.put(in)
		}
		for i := range map[bool]int{false: 1, true: 2}[c.interlaced] {
			counts := []int{}
			for _, p := range f.filter.past[i] {
				counts = append(counts, p.Count)
			}
			if got := fmt.Sprint(counts); got != c.want {
				t.Errorf("%d frames, each shown %d times: %s, not %s", c.frames, c.each, got, c.want)
			}
		}
		f.end()
		if f.filter.past[0] != nil {
			t.Error("the past outlives the video")
		}
	}
}
