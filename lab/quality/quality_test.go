package quality

import (
	"math"
	"strings"
	"testing"

	"vidfilter/denoise"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
	metrics "vidfilter/pipeline/quality"
	"vidfilter/samples/scene"
)

// The size of the clips in tests.
const testWidth, testHeight = 160, 96

// TestRun measures one clip with one kind of noise, and shows the report.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	r, err := Run(t.Context(), Options{
		Noise: []string{"x23"}, Clips: "proof/pan", FFmpeg: "no such program", Crops: folder,
		Width: testWidth, Height: testHeight,
	})
	e2e.Must(t, err)
	if r.NoFFmpeg == "" {
		t.Error("no reason for the lack of rivals")
	}
	before, _ := r.mean("x23", Untouched)
	for _, m := range []string{Fast, Good, Best, Causal, Spatial, "bilateral"} {
		s, ok := r.mean("x23", m)
		if !ok || s.PSNR < before.PSNR || s.SSIM < 0.5 || s.KBytes == 0 || s.Flicker == 0 {
			t.Errorf("%s: %+v, untouched %+v", m, s, before)
		}
	}
	var b strings.Builder
	e2e.Must(t, r.Document().WriteText(&b))
	if !strings.Contains(b.String(), "ours, good") {
		t.Errorf("the report lacks a row:\n%s", b.String())
	}
	t.Log(b.String())
}

// TestEvents: on no event may the neighbours in time cost more than a tenth of a decibel: in the
// whole, in the moving region, or in one frame.
func TestEvents(t *testing.T) {
	for _, k := range Kinds() {
		if k.Name != "w10" && k.Name != "w25" {
			continue
		}
		events, err := Events(t.Context(), k, testWidth, testHeight)
		e2e.Must(t, err)
		for _, e := range events {
			name := e.Noise + " " + e.Clip + " " + e.Method
			t.Logf("%-40s whole %+.2f, moving %+.2f, frames %+.2f, sigma %.1f", name, e.Gain(), e.Moving(), e.Frames, e.Sigma)
			if e.Failed() {
				t.Errorf("%s: whole %+.2f dB, moving %+.2f dB, frames %+.2f dB", name, e.Gain(), e.Moving(), e.Frames)
			}
		}
	}
}

// TestOtherSize: a clip whose size changes in mid-stream gains as before in each part.
func TestOtherSize(t *testing.T) {
	var k NoiseKind
	for _, k = range Kinds() {
		if k.Name == "w10" {
			break
		}
	}
	var clean, noisy []*pipeline.Frame
	for _, c := range chosen("events/letterbox") {
		for _, size := range [][2]int{{testWidth, testHeight}, {128, 112}} {
			part := drawnClip(c, size[0], size[1])
			clean = append(clean, part.frames...)
			noisy = append(noisy, k.noisy(part.frames, part.source, part.bar)...)
		}
	}
	s := settings(denoise.Good, false)
	full, err := denoised(t.Context(), noisy, s)
	e2e.Must(t, err)
	single, err := alone(t.Context(), noisy, s, full.models)
	e2e.Must(t, err)
	for n := range clean {
		a, err := score(clean[n:n+1], full.frames[n:n+1], 0, 0)
		e2e.Must(t, err)
		b, err := score(clean[n:n+1], single.frames[n:n+1], 0, 0)
		e2e.Must(t, err)
		if a.PSNR-b.PSNR < Loss || full.models[n].Clean() {
			t.Errorf("frame %d: %+.2f dB, sigma %.1f", n, a.PSNR-b.PSNR, full.models[n].Sigma[0])
		}
	}
}

// TestKinds: noise has the level of its kind, in luma and in chroma.
func TestKinds(t *testing.T) {
	want := map[string][2]float64{"w5": {5, 5}, "gr10": {10, 10}, "b2": {8, 8}, "b4": {8, 8}, "vhs": {6, 6}, "hum": {5.8, 5}, "jit": {5, 5}, "dot": {7.8, 5}}
	for _, k := range Kinds() {
		levels, ok := want[k.Name]
		if !ok {
			continue
		}
		flat := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: 160, Height: 160})
		each(flat, 0, func(plane, _, _ int, _ float64) float64 { return []float64{100, 156, 156}[plane] })
		noisy := k.noisy([]*pipeline.Frame{flat}, func(int) int { return 1 }, 0)[0]
		c, err := metrics.Compare(flat, noisy)
		e2e.Must(t, err)
		for i, sigma := range []float64{math.Sqrt(c.Planes[0].MSE), math.Sqrt((c.Planes[1].MSE + c.Planes[2].MSE) / 2)} {
			if math.Abs(sigma/levels[i]-1) > 0.15 {
				t.Errorf("%s: plane %d: sigma %.2f, want %.1f", k.Name, i, sigma, levels[i])
			}
		}
	}
}

// TestScores: an error that stays is no flicker, and one of alternating sign is all flicker.
func TestScores(t *testing.T) {
	var clean, still, blinking []*pipeline.Frame
	for i := range 4 {
		c := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: 32, Height: 32})
		each(c, 0, func(_, _, _ int, _ float64) float64 { return 100 })
		up := func(by float64) *pipeline.Frame {
			f := copyOf(c)
			each(f, 0, func(_, _, _ int, v float64) float64 { return v + by })
			return f
		}
		clean, still = append(clean, c), append(still, up(5))
		blinking = append(blinking, up(5-10*float64(i%2)))
	}
	a, err := score(clean, still, 1, 3)
	e2e.Must(t, err)
	b, err := score(clean, blinking, 1, 3)
	e2e.Must(t, err)
	if a.PSNR != b.PSNR || a.Flicker != 0 || b.Flicker != 10 || a.Moving != 0 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// TestClimb finds the top of a hill from either side.
func TestClimb(t *testing.T) {
	for start := range 9 {
		best, err := hillClimb(start, 9, func(i int) (float64, error) { return -float64((i - 5) * (i - 5)), nil })
		if best != 5 || err != nil {
			t.Errorf("from %d: %d, %v", start, best, err)
		}
	}
}

// TestClips: names are unique, and every clip with motion moves.
func TestClips(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range scene.Clips() {
		if seen[c.FullName()] {
			t.Errorf("%s: twice", c.FullName())
		}
		seen[c.FullName()] = true
	}
	if n := len(Names("")); n != 12 {
		t.Errorf("%d clips for the proof", n)
	}
}
