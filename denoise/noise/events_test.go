package noise

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// all fails unless the luma noise of all frames is that wanted, and steady.
func all(t *testing.T, clip []plane.Picture, sigma, within float64) {
	t.Helper()
	list := models(clip)
	for n, m := range list {
		near(t, fmt.Sprintf("sigma of frame %d", n), m.Sigma[0], sigma, within)
	}
	steady(t, list, 0.02)
}

func elsewhere(p painter) painter {
	return func(c, t int, x, y float64) float64 { return p(c, t, x+7000, y) }
}

func TestCut(t *testing.T) {
	one := noisy(draw(width, height, 6, pan(1.7, 0.6)), 1, white(4))
	two := noisy(draw(width, height, 6, elsewhere(detailed(-2.2, 1))), 2, white(12))
	for n, m := range models(slices.Concat(one, two)) {
		want := 4.0
		if n >= len(one) {
			want = 12
		}
		near(t, fmt.Sprintf("sigma of frame %d", n), m.Sigma[0], want, 0.1)
	}
}

func TestCleanTitles(t *testing.T) {
	titles := draw(width, height, 5, letterbox(pan(0, 0), 100))
	clip := noisy(draw(width, height, 5, pan(1.7, 0.6)), 1, white(7))
	for n, m := range models(slices.Concat(titles, clip)) {
		if m.Clean() != (n < len(titles)) {
			t.Errorf("frame %d: sigma %.2f", n, m.Sigma[0])
		}
	}
}

func TestFlash(t *testing.T) {
	clip := draw(width, height, 9, func(c, t int, x, y float64) float64 {
		v := land(c, x+float64(t), y)
		if c == 0 && t == 4 {
			v += 90
		}
		return v
	})
	all(t, noisy(clip, 1, white(8)), 8, 0.1)
}

func TestFades(t *testing.T) {
	clip := draw(width, height, 12, func(c, t int, x, y float64) float64 {
		level := []float64{16, 128, 128}[c]
		return level + (land(c, x+float64(t), y)-level)*float64(12-t)/12
	})
	all(t, noisy(clip, 1, white(8)), 8, 0.1)
}

// TestBlack: on black, noise is clipped at 0, and the remaining noise is measured.
func TestBlack(t *testing.T) {
	black := draw(width, height, frames, func(c, _ int, _, _ float64) float64 {
		return []float64{16, 128, 128}[c]
	})
	clip := noisy(black, 1, white(25))
	sum, squares := 0.0, 0.0
	for _, v := range clip[0].Planes[0].Pix {
		sum, squares = sum+float64(v), squares+float64(v)*float64(v)
	}
	n := float64(width * height)
	for _, m := range models(clip) {
		near(t, "luma", m.Sigma[0], math.Sqrt(squares/n-sum*sum/n/n), 0.1)
		near(t, "chroma", m.Sigma[1], 25, 0.1)
	}
	for _, m := range models(draw(width, height, frames, letters)) {
		if !m.Clean() {
			t.Errorf("letters that scroll over black: sigma %.2f", m.Sigma[0])
		}
	}
}

// letters are white on the black of computers, and scroll.
func letters(c, t int, x, y float64) float64 {
	y += 1.5 * float64(t)
	if c > 0 {
		return 128
	}
	if int(y/24)%3 == 0 && int(x/7+math.Floor(y/5)*3)%4 < 2 {
		return 255
	}
	return 0
}

func TestDissolve(t *testing.T) {
	clip := draw(width, height, 12, func(c, t int, x, y float64) float64 {
		part := min(max(float64(t-3)/6, 0), 1)
		return mix(land(c, x+float64(t), y), land(c, x+9000, y+float64(2*t)), part)
	})
	all(t, noisy(clip, 1, white(8)), 8, 0.1)
}

func TestStill(t *testing.T) {
	picture := noisy(draw(width, height, 1, pan(0, 0)), 1, white(8))
	near(t, "one frame", models(picture)[0].Sigma[0], 8, 0.1)
	all(t, slices.Repeat(picture, 8), 8, 0.1)
}

