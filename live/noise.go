package live

import (
	"context"
	"fmt"
	"math"
	"time"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/kernels"
)

// Noise is the denoiser's noise in the latest picture, in 8-bit levels.
type Noise struct {
	Luma   float64 `json:"luma"`
	Chroma float64 `json:"chroma"` // of U and V together
	Sure   float64 `json:"sure"`   // see noise.Model
	Boxed  bool    `json:"boxed"`  // it was measured in a box, for all pictures

	// Spectrum is luma's deviation by frequency, from the lowest to the highest: at n the
	// frequencies u+v = n+1 of 8x8.
	Spectrum [14]float64 `json:"spectrum"`
}

// Noise returns the latest noise, or nil if the filter needs no noise.
func (s *Session) Noise() *Noise {
	m := s.noise.Load()
	if m == nil {
		return nil
	}
	s.mu.Lock()
	by := kernels.Of[kernels.Denoise](s.set.filter.Selection)
	s.mu.Unlock()
	boxed := by.Known != nil && by.Noise == 0
	n := &Noise{Luma: m.Sigma[0], Chroma: math.Hypot(m.Sigma[1], m.Sigma[2]) / math.Sqrt2, Sure: m.Sure, Boxed: boxed}
	var count [len(n.Spectrum)]float64
	for k, v := range m.Spectrum[0] {
		if at := k/8 + k%8 - 1; at >= 0 {
			n.Spectrum[at] += float64(v)
			count[at]++
		}
	}
	for i, sum := range n.Spectrum {
		n.Spectrum[i] = math.Sqrt(sum / count[i])
	}
	return n
}

// watchNoise keeps the noise that a filter finds.
func (s *Session) watchNoise(filter any) {
	m, ok := filter.(meter)
	if !ok {
		s.noise.Store(nil)
		return
	}
	m.OnNoise(func(m noise.Model, _ bool) { s.noise.Store(&m) })
}

const (
	measuredFor    = time.Second
	mostPictures   = 60
	fewestPictures = 2
)

// MeasureNoise measures the noise in a box for a second, and has all pictures to come filtered by
// it. The box is given in parts of the picture as it is stored. Warnings describe other content in
// it.
func (s *Session) MeasureNoise(ctx context.Context, x, y, width, height float64) (warnings []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, measuredFor)
	defer cancel()
	w := s.Watch(fewestPictures)
	defer w.Close()
	var spot *noise.Spot
	var first *Pair
	defer func() {
		if first != nil {
			first.Release()
		}
	}()
	for range mostPictures {
		p, err := w.Next(ctx)
		if err != nil {
			break // the second is over
		}
		if first == nil {
			first = p.Retain()
			box := noise.Box{
				X: place(x, p.input.Width), Y: place(y, p.input.Height),
				Width: place(width, p.input.Width+1), Height: place(height, p.input.Height+1),
			}
			box.Width, box.Height = min(box.Width, p.input.Width-box.X), min(box.Height, p.input.Height-box.Y)
			if min(box.Width, box.Height) < noise.LeastSide {
				p.Release()
				return nil, fmt.Errorf("the box is too small to measure noise in: draw one of at least %dx%d pixels", noise.LeastSide, noise.LeastSide)
			}
			if p.input.Interlaced {
				box.Y, box.Height = box.Y/2, box.Height/2
			}
			spot = noise.NewSpot(box)
		}
		same := p.input.Format == first.input.Format && p.input.Interlaced == first.input.Interlaced
		if same && (p == first || !p.Repeated) {
			denoise.Observe(spot, p.input)
		}
		p.Release()
	}
	if spot == nil {
		return nil, fmt.Errorf("there is no picture to measure noise in")
	}
	m, warnings, err := spot.Model()
	if err != nil {
		return nil, err
	}
	return warnings, s.Set(func(f *FilterSettings) error {
		f.Choose(kernels.Denoise{}.Filter())
		f.Off = false
		kernels.Edit(&f.Selection, func(d *kernels.Denoise) { d.Noise, d.Known = 0, &m })
		return nil
	})
}

// MeasureEach has the noise of each picture measured again.
func (s *Session) MeasureEach() error {
	return s.Set(func(f *FilterSettings) error {
		kernels.Edit(&f.Selection, func(d *kernels.Denoise) { d.Noise, d.Known = 0, nil })
		return nil
	})
}
