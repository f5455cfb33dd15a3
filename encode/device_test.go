package encode

import (
	"testing"

	"github.com/asticode/go-astiav"
)

// Encoders on a device get the mean rate of a video that has fewer frames than its usual rate says.
func TestFrameRate(t *testing.T) {
	rate := astiav.NewRational
	for _, c := range []struct {
		encoder           string
		usual, mean, want astiav.Rational
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
		fc := astiav.AllocFormatContext()
		video := fc.NewStream(nil)
		video.SetAvgFrameRate(c.mean)
		e := coder{opts: Options{Encoder: c.encoder}, in: Template{Video: video, FrameRate: c.usual}}
		if got := e.frameRate(); got != c.want {
			t.Errorf("%s of %v, %v on average: %v, want %v", c.encoder, c.usual, c.mean, got, c.want)
		}
		fc.Free()
	}
}
