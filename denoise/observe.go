package denoise

import (
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Takes reports whether a filter takes frames of a layout.
func Takes(l pipeline.Layout) bool { return l.Valid() }

// Observer measures noise: a Survey or a Spot of package noise.
type Observer interface {
	Put(pic plane.Views, q pipeline.Quantiser)
}

// Observe adds a frame to a measurement of noise. Of an interlaced frame the first field counts.
// The frame stays until the next one has been observed.
func Observe(s Observer, f *pipeline.Frame) {
	yuv := f
	if f.Layout.Info().RGB {
		yuv = planesOfRGB(f)
	}
	switch scale := noiseOfSamples(f.Layout); s := s.(type) {
	case *noise.Survey:
		s.Scale = scale
	case *noise.Spot:
		s.Scale = scale
	}
	s.Put(plane.ViewsOf(yuv, plane.Fields(f)[0]), f.Quantiser)
}
