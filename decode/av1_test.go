package decode_test

import (
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
)

// Pictures of AV1 have the step of the quantiser, those that were coded before their time, too.
func TestQuantiserAV1(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	path := filepath.Join(t.TempDir(), "x.mkv")
	said, err := exec.Command("ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:d=1.2", "-c:v", "libaom-av1", "-crf", "40", "-b:v", "0",
		"-cpu-used", "8", "-threads", "1", "-pix_fmt", "yuv420p", path).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	in, _ := open(t, path, decode.Options{Threads: 2})
	n := 0
	for ; ; n++ {
		f, err := in.Next(t.Context())
		if err == io.EOF {
			break
		}
		e2e.Must(t, err)
		if q := f.Quantiser; q.Step < 2 || q.Step > 60 || !q.Smoothed {
			t.Errorf("frame %d: %+v", n, q)
		}
		f.Release()
	}
	if n != 30 {
		t.Errorf("%d frames", n)
	}
}
