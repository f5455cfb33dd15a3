package reach

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"vidfilter/internal/e2e"
)

// jobFile writes a job file, and returns its name.
func jobFile(t *testing.T, dir, text string) string {
	t.Helper()
	name := filepath.Join(dir, "night.yaml")
	e2e.Put(t, name, []byte(text))
	return name
}

// TestBatchOfAddresses: a job file takes sources of a store by name, pattern and folder, and of a
// web server by a signed address. Records, reports and messages hold no secret. A second run does
// no work, a changed source is filtered again, and the work folder ends up empty.
func TestBatchOfAddresses(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	film := e2e.Read(t, clip(t))
	for _, key := range []string{"in/one.mp4", "in/sub/two.mp4", "in/readme.txt", "in/more/three.mp4"} {
		s.put(key, film)
	}
	server := web(t, http.NotFound)
	dir := t.TempDir()
	job := jobFile(t, t.TempDir(), `
output: `+filepath.Join(dir, "out")+`
jobs:
  - s3://films/in/one.mp4
  - s3://films/in/sub/*.mp4
  - s3://films/in/more/
  - `+server.URL+`/in/four.mp4?sig=`+signature+`
  - s3://films/in/none.mp4
`)
	env := append(s.env("VIDFILTER_RADIUS=1", "VIDFILTER_PRESET=ultrafast"), trust(t, server)...)
	batch := func(code int, words ...string) {
		t.Helper()
		start(t, dir, env, "batch", job, "--segment", "1", "--report", "report.json", "--on-done", "cat >> notices").wants(code, words...)
		silentBelow(t, dir)
	}
	batch(1, `there is no "in/none.mp4" in the bucket "films"`)
	want := plain(t, "--radius", "1", "--preset", "ultrafast")
	size := 0
	for _, name := range []string{"one.mp4", "two.mp4", "three.mp4", "four.mp4"} {
		got := e2e.Read(t, filepath.Join(dir, "out", name))
		if size == 0 {
			size = len(got)
		}
		if len(got) != size || len(got) < len(want)/2 {
			t.Errorf("%s has %d bytes, one.mp4 %d, and one of a file %d", name, len(got), size, len(want))
		}
	}
	report := string(e2e.Read(t, filepath.Join(dir, "report.json")))
	if !strings.Contains(report, server.URL+`/in/four.mp4"`) {
		t.Error("the report does not name the source: " + report)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out/.vidfilter/work/*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	at := modTime(t, filepath.Join(dir, "out/one.mp4"))
	s.put("in/sub/two.mp4", append(film, 0))
	batch(1)
	if modTime(t, filepath.Join(dir, "out/one.mp4")) != at {
		t.Error("the same source was filtered again")
	}
	report = string(e2e.Read(t, filepath.Join(dir, "report.json")))
	if n := strings.Count(report, `"skipped"`); n < 3 {
		t.Errorf("%d files were skipped: %s", n, report)
	}
}

func modTime(t *testing.T, name string) string {
	t.Helper()
	i, err := os.Stat(name)
	e2e.Must(t, err)
	return i.ModTime().String()
}

// TestBatchToStore: outputs go to a store and appear when they are complete. A second run does no
// work, and a foreign file is not replaced.
func TestBatchToStore(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	film := e2e.Read(t, clip(t))
	s.put("in/one.mp4", film)
	s.put("in/sub/two.mp4", film)
	s.put("clean/sub/two.mp4", []byte("of another"))
	dir := t.TempDir()
	state := "XDG_STATE_HOME=" + filepath.Join(dir, "state")
	args := []string{"batch", "s3://films/in/", "-o", "s3://films/clean", "--radius", "1", "--segment", "0"}
	start(t, dir, s.env(state), args...).wants(1, "a file of this name exists that no batch has made")
	if got := s.get("clean/sub/two.mp4"); string(got) != "of another" {
		t.Error("the file of another was replaced")
	}
	if got, want := s.get("clean/one.mp4"), plain(t, "--radius", "1", "--parts", "1"); !bytes.Equal(got, want) {
		t.Errorf("another output: %d bytes instead of %d", len(got), len(want))
	}
	start(t, dir, s.env(state), append(args, "-y")...).wants(0, "1 done, 1 skipped")
	if got := s.get("clean/sub/two.mp4"); !bytes.Equal(got, s.get("clean/one.mp4")) {
		t.Error("-y has not replaced the file of another")
	}
	silentBelow(t, dir)
	if keys := s.keys(); !slices.Equal(keys, []string{"clean/one.mp4", "clean/sub/two.mp4"}) {
		t.Errorf("in the store are %q", keys)
	}
	start(t, dir, s.env(state, "AWS_ACCESS_KEY_ID=bad"), args...).wants(3, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}

// TestKilledUpload: a batch that is killed while it uploads goes on with the finished file.
func TestKilledUpload(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put("in/one.mp4", e2e.Read(t, clip(t)))
	var uploading atomic.Bool
	quit := make(chan struct{})
	t.Cleanup(func() { close(quit) })
	s.inject(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			uploading.Store(true)
			<-quit
		}
		return r.Method == http.MethodPut
	})
	dir := t.TempDir()
	env := s.env("XDG_STATE_HOME=" + filepath.Join(dir, "state"))
	args := []string{"batch", "s3://films/in/one.mp4", "-o", "s3://films/clean", "--radius", "1"}
	p := start(t, dir, env, args...)
	p.Until("the upload has begun", uploading.Load)
	p.Kill()
	p.Process.Wait()
	if keys := s.keys(); len(keys) > 0 {
		t.Errorf("in the store are %q", keys)
	}
	kept, _ := filepath.Glob(filepath.Join(dir, "state/vidfilter/*/.vidfilter/work/*/finished.mp4"))
	if len(kept) != 1 {
		t.Fatalf("finished files: %q", kept)
	}
	finished := e2e.Read(t, kept[0])
	s.inject(func(http.ResponseWriter, *http.Request) bool { return false })
	start(t, dir, env, args...).wants(0)
	if !bytes.Equal(s.get("clean/one.mp4"), finished) {
		t.Error("the output is not the finished file")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "state/vidfilter/*/.vidfilter/work/*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
