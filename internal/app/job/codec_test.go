package job

import (
	"strings"
	"testing"

	"github.com/asticode/go-astiav"
)

// TestDefaultCodec: a container without H.264 decides the codec, and deep sources may get HEVC
// unless an option rules it out.
func TestDefaultCodec(t *testing.T) {
	for _, c := range []struct {
		args, encoder string
		open          bool
	}{
		{"-i a -o b.mp4", "libx264", true},
		{"-i a -o b.mkv --crf 20 --preset slow --tune grain", "libx264", true},
		{"-i a -o b.mkv --depth 10", "libx264", true},
		{"-i a -o b.mkv --depth source", "libx264", true},
		{"-i a -o b.mkv --tune film", "libx264", false},
		{"-i a -o b.mkv --pixel-format yuv420p", "libx264", false},
		{"-i a -o b.mkv --codec h264", "libx264", false},
		{"-i a -o b.mkv --encoder libx264", "libx264", false},
		{"-i a -o b.mkv --x264-params ref=2", "libx264", false},
		{"-i a -o b.webm", "libsvtav1", false},
		{"-i a -o - --format webm", "libsvtav1", false},
		{"-i a -o b.mxf", "dnxhd", false},
		{"-i a -o b.mp4 --codec av1", "libsvtav1", false},
	} {
		o, err := Parse(strings.Fields(c.args), nil)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		if o.Encoder != c.encoder || o.openCodec != c.open {
			t.Errorf("%s: %s, open: %v", c.args, o.Encoder, o.openCodec)
		}
	}
}

func TestDeeper(t *testing.T) {
	for _, c := range []struct {
		pf            astiav.PixelFormat
		width, height int
		want          string
	}{
		{astiav.PixelFormatYuv420P, 64, 48, "yuv420p10le"},
		{astiav.PixelFormatYuvj422P, 64, 47, "yuv422p10le"},
		{astiav.PixelFormatYuv420P, 63, 48, ""},
	} {
		if got := deeper(c.pf, c.width, c.height); got != c.want {
			t.Errorf("%v %dx%d: %q, want %q", c.pf, c.width, c.height, got, c.want)
		}
	}
}
