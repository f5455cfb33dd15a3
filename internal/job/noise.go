package job

import (
	"fmt"
	"math"
	"sync"

	"vidfilter/denoise/noise"
	"vidfilter/internal/contract"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// noiseSeen sums up the noise of a job's frames.
type noiseSeen struct {
	mu            sync.Mutex // guards the other fields: several filters may add
	frames, clean int
	luma, chroma  float64 // sums
	least, most   float64 // of luma
}

// watch adds the noise of every frame that a filter denoises.
func (s *noiseSeen) watch(f pipeline.Filter) {
	if d, ok := f.(*kernels.Denoiser); ok {
		d.OnNoise(s.add)
	}
}

func (s *noiseSeen) add(m noise.Model, clean bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frames == 0 || m.Sigma[0] < s.least {
		s.least = m.Sigma[0]
	}
	s.most = max(s.most, m.Sigma[0])
	s.luma += m.Sigma[0]
	s.chroma += math.Hypot(m.Sigma[1], m.Sigma[2]) / math.Sqrt2
	if clean {
		s.clean++
	}
	s.frames++
}

// summary returns nil if no frame was seen.
func (s *noiseSeen) summary() *contract.Noise {
	if s.frames == 0 {
		return nil
	}
	hundredths := func(x float64) float64 { return math.Round(100*x) / 100 }
	n := float64(s.frames)
	return &contract.Noise{
		Luma: hundredths(s.luma / n), Chroma: hundredths(s.chroma / n),
		Least: hundredths(s.least), Most: hundredths(s.most), Clean: s.clean,
	}
}

// tellNoise reports the noise with --verbose, and that there was none in any case.
func (j *job) tellNoise() {
	if n := j.noise.summary(); n != nil {
		if n.Clean == j.noise.frames {
			j.ui.Info("found no noise worth removing: the pictures are encoded without a change (--noise N sets it)")
		}
		j.ui.Debugf("noise: luma %.1f (%.1f to %.1f), chroma %.1f; %d of %d frames are clean",
			n.Luma, n.Least, n.Most, n.Chroma, n.Clean, j.noise.frames)
	}
}

// tellSlow says what to expect of the denoiser on a CPU that is slower than the video plays.
func (j *job) tellSlow() {
	cpu, ok := j.backend.(*kernels.CPU)
	if !ok || j.o.Params.Filter != kernels.Denoise {
		return
	}
	v := j.in.Video().CodecParameters()
	asked, fast := cpu.Expect(j.o.Params, v.Width(), v.Height())
	if asked >= min(j.in.FrameRate().Float64(), 24) {
		return
	}
	text := fmt.Sprintf("denoising %dx%d on the CPU: expect about %s frames a second", v.Width(), v.Height(), few(asked))
	if fast > asked {
		text += fmt.Sprintf("; --quality fast does %s", few(fast))
	}
	j.ui.Info(text)
}

func few(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
