package noise

import (
	"cmp"
	"math"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Summary is the noise of a clip, scene by scene, for people and as JSON.
type Summary struct {
	Frames int     `json:"frames"`
	Clean  bool    `json:"clean"` // in all scenes
	Scenes []Scene `json:"scenes"`
}

// Scene is the noise between two cuts. Sigma is in 8-bit levels.
type Scene struct {
	First  int       `json:"first_frame"`
	Frames int       `json:"frames"`
	Clean  bool      `json:"clean"` // too little noise to remove
	Luma   float64   `json:"sigma_luma"`
	Chroma float64   `json:"sigma_chroma"` // of U and V together
	Bright []AtLevel `json:"sigma_by_brightness"`

	// Correlation is the ratio of the variances at low and high frequencies: 1 for white noise.
	Correlation float64 `json:"correlation"`
	// Grain is the diameter, in pixels, of the round grains that would make such a spectrum: below
	// 1 for white noise.
	Grain float64 `json:"grain_pixels"`

	// Half is the noise that is taken out at half the size, or nil.
	Half *AtHalf `json:"half_size,omitempty"`
}

// AtHalf is the noise of the picture of half the size, in which each sample is the mean of 2x2.
type AtHalf struct {
	Luma   float64 `json:"sigma_luma"`
	Chroma float64 `json:"sigma_chroma"`
}

// AtLevel is the luma noise at a brightness.
type AtLevel struct {
	Brightness int     `json:"brightness"` // in 8-bit levels
	Sigma      float64 `json:"sigma"`
}

// Survey makes a summary of a clip from frames that come one after another.
type Survey struct {
	// Scale is the noise of samples relative to the observed planes'; 0 means 1.
	Scale float64

	last         *Reading
	scene, whole span
	out          Summary
}

// span adds up the frames of a scene or of a clip.
type span struct {
	total
	small  coarseTotals
	frames []pipeline.Quantiser
}

func (s *span) put(r *Reading, q pipeline.Quantiser) {
	s.add(r.pair)
	s.small.add(r.small)
	if r.triple != nil {
		s.addTriple(r.triple)
	}
	s.frames = append(s.frames, q)
}

// model returns the noise in all of it. Smaller sizes count if the whole shows that they are noisy.
func (s *span) model() Model {
	small := s.small
	if !s.best().coarse() {
		small = coarseTotals{}
	}
	return s.withHalf(small, rms(s.frames))
}

// Put adds the next frame, with its quantiser. Its picture must not change until the next
// call.
func (s *Survey) Put(pic plane.Views, q pipeline.Quantiser) {
	s.last = Read(s.last, pic)
	s.last.Wait()
	if s.last.pair.cut {
		s.endScene()
	}
	s.scene.put(s.last, q)
	s.whole.put(s.last, q)
	s.out.Frames++
}

// Summary ends the clip. Frames without size for a measurement count as clean.
func (s *Survey) Summary() Summary {
	s.endScene()
	s.out.Clean = true
	for _, scene := range s.out.Scenes {
		s.out.Clean = s.out.Clean && scene.Clean
	}
	return s.out
}

// Model returns the noise of samples in all frames so far, clean without frames.
func (s *Survey) Model() Model {
	if s.whole.best() == nil {
		return Flat(0)
	}
	return s.whole.model().Led().Scale(cmp.Or(s.Scale, 1))
}

// endScene describes the frames since the last cut.
func (s *Survey) endScene() {
	n := len(s.scene.frames)
	if n == 0 {
		return
	}
	m := s.scene.model()
	scene := m.scene()
	scene.times(cmp.Or(s.Scale, 1))
	scene.First, scene.Frames = s.out.Frames-n, n
	s.out.Scenes = append(s.out.Scenes, scene)
	s.scene = span{}
}

// scene describes a model in a few numbers.
func (m *Model) scene() Scene {
	s := Scene{
		Clean:       m.Clean(),
		Luma:        hundredths(m.Sigma[0]),
		Chroma:      hundredths(m.chroma()),
		Correlation: hundredths(m.correlation()),
		Grain:       hundredths(m.grain()),
	}
	for b := 16; b < 256; b += 48 {
		sigma := m.Sigma[0] * math.Sqrt(float64(m.Curve[b]))
		s.Bright = append(s.Bright, AtLevel{b, hundredths(sigma)})
	}
	if m.Half != nil {
		s.Half = &AtHalf{hundredths(m.Half.Sigma[0]), hundredths(m.Half.chroma())}
	}
	return s
}

// chroma returns the sigma of U and V together.
func (m *Model) chroma() float64 { return math.Hypot(m.Sigma[1], m.Sigma[2]) / math.Sqrt2 }

// times multiplies the noise.
func (s *Scene) times(scale float64) {
	s.Luma, s.Chroma = hundredths(s.Luma*scale), hundredths(s.Chroma*scale)
	if h := s.Half; h != nil {
		h.Luma, h.Chroma = hundredths(h.Luma*scale), hundredths(h.Chroma*scale)
	}
	for i, b := range s.Bright {
		s.Bright[i].Sigma = hundredths(b.Sigma * scale)
	}
}

func hundredths(v float64) float64 { return math.Round(100*v) / 100 }

// correlation returns the ratio of the luma variances in the lower and the higher half of the
// frequencies.
func (m *Model) correlation() float64 {
	s := m.lumaShape()
	return s.band(1, 6) / s.band(8, 14)
}

// grain returns the diameter at half height of a Gaussian blur that makes white noise fall off as
// the spectrum does in the mean.
func (m *Model) grain() float64 {
	// The logarithm of the variance falls by (blur*frequency)².
	s := m.lumaShape()
	var n, sx, sy, sxx, sxy float64
	for k, v := range s {
		if k == 0 || v < 1.5*leastShare*s.band(1, 14) {
			continue // the model's replacement for lower values
		}
		x, y := frequency(k%8)+frequency(k/8), math.Log(v)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	slope := (n*sxy - sx*sy) / max(n*sxx-sx*sx, 1e-9)
	return 2 * math.Sqrt(2*math.Ln2) * math.Sqrt(max(-slope, 0))
}

// frequency returns the square of a coefficient's frequency in radians a pixel.
func frequency(u int) float64 {
	f := math.Pi * float64(u) / 8
	return f * f
}

func (m *Model) lumaShape() (s shape) {
	for k, v := range m.Spectrum[0] {
		s[k] = float64(v)
	}
	if s.band(8, 14) == 0 {
		return flat()
	}
	return s
}