func TestDuplicates(t *testing.T) {
	clip := noisy(draw(width, height, 12, pan(1.7, 0.6)), 1, white(8))
	for _, pattern := range [][]int{
		{1, 2},          // 2:3 pulldown, as frames
		{2},             // each frame twice
		{4},             // and four times
		{1, 1, 1, 1, 2}, // one too many in five
	} {
		var out []plane.Picture
		for i, pic := range clip {
			out = append(out, slices.Repeat([]plane.Picture{pic}, pattern[i%len(pattern)])...)
		}
		t.Run(fmt.Sprint(pattern), func(t *testing.T) { all(t, out, 8, 0.05) })
	}
}

// letterbox covers rows above and below with the black of video.
func letterbox(p painter, rows float64) painter {
	return func(c, t int, x, y float64) float64 {
		if y < rows || y >= height-rows {
			return []float64{16, 128, 128}[c]
		}
		return p(c, t, x, y)
	}
}

func TestLetterbox(t *testing.T) {
	for _, rows := range []float64{16, 32, 60} {
		clean := draw(width, height, frames, letterbox(pan(1.7, 0.6), rows))
		clip := noisy(clean, 1, white(8))
		for i, pic := range clip {
			// The picture has noise. The bars have a little of it, as a codec leaves it.
			for c, p := range pic.Planes {
				for k := range p.Pix {
					y := float64(k / p.Width << min(c, 1))
					if y < rows || y >= height-rows {
						p.Pix[k] = clean[i].Planes[c].Pix[k] + uint16((k*7919+i*31)%11/10)
					}
				}
			}
		}
		t.Run(fmt.Sprint(rows), func(t *testing.T) { all(t, clip, 8, 0.1) })
	}
}

func TestLogo(t *testing.T) {
	clip := noisy(draw(width, height, frames, pan(3.1, 0.6)), 1, white(8))
	for _, pic := range clip {
		p := pic.Planes[0]
		for y := 10; y < 58; y++ {
			for x := 300; x < 396; x++ {
				p.Row(y)[x] = uint16(60 + 150*(x/5%2^y/7%2))
			}
		}
	}
	all(t, clip, 8, 0.1)
}

func TestOtherSizeInMidstream(t *testing.T) {
	clip := slices.Concat(
		noisy(draw(width, height, 4, pan(1, 0)), 1, white(5)),
		noisy(draw(200, 160, 4, pan(1, 0)), 1, white(10)),
		noisy(deepened(draw(200, 160, 4, pan(1, 0)), 10), 1, white(5)),
	)
	for n, m := range models(clip) {
		near(t, fmt.Sprintf("sigma of frame %d", n), m.Sigma[0], []float64{5, 10, 5}[n/4], 0.1)
	}
}

// TestLaterStart holds the promise that a video may be measured in parts.
func TestLaterStart(t *testing.T) {
	clip := draw(128, 96, Before+12, pan(1.7, 0.6))
	for n, pic := range clip {
		s := white(3)
		if n < 12 {
			s = white(float64(n)) // not alike over time
		}
		clip[n] = newGrain(1, 4).add(noisy([]plane.Picture{pic}, uint64(n), s))[0]
	}
	for _, n := range []int{3, 6, 7, Before + 2} {
		clip[n] = clip[n-1]
	}
	for _, after := range []int{3, 0} {
		want := modelsOf(clip, after, pipeline.Quantiser{})
		for _, start := range []int{1, 2, 3, 5, 6, 7, 8} {
			for n, m := range modelsOf(clip[start:], after, pipeline.Quantiser{}) {
				if n >= Before && m != want[start+n] {
					t.Errorf("from frame %d, with %d after, frame %d differs", start, after, start+n)
				}
			}
		}
	}
}

func TestOnlyThePast(t *testing.T) {
	clip := noisy(draw(width, height, 10, pan(1.7, 0.6)), 1, white(8))
	for n, m := range modelsOf(clip, 0, pipeline.Quantiser{}) {
		near(t, fmt.Sprintf("sigma of frame %d", n), m.Sigma[0], 8, 0.05)
	}
}

