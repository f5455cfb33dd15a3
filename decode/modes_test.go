package decode

import (
	"strings"
	"testing"
)

// offered reads "yuyv422 640x480 30 15; mjpeg 1280x720 30".
func offered(t *testing.T, list string) (all []CameraMode) {
	t.Helper()
	for part := range strings.SplitSeq(list, "; ") {
		words := strings.Fields(part)
		m := CameraMode{Format: words[0]}
		for _, f := range cameraFormats {
			if f.name == m.Format {
				m.format = f
			}
		}
		w, h, _ := strings.Cut(words[1], "x")
		m.Width, m.Height = orAny(w), orAny(h)
		for _, rate := range words[2:] {
			m.FPS = float64(orAny(rate))
			all = append(all, m)
		}
	}
	return all
}

func TestChoose(t *testing.T) {
	const webcam = "yuyv422 640x480 30 15; yuyv422 1280x720 10; yuyv422 1920x1080 5; mjpeg 640x480 30; mjpeg 1280x720 60 30; mjpeg 1920x1080 30; h264 1920x1080 30"
	for _, c := range []struct {
		name, offers string
		o            CameraOptions
		want         string // "": no mode
	}{
		{"webcam", webcam, CameraOptions{}, "mjpeg 1920x1080 at 30 fps"},
		{"raw where it is as good", webcam, CameraOptions{Width: 640, Height: 480}, "yuyv422 640x480 at 30 fps"},
		{"size asked for is shown smoothly", webcam, CameraOptions{Height: 720}, "mjpeg 1280x720 at 30 fps"},
		{"rate asked for", webcam, CameraOptions{FPS: 60}, "mjpeg 1280x720 at 60 fps"},
		{"raw at any price", webcam, CameraOptions{Format: "yuyv"}, "yuyv422 640x480 at 30 fps"},
		{"raw and large", webcam, CameraOptions{Format: "yuyv422", Width: 1920}, "yuyv422 1920x1080 at 5 fps"},
		{"H.264", webcam, CameraOptions{Format: "h264"}, "h264 1920x1080 at 30 fps"},
		{"few pixels", webcam, CameraOptions{MaxPixels: 500000}, "yuyv422 640x480 at 30 fps"},
		{"not offered", webcam, CameraOptions{Width: 800}, ""},
		{"not at that size", webcam, CameraOptions{Width: 1920, FPS: 60}, ""},
		{"USB 3", "yuyv422 1920x1080 60 30; mjpeg 1920x1080 60 30", CameraOptions{}, "yuyv422 1920x1080 at 30 fps"},
		{"no conversion", "yuyv422 1280x720 30; nv12 1280x720 30; rgb24 1280x720 30", CameraOptions{}, "nv12 1280x720 at 30 fps"},
		{"4K", "mjpeg 3840x2160 30; mjpeg 1920x1080 30; nv12 1280x720 30", CameraOptions{}, "mjpeg 1920x1080 at 30 fps"},
		{"4K asked for", "mjpeg 3840x2160 30; mjpeg 1920x1080 30", CameraOptions{Width: 3840}, "mjpeg 3840x2160 at 30 fps"},
		{"larger than usual alone", "mjpeg 3840x2160 30; mjpeg 2560x1440 30", CameraOptions{}, "mjpeg 2560x1440 at 30 fps"},
		{"smooth and larger before slow", "mjpeg 2560x1440 30; yuyv422 1280x720 10", CameraOptions{}, "mjpeg 2560x1440 at 30 fps"},
		{"none is smooth", "yuyv422 640x480 15; yuyv422 1280x720 10; yuyv422 1920x1080 3", CameraOptions{}, "yuyv422 1280x720 at 10 fps"},
		{"50 and 60", "yuyv422 1280x720 60 50", CameraOptions{}, "yuyv422 1280x720 at 50 fps"},
		{"PAL", "uyvy422 720x576 25; uyvy422 640x480 30", CameraOptions{}, "uyvy422 720x576 at 25 fps"},
		{"infrared beside colour", "gray 1920x1080 30; yuyv422 640x480 15", CameraOptions{}, "yuyv422 640x480 at 15 fps"},
		{"not told", "yuyv422 640x480 0; mjpeg 640x480 0", CameraOptions{FPS: 20}, "yuyv422 640x480"},
	} {
		m, ok := choose(offered(t, c.offers), c.o)
		if ok != (c.want != "") || ok && m.String() != c.want {
			t.Errorf("%s: %v, %v instead of %q", c.name, m, ok, c.want)
		}
	}
}

func TestOffers(t *testing.T) {
	const want = "yuyv422 640x480 at 30, 15 fps; mjpeg 1280x720 at 30 fps; h264 1280x720"
	if got := offers(offered(t, "yuyv422 640x480 30 15; mjpeg 1280x720 30; h264 1280x720 0")); got != want {
		t.Errorf("%q", got)
	}
}
