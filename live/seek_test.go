package live

import (
	"path/filepath"
	"testing"
	"time"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
)

// TestSeekSound: wherever a file is moved to, its sound stays with its pictures.
func TestSeekSound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.mp4")
	livetest.Program(t, "ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-f", "lavfi", "-i", "anoisesrc=d=2:seed=1",
		"-c:v", "libx264", "-g", "20", "-pix_fmt", "yuv420p", "-c:a", "aac", path)
	open := func() *file {
		src, err := OpenFile(path, decode.Options{})(t.Context(), livetest.Pool(t, 16), nil)
		e2e.Must(t, err)
		t.Cleanup(src.Close)
		return src.(*file)
	}
	next := func(f *file) Shot {
		t.Helper()
		for f.early() {
			f.readAhead(t.Context())
		}
		shot, err := f.following(t.Context())
		e2e.Must(t, err)
		shot = f.shown(shot)
		shot.release()
		return shot
	}
	whole, places := open(), map[string]time.Duration{}
	for range 50 {
		for _, x := range next(whole).Sound {
			places[string(x.Data)] = x.At // the first picture is at 0
		}
	}
	f, last := open(), time.Duration(-1)
	next(f)
	for _, to := range []seek{{to: time.Second}, {to: 200 * time.Millisecond}, {step: -1}, {step: 1}, {to: 1520 * time.Millisecond}} {
		shots, err := f.Seek(t.Context(), to)
		if err != nil || len(shots) == 0 {
			t.Fatalf("%+v: %d pictures, %v", to, len(shots), err)
		}
		releaseAll(shots)
		shot, heard := shots[len(shots)-1], 0
		if d := shot.Place - to.to; to.step == 0 && d.Abs() > time.Millisecond {
			t.Errorf("%+v: at %v", to, shot.Place)
		}
		if to.step <= 0 {
			last = min(last, shot.At-1) // the session drops its read-ahead
		}
		for range 8 {
			for _, x := range shot.Sound {
				place, known := places[string(x.Data)]
				if d := (place - shot.Place) - (x.At - shot.At); !known || d.Abs() > time.Millisecond || x.At <= last {
					t.Errorf("%+v: sound of %v is at %v after %v, beside a picture of %v at %v", to, place, x.At, last, shot.Place, shot.At)
				}
				last = x.At
				heard++
			}
			shot = next(f)
		}
		if heard < 10 {
			t.Errorf("%+v: %d packets of sound in 0.3 s", to, heard)
		}
	}
}
