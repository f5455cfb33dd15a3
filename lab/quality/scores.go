package quality

import (
	"math"

	"vidfilter/pipeline"
	metrics "vidfilter/pipeline/quality"
)

// Scores are the measures of one clip, or means over several.
type Scores struct {
	PSNR    float64 `json:"psnr"`   // of luma, in dB; 100 for equal pictures
	SSIM    float64 `json:"ssim"`   // of luma
	Chroma  float64 `json:"chroma"` // PSNR of both planes, in dB, or 0
	Flicker float64 `json:"flicker"`
	Moving  float64 `json:"moving"` // PSNR of luma where the clean picture changes; 0: nowhere
	KBytes  float64 `json:"kbytes"` // of the whole clip after x264 at crf 18; 0: not measured
	MS      float64 `json:"ms"`     // the processor's time for a frame; 0: not measured
}

const (
	bestPSNR = 100
	change   = 12  // levels from one frame to the next, in the moving region
	least    = 200 // samples that make a moving region
)

func decibels(mse float64) float64 { return min(metrics.PSNR(mse), bestPSNR) }

// score compares the frames from first to last.
func score(clean, got []*pipeline.Frame, first, last int) (s Scores, err error) {
	n := float64(last - first + 1)
	var flicker, moving total
	for t := first; t <= last; t++ {
		c, err := metrics.Compare(clean[t], got[t])
		if err != nil {
			return s, err
		}
		s.PSNR += decibels(c.Planes[0].MSE) / n
		s.SSIM += c.Planes[0].SSIM / n
		if !clean[t].Layout.Info().Gray() {
			s.Chroma += decibels((c.Planes[1].MSE+c.Planes[2].MSE)/2) / n
		}
		if t > first {
			flicker.add(difference(clean[t], got[t], clean[t-1], got[t-1]))
		}
		if t > 0 {
			moving.add(region(clean[t], got[t], clean[t-1]))
		}
	}
	if flicker.samples > 0 {
		s.Flicker = math.Sqrt(flicker.mean())
	}
	if moving.samples >= least {
		s.Moving = decibels(moving.mean())
	}
	return s, nil
}

// total is a sum of squares over samples.
type total struct{ squares, samples float64 }

func (t *total) add(o total) { t.squares, t.samples = t.squares+o.squares, t.samples+o.samples }

func (t *total) mean() float64 { return t.squares / t.samples }

// lumas returns the luma planes of frames in 8-bit levels.
func lumas(frames ...*pipeline.Frame) (all []levels) {
	for _, f := range frames {
		all = append(all, lumaOf(f))
	}
	return all
}

// difference sums up how the error changes from one frame to the next.
func difference(clean, got, cleanBefore, gotBefore *pipeline.Frame) (t total) {
	p := lumas(clean, got, cleanBefore, gotBefore)
	for i, c := range p[0].v {
		d := float64(p[1].v[i]) - float64(c) - float64(p[3].v[i]) + float64(p[2].v[i])
		t.squares += d * d
	}
	t.samples = float64(len(p[0].v))
	return t
}

// region sums up the error where the clean picture differs from the one before.
func region(clean, got, before *pipeline.Frame) (t total) {
	p := lumas(clean, got, before)
	for i, c := range p[0].v {
		if d := c - p[2].v[i]; d > change || d < -change {
			e := float64(p[1].v[i]) - float64(c)
			t.squares += e * e
			t.samples++
		}
	}
	return t
}

// mean averages scores. The moving region counts where there is one.
func mean(all []Scores) (m Scores) {
	moving := 0
	for _, s := range all {
		m.PSNR += s.PSNR
		m.SSIM += s.SSIM
		m.Chroma += s.Chroma
		m.Flicker += s.Flicker
		m.KBytes += s.KBytes
		m.MS += s.MS
		if s.Moving > 0 {
			m.Moving += s.Moving
			moving++
		}
	}
	n := float64(max(len(all), 1))
	m.PSNR, m.SSIM, m.Chroma, m.Flicker, m.KBytes, m.MS = m.PSNR/n, m.SSIM/n, m.Chroma/n, m.Flicker/n, m.KBytes/n, m.MS/n
	m.Moving /= float64(max(moving, 1))
	return m
}
