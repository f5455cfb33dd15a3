package quality

import (
	"context"
	"math"
	"strings"
	"testing"

	"vidfilter/denoise"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// drawnFootage is a drawn clip with noise of a kind, with the clean frames of its targets.
func drawnFootage(t *testing.T, clip, kind string, width, height int) (*footage, []*pipeline.Frame) {
	t.Helper()
	var c scene.Clip
	for _, c = range scene.Clips() {
		if c.FullName() == clip {
			break
		}
	}
	d := drawnClip(c, width, height)
	var k NoiseKind
	for _, k = range Kinds() {
		if k.Name == kind {
			break
		}
	}
	s, err := newStretch(t.Context(), k.noisy(d.frames, d.source, d.bar))
	e2e.Must(t, err)
	clean, err := newStretch(t.Context(), d.frames)
	e2e.Must(t, err)
	f := &footage{
		Footage:   &Footage{Clip: clip, Format: d.frames[0].Format.String(), Targets: len(s.targets)},
		stretches: []stretch{s}, looks: map[string]*pipeline.Frame{},
	}
	f.untouched()
	var truth []*pipeline.Frame
	for _, m := range s.targets {
		truth = append(truth, clean.frames[m.at])
	}
	return f, truth
}

// smoother is the mean of 5 by 5 samples, which loses texture.
func smoother() method {
	return method{name: "smoother", strengths: []string{"5"}, start: func(float64) int { return 0 }, run: func(_ context.Context, in []*pipeline.Frame, _ string) (r result, err error) {
		for _, f := range in {
			out := copyOf(f)
			each(out, 0, func(i, x, y int, _ float64) float64 {
				w, h := f.PlaneSize(i)
				sum := 0.0
				for dy := -2; dy <= 2; dy++ {
					for dx := -2; dx <= 2; dx++ {
						sum += float64(f.Row(i, min(max(y+dy, 0), h-1))[min(max(x+dx, 0), w-1)])
					}
				}
				return sum / 25
			})
			r.frames = append(r.frames, out)
		}
		return r, nil
	}}
}

// TestHeldOut: the errors by frames held out are the true ones, within a fifth or the effect of
// chance in the few samples of chroma, and so is the texture that is kept: a filter that smooths
// too much is detected.
func TestHeldOut(t *testing.T) {
	f, truth := drawnFootage(t, "tuning/still", "w5", 256, 144)
	if f.Problem != "" || f.Still < 0.5 {
		t.Errorf("still %.2f, %s", f.Still, f.Problem)
	}
	s := f.stretches[0]
	looks := []*pipeline.Frame{}
	for _, m := range s.targets {
		looks = append(looks, s.frames[m.at])
	}
	check := func(name string, h Held) {
		var luma, chroma, kept, texture float64
		for i, clean := range truth {
			s, err := score(truth, looks, i, i)
			e2e.Must(t, err)
			n := float64(len(truth))
			luma, chroma = luma+255*255*math.Pow(10, -s.PSNR/10)/n, chroma+255*255*math.Pow(10, -s.Chroma/10)/n
			a, b := lumaOf(clean), lumaOf(looks[i])
			a, b = a.detail(), b.detail()
			for k, v := range a.v {
				kept, texture = kept+float64(v*b.v[k]), texture+float64(v*v)
			}
		}
		kept /= texture
		t.Logf("%s: luma %.2f, true %.2f, chroma %.2f, true %.2f, texture %.3f, true %.3f", name, h.Error[0], luma, h.Error[1], chroma, h.Kept, kept)
		if math.Abs(h.Error[0]/luma-1) > 0.2 || math.Abs(h.Error[1]-chroma) > max(0.2*chroma, 3*f.Spread[1]) {
			t.Errorf("%s: errors %.2f, true %.2f and %.2f", name, h.Error, luma, chroma)
		}
		if math.Abs(h.Kept-kept) > 0.05 {
			t.Errorf("%s: texture %.3f, true %.3f", name, h.Kept, kept)
		}
	}
	check(Untouched, f.result(Untouched))
	looks = nil
	f.seen = func(result *pipeline.Frame) { looks = append(looks, result) }
	ours, err := f.own(t.Context(), Fast, denoise.Fast)
	e2e.Must(t, err)
	check(Fast, ours.Held)
	looks = nil
	smooth, err := f.rival(t.Context(), smoother())
	e2e.Must(t, err)
	check("smoother", smooth.Held)
	if smooth.Kept > ours.Kept/2 {
		t.Errorf("texture kept: ours %.2f, smoother %.2f", ours.Kept, smooth.Kept)
	}
}

// TestNoFigure: clean clips and textures that move have no figure, and the former stay as they are.
func TestNoFigure(t *testing.T) {
	for _, c := range []struct{ clip, kind, problem string }{
		{"tuning/still", "clean", "repeats"},
		{"proof/grass", "clean", "still"},
	} {
		f, _ := drawnFootage(t, c.clip, c.kind, testWidth, testHeight)
		if !strings.Contains(f.Problem, c.problem) {
			t.Errorf("%s: %q, untouched %v", c.clip, f.Problem, f.result(Untouched))
		}
		o, err := f.own(t.Context(), Fast, denoise.Fast)
		if err != nil || o.Removed != 0 {
			t.Errorf("%s: %.3f removed, %v", c.clip, o.Removed, err)
		}
	}
}
