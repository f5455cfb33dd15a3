package decode_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
)

// Pictures of any depth and in any coding order have the step of the quantiser or are known to be
// faithful.
func TestQuantiserOfHeaders(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	const x265 = "-c:v libx265 -x265-params log-level=none:qp=28:ipratio=1:pbratio=1:aq-mode=0:cutree=0:keyint=12:pools=1 "
	const vp9 = "-c:v libvpx-vp9 -qmin 40 -qmax 40 -b:v 1M -auto-alt-ref 1 -lag-in-frames 10 -deadline realtime -cpu-used 8 "
	for name, c := range map[string]struct {
		args        string
		least, most float32
		smoothed    bool
		faithful    bool
	}{
		"av1.mkv":    {"-c:v libaom-av1 -crf 40 -b:v 0 -cpu-used 8 -threads 1 -pix_fmt yuv420p", 2, 60, true, false},
		"hevc.mp4":   {x265 + "-pix_fmt yuv420p", 15.9, 16.1, false, false},
		"hevc10.mkv": {x265 + "-pix_fmt yuv420p10le", 15.9, 16.1, false, false},
		"hevc.ts":    {x265 + "-pix_fmt yuv420p", 15.9, 16.1, false, false},
		"vp9.webm":   {vp9 + "-pix_fmt yuv420p", 38, 38.2, false, false},
		"vp9.mkv":    {vp9 + "-pix_fmt yuv420p10le -profile:v 2", 38, 38.2, false, false},
		"mjpeg.avi":  {"-c:v mjpeg -pix_fmt yuvj420p -q:v 10", 20, 30, false, false},
		"x.jpg":      {"-c:v mjpeg -pix_fmt yuvj420p -q:v 3 -frames:v 1", 6, 9, false, false},
		"ffv1.mkv":   {"-c:v ffv1", 0, 0, false, true},
		"x.png":      {"-frames:v 1", 0, 0, false, true},
		"x.y4m":      {"-pix_fmt yuv420p", 0, 0, false, true},
		"prores.mov": {"-c:v prores_ks", 0, 0, false, true},
		"vp8.mkv":    {"-c:v libvpx", 0, 0, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), name)
			args := append(strings.Fields("-v error -f lavfi -i testsrc2=s=96x64:d=1.2"), strings.Fields(c.args)...)
			e2e.Run(t, "ffmpeg", append(args, path)...)
			in, _ := open(t, path, decode.Options{Threads: 2})
			n := 0
			for ; ; n++ {
				f, err := in.Next(t.Context())
				if err == io.EOF {
					break
				}
				e2e.Must(t, err)
				q := f.Quantiser
				if q.Step < c.least || q.Step > c.most || q.Smoothed != c.smoothed || q.Faithful != c.faithful {
					t.Errorf("frame %d: %+v", n, q)
				}
				f.Release()
			}
			if want := 30; n != want && !strings.Contains(c.args, "-frames:v 1") && name != "x.png" {
				t.Errorf("%d frames, want %d", n, want)
			}
		})
	}
}
