package job

import (
	"fmt"
	"math"
	"sync"

	"vidfilter/denoise/noise"
	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/machine"
	"vidfilter/pipeline"
)

// noiseSeen sums up the noise of a job's frames.
type noiseSeen struct {
	mu            sync.Mutex // guards the other fields: several filters may add
	frames, clean int
	luma, chroma  float64 // sums
	sure          float64 // a sum
	coarse        int     // frames with coarse noise
	least, most   float64 // of luma

	latest noise.Model
	steady bool // a frame was filtered at another brightness
}

// watch adds the noise of every frame that a filter denoises.
func (s *noiseSeen) watch(f pipeline.Filter) {
	if d, ok := f.(interface{ OnNoise(func(noise.Model, bool)) }); ok {
		d.OnNoise(s.add)
	}
	if d, ok := f.(interface{ OnSteady(func()) }); ok {
		d.OnSteady(s.addSteady)
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
	s.sure += m.Sure
	if m.Coarse() {
		s.coarse++
	}
	if clean {
		s.clean++
	}
	s.frames++
	s.latest = m
}

func (s *noiseSeen) addSteady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steady = true
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

const otherNoise = "--noise-from TIME,X,Y,W,H (a flat part that stands still)"

// reportNoise reports the noise, how certain it is, and the options to use if it looks wrong.
func (j *job) reportNoise() {
	n := j.noise.summary()
	if n == nil {
		return
	}
	j.ui.Debugf("noise: luma %.1f (%.1f to %.1f), chroma %.1f; %d of %d frames are clean",
		n.Luma, n.Least, n.Most, n.Chroma, n.Clean, j.noise.frames)
	p, _ := j.o.denoiser()
	switch {
	case j.o.Part != nil:
	case n.Clean == j.noise.frames:
		j.ui.Info("found the video clean: its pictures are encoded without a change; if you see noise: --noise 4, or " + otherNoise)
	case p.Noise == 0 && p.Known == nil:
		j.ui.Info(j.noise.describe(n) + "; if it looks wrong: --strength 0.5, --noise N, or " + otherNoise)
	case j.o.NoiseFrom != nil:
		j.ui.Info(fmt.Sprintf("%s, as measured from %v on", j.noise.describe(n), j.o.NoiseFrom))
	case j.o.Profile != nil && n.Chroma == 0 && !j.gray():
		j.ui.Info("the noise profile is of luma alone: the colours stay as they are")
	}
}

// describe is the noise in words.
func (s *noiseSeen) describe(n *contract.Noise) string {
	grain := ""
	if 2*s.coarse > s.frames {
		grain = ", coarse"
	}
	how := "a guess"
	switch sure := s.sure / float64(s.frames); {
	case sure >= 0.8:
		how = "sure"
	case sure >= 0.4:
		how = "fairly sure"
	}
	text := fmt.Sprintf("noise: %.1f in luma, %.1f in chroma%s (%s)", n.Luma, n.Chroma, grain, how)
	if n.Clean > 0 {
		text += fmt.Sprintf("; %d of %d frames are clean and left as they are", n.Clean, s.frames)
	}
	return text
}

// gray reports whether the input has no colours.
func (j *job) gray() bool {
	l, _, native := av.LayoutOf(j.in.Video().CodecParameters().PixelFormat())
	return native && l.Info().Gray()
}

// reportSlow reports the expected speed, if the denoiser on the CPU is slower than the video plays.
func (j *job) reportSlow() {
	b, ok := j.backend.(forecaster)
	p, denoises := j.o.denoiser()
	if !ok || !denoises {
		return
	}
	v := j.in.Video().CodecParameters()
	asked, fast := b.Expect(p, machine.Cores(), v.Width(), v.Height())
	if j.tried.filter > 0 {
		good := j.goodRate()
		asked, fast = j.tried.rate(asked/good), j.tried.rate(fast/good)
	}
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
