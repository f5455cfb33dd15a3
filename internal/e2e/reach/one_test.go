package reach

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// TestStored: a file goes from a store to a store as from disk to disk, with and without the
// sandbox, and replaces another only with -y.
func TestStored(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put("in/film.mp4", e2e.Read(t, clip(t)))
	want := plain(t)
	start(t, t.TempDir(), s.env(), "-i", "s3://films/in/film.mp4", "-o", "s3://films/out/film.mp4").wants(0, "fetching s3://films/in/film.mp4")
	if !bytes.Equal(s.get("out/film.mp4"), want) {
		t.Error("the output is another than from disk to disk")
	}
	start(t, t.TempDir(), s.env(), "-i", "s3://films/in/film.mp4", "-o", "s3://films/out/film.mp4", "--crf", "40").
		wants(4, `output "s3://films/out/film.mp4" exists`, "-y replaces it")
	start(t, t.TempDir(), s.env(), "-i", "s3://films/in/film.mp4", "-o", "s3://films/in/film.mp4", "-y").wants(4, "output and input are both")
	start(t, t.TempDir(), s.env(), "s3://films/in/film.mp4", "--sandbox", "off").wants(0)
	if !bytes.Equal(s.get("in/film.clean.mp4"), want) {
		t.Error("without the sandbox, the output is another")
	}
	start(t, t.TempDir(), s.env(), "-i", "s3://films/in/film.mp4", "-o", "s3://films/out/film.mp4", "-y", "--crf", "40").wants(0)
	if len(s.get("out/film.mp4")) >= len(want) {
		t.Error("-y has not replaced the output")
	}
	start(t, t.TempDir(), s.env(), "info", "s3://films/in/film.mp4").wants(0, "film.mp4: ", "160x120")
	start(t, t.TempDir(), s.env(), "-i", "s3://films/in/film.mp4", "-o", "s3://films/out/new.mp4", "--crf", "999").wants(2)
}

// TestStoreErrors: each error names the address, its cause and a remedy, with the exit code of such
// an error of a local file.
func TestStoreErrors(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put("in/film.mp4", e2e.Read(t, clip(t)))
	const in, out = "s3://films/in/film.mp4", "s3://films/out/film.mp4"
	for _, test := range []struct {
		in, out string
		env     []string
		code    int
		says    []string
	}{
		{"s3://films/in/none.mp4", "out.mp4", nil, 3, []string{`read s3://films/in/none.mp4: there is no "in/none.mp4" in the bucket "films"`, "check the spelling"}},
		{"s3://none/film.mp4", "out.mp4", nil, 3, []string{`there is no bucket "none"`, "AWS_ENDPOINT_URL"}},
		{in, "s3://none/film.mp4", nil, 4, []string{`write s3://none/film.mp4: there is no bucket "none"`}},
		{in, "out.mp4", []string{"AWS_ACCESS_KEY_ID=bad"}, 3, []string{"InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"}},
		{clip(t), out, []string{"AWS_ACCESS_KEY_ID=bad"}, 4, []string{"write " + out, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"}},
		{in, "out.mp4", []string{"AWS_SESSION_TOKEN=expired"}, 3, []string{"the credentials have expired"}},
		{in, "out.mp4", []string{"AWS_ACCESS_KEY_ID="}, 3, []string{"there are no credentials in the environment"}},
		{"s3://films", "out.mp4", nil, 3, []string{"names no file in a bucket"}},
		{clip(t), "https://example.org/out.mp4", nil, 2, []string{"is a network address", "s3://BUCKET/KEY"}},
	} {
		dir := t.TempDir()
		start(t, dir, s.env(test.env...), "-i", test.in, "-o", test.out).wants(test.code, test.says...)
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	}
	if keys := s.keys(); len(keys) > 0 {
		t.Errorf("written: %q", keys)
	}
}

// TestStoreFaults: an upload survives faults of the store. One that fails to the end leaves the
// finished output on this machine.
func TestStoreFaults(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var puts atomic.Int64
	s.inject(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && puts.Add(1) == 1 {
			refuse(w, 503, "SlowDown")
			return true
		}
		return false
	})
	start(t, t.TempDir(), s.env(), "-i", clip(t), "-o", "s3://films/out/film.mp4").wants(0)
	if !bytes.Equal(s.get("out/film.mp4"), plain(t)) || puts.Load() < 2 {
		t.Errorf("another output, after %d tries", puts.Load())
	}
	s.inject(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			refuse(w, 403, "AccessDenied")
		}
		return r.Method == http.MethodPut
	})
	p := start(t, t.TempDir(), s.env(), "-i", clip(t), "-o", "s3://films/out/lost.mp4")
	p.wants(4, "write s3://films/out/lost.mp4", "AccessDenied", filepath.Join(p.temp, "lost.finished.mp4"))
	if !bytes.Equal(e2e.Read(t, filepath.Join(p.temp, "lost.finished.mp4")), plain(t)) {
		t.Error("the output that could not be stored is another")
	}
}

