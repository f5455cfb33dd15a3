package denoise

import (
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Takes reports whether a filter takes frames of a layout.
func Takes(l pipeline.Layout) bool { return l.Valid() }

// Observe adds a frame to a survey of noise. Of an interlaced frame the first field counts. The
// frame stays until the next one has been observed.
func Observe(s *noise.Survey, f *pipeline.Frame) {
	yuv := f
	if f.Layout.Info().RGB {
		yuv = planesOfRGB(f)
	}
	s.Scale = noiseOfSamples(f.Layout)
	s.Put(plane.ViewsOf(yuv, plane.Fields(f)[0]), f.Quantiser)
}
