package video

import (
	"testing"

	"vidfilter/encode/spec"
	"vidfilter/pipeline"
)

// Encoders on a device get the mean rate of a video that has fewer frames than its usual rate says.
func TestFrameRate(t *testing.T) {
	rate := func(num, den int) pipeline.Ratio { return pipeline.Ratio{Num: num, Den: den} }
	for _, c := range []struct {
		encoder           string
		usual, mean, want pipeline.Ratio
	}{
		{"hevc_nvenc", rate(30, 1), rate(35, 2), rate(35, 2)},
		{"hevc_nvenc", rate(30, 1), rate(2997, 100), rate(30, 1)},
		{"hevc_nvenc", rate(25, 1), rate(50, 1), rate(25, 1)},
		{"hevc_nvenc", rate(25, 1), rate(0, 0), rate(25, 1)},
		{"hevc_nvenc", rate(0, 1), rate(12, 1), rate(12, 1)},
		{"hevc_nvenc", rate(0, 1), rate(0, 0), rate(25, 1)},
		{"libx265", rate(30, 1), rate(35, 2), rate(30, 1)},
		{"libx265", rate(0, 1), rate(35, 2), rate(0, 1)},
	} {
		e := newEncoder(spec.Options{Encoder: c.encoder})
		e.Shown = &pipeline.Video{Rate: c.usual, MeanRate: c.mean}
		if got := e.frameRate(); got != c.want {
			t.Errorf("%s of %v, %v on average: %v, want %v", c.encoder, c.usual, c.mean, got, c.want)
		}
	}
}