// TestWeb: a file of a web server is read over cut connections and redirections, and its query is
// shown nowhere. A file that changes meanwhile is an error.
func TestWeb(t *testing.T) {
	t.Parallel()
	film := e2e.Read(t, clip(t))
	var cuts, version atomic.Int64
	server := web(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut/film.mp4": // each answer ends after a third
			w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint("v", version.Load())))
			cuts.Add(1)
			http.ServeContent(&short{ResponseWriter: w, left: len(film) / 3}, r, "", time.Time{}, bytes.NewReader(film))
		case "/changing/film.mp4":
			w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint("v", version.Add(1))))
			http.ServeContent(&short{ResponseWriter: w, left: len(film) / 3}, r, "", time.Time{}, bytes.NewReader(film))
		case "/moved.mp4":
			http.Redirect(w, r, "/in/film.mp4?sig="+signature, http.StatusFound)
		case "/down.mp4":
			http.Redirect(w, r, "http://"+r.Host+"/in/film.mp4?sig="+signature, http.StatusFound)
		case "/private.mp4":
			http.Redirect(w, r, "https://localhost:"+strings.Split(r.Host, ":")[1]+"/in/film.mp4", http.StatusFound)
		case "/closed.mp4":
			w.WriteHeader(http.StatusForbidden)
		default:
			http.NotFound(w, r)
		}
	})
	env := trust(t, server)
	want := plain(t)
	for _, test := range []struct {
		path string
		code int
		says []string
	}{
		{"/in/film.mp4", 0, nil},
		{"/cut/film.mp4", 0, nil},
		{"/moved.mp4", 0, nil},
		{"/changing/film.mp4", 3, []string{"the file changed while it was read"}},
		{"/down.mp4", 3, []string{"without TLS"}},
		{"/private.mp4", 3, []string{"localhost is in a private network"}},
		{"/closed.mp4", 3, []string{"403 Forbidden", "a signed address may have expired"}},
		{"/none.mp4", 3, []string{"404 Not Found", "check the spelling"}},
	} {
		dir := t.TempDir()
		start(t, dir, env, "-i", server.URL+test.path+"?sig="+signature, "-o", "out.mp4").wants(test.code, append(test.says, test.path)...)
		if test.code == 0 && !bytes.Equal(e2e.Read(t, filepath.Join(dir, "out.mp4")), want) {
			t.Errorf("%s: another output", test.path)
		}
	}
	if cuts.Load() < 3 {
		t.Errorf("%d requests for a file in thirds", cuts.Load())
	}
	start(t, t.TempDir(), []string{"NO_PROXY=*"}, "-i", server.URL+"/in/film.mp4", "-o", "out.mp4").wants(3, "certificate", "SSL_CERT_FILE")
}

// short is an answer that breaks off.
type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(b []byte) (int, error) {
	if len(b) > s.left {
		_, _ = s.ResponseWriter.Write(b[:s.left])
		s.ResponseWriter.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	s.left -= len(b)
	return s.ResponseWriter.Write(b)
}

// TestKilledFetch: the copy of a killed job is removed by the next one, and Ctrl-C ends a fetch.
func TestKilledFetch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.put("in/film.mp4", e2e.Read(t, clip(t)))
	var fetching atomic.Int64
	quit := make(chan struct{})
	t.Cleanup(func() { close(quit) })
	s.inject(func(w http.ResponseWriter, r *http.Request) bool {
		fetching.Add(1)
		<-quit
		return true
	})
	temp := t.TempDir()
	env := s.env("TMPDIR=" + temp)
	copies := func() int {
		all, _ := filepath.Glob(filepath.Join(temp, "vidfilter-copy-*"))
		return len(all)
	}
	args := []string{"-i", "s3://films/in/film.mp4", "-o", "out.mp4"}
	p := start(t, t.TempDir(), env, args...)
	p.Until("the fetch has begun", func() bool { return fetching.Load() == 1 })
	p.Kill()
	p.Process.Wait()
	if copies() != 1 {
		t.Fatalf("%d folders of copies", copies())
	}
	p = start(t, t.TempDir(), env, args...)
	p.Until("the fetch has begun", func() bool { return fetching.Load() == 2 })
	if copies() != 1 {
		t.Errorf("%d folders of copies", copies())
	}
	p.Signal(os.Interrupt)
	p.wants(130)
	if copies() > 0 {
		t.Error("the copy of a fetch that was stopped is left")
	}
}

// TestChildHasNoCredentials: while the program uploads, no process below it has the credentials.
func TestChildHasNoCredentials(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var uploading atomic.Bool
	quit := make(chan struct{})
	s.inject(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			uploading.Store(true)
			<-quit
		}
		return false
	})
	p := start(t, t.TempDir(), s.env(), "-i", clip(t), "-o", "s3://films/out/film.mp4", "--frames", "2")
	p.Until("the upload has begun", uploading.Load)
	family := e2e.Family(p.PID())
	if len(family) < 2 {
		t.Errorf("processes: %v", family)
	}
	for _, pid := range family {
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); pid != p.PID() && err == nil {
			silent(t, string(env))
		}
	}
	close(quit)
	p.wants(0)
}