func TestSurvey(t *testing.T) {
	clip := slices.Concat(
		draw(width, height, 4, pan(0, 0)),
		noisy(draw(width, height, 6, elsewhere(detailed(1.3, -1))), 1, white(10)),
		slices.Repeat(noisy(draw(width, height, 1, pan(0, 0)), 2, white(5)), 3),
	)
	var s Survey
	for _, pic := range clip {
		s.Put(pic.Views(), pipeline.Quantiser{})
	}
	sum := s.Summary()
	if sum.Frames != len(clip) || sum.Clean || len(sum.Scenes) != 3 {
		t.Fatalf("%+v", sum)
	}
	first := 0
	for i, want := range []struct {
		frames int
		sigma  float64
	}{{4, 0}, {6, 10}, {3, 5}} {
		got := sum.Scenes[i]
		if got.First != first || got.Frames != want.frames || got.Clean != (want.sigma == 0) {
			t.Errorf("scene %d: %+v", i, got)
		}
		if want.sigma > 0 {
			near(t, fmt.Sprintf("scene %d, luma", i), got.Luma, want.sigma, 0.1)
			near(t, fmt.Sprintf("scene %d, chroma", i), got.Chroma, want.sigma, 0.1)
		}
		first += got.Frames
	}
	if empty := new(Survey).Summary(); !empty.Clean || len(empty.Scenes) > 0 {
		t.Errorf("nothing: %+v", empty)
	}
}

func TestScale(t *testing.T) {
	m := Flat(5).Scale(2)
	if m != Flat(10) || m.Clean() || !Flat(0.79).Clean() || math.Abs(m.Sigma[2]-10) > 0 {
		t.Errorf("%v", m.Sigma)
	}
}

// TestScene: grain does not pump where motion and texture change within a scene, from its sixth
// frame on.
func TestScene(t *testing.T) {
	const scene = 44
	clip := coarse(draw(width/2, height/2, scene, func(c, t int, x, y float64) float64 {
		s, at := 1.0, 0.7*float64(min(t, 26))
		if t > 26 { // the camera turns to a meadow, and then comes nearer
			at += 9.3 * float64(min(t, 36)-26)
			s = math.Pow(0.985, float64(max(t-36, 0)))
		}
		v := land(c, at+x*s, y*s)
		if c == 0 {
			v += 22 * ramp(at, 40, 100) * texture(at+x*s, y*s+700, 6, 3)
		}
		return v
	}), [2]float64{1.2, 1.2}, [2]float64{4, 2})
	for _, after := range []int{0, 3} {
		steady(t, modelsOf(clip, after, pipeline.Quantiser{})[5:], 0.05)
	}
}

// TestSurveyOfCoarse: a survey and a frame's own measurement agree about smaller sizes.
func TestSurveyOfCoarse(t *testing.T) {
	clip := coarse(draw(width, height, 7, pan(1.7, 0.6)), [2]float64{2, 2}, [2]float64{8, 8})
	var s Survey
	for _, pic := range clip {
		s.Put(pic.Views(), pipeline.Quantiser{})
	}
	m := s.Model()
	own := models(clip)[3].Led()
	if m.Half == nil || own.Half == nil {
		t.Fatalf("smaller sizes: %v, %v", m.Half, own.Half)
	}
	for c := range m.Sigma {
		near(t, fmt.Sprintf("sigma of plane %d at half the size", c), m.Half.Sigma[c], own.Half.Sigma[c], 0.1)
		near(t, fmt.Sprintf("share of plane %d", c), m.Half.Share[c]+1, own.Half.Share[c]+1, 0.1)
	}
	if sum := s.Summary(); sum.Scenes[0].Half == nil || math.Abs(sum.Scenes[0].Half.Luma-m.Half.Sigma[0]) > 0.01 {
		t.Errorf("the summary has %v", sum.Scenes[0].Half)
	}
}
