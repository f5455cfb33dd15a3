// Package reach tests sources and outputs in S3-compatible stores and on web servers.
package reach

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 3) }

// Words that must appear nowhere.
const (
	secret    = "SECRETsecretSECRET"
	signature = "SIGNATUREsignature"
)

func clip(t *testing.T) string {
	t.Helper()
	return e2e.Clip(t, "film.mp4", "-f lavfi -i testsrc2=s=160x120:r=25 -f lavfi -i sine=300 -vf noise=alls=12:allf=t,format=yuv420p -t 2 -c:v libx264 -g 12 -c:a aac")
}

// store is a store with the bucket "films".
type store struct {
	t       *testing.T
	backend *s3mem.Backend
	url     string
	asked   atomic.Int64 // requests
	// answers a request itself if it returns true
	fault atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func newStore(t *testing.T) *store {
	s := &store{t: t, backend: s3mem.New()}
	e2e.Must(t, s.backend.CreateBucket("films"))
	fake := gofakes3.New(s.backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		switch fault := s.fault.Load(); {
		case r.Header.Get("X-Amz-Security-Token") == "expired":
			refuse(w, 400, "ExpiredToken")
		case !strings.Contains(r.Header.Get("Authorization"), "Credential=good/"):
			refuse(w, 403, "InvalidAccessKeyId")
		case fault != nil && (*fault)(w, r):
		default:
			fake.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
}

// inject makes the store answer with a fault where f returns true.
func (s *store) inject(f func(w http.ResponseWriter, r *http.Request) bool) { s.fault.Store(&f) }

func (s *store) put(key string, data []byte) {
	s.t.Helper()
	_, err := s.backend.PutObject("films", key, map[string]string{"Last-Modified": "Mon, 02 Nov 2026 00:00:00 GMT"}, bytes.NewReader(data), int64(len(data)), nil)
	e2e.Must(s.t, err)
}

func (s *store) get(key string) []byte {
	s.t.Helper()
	o, err := s.backend.GetObject("films", key, nil)
	e2e.Must(s.t, err)
	defer o.Contents.Close()
	data, err := io.ReadAll(o.Contents)
	e2e.Must(s.t, err)
	return data
}

// keys lists the bucket, without the sources.
func (s *store) keys() (all []string) {
	s.t.Helper()
	list, err := s.backend.ListBucket("films", &gofakes3.Prefix{}, gofakes3.ListBucketPage{})
	e2e.Must(s.t, err)
	for _, o := range list.Contents {
		if !strings.HasPrefix(o.Key, "in/") {
			all = append(all, o.Key)
		}
	}
	slices.Sort(all)
	return all
}

// run is a process of the program with its own folders.
type run struct {
	*e2e.Process
	t    *testing.T
	temp string
}

func (s *store) env(more ...string) []string {
	return append([]string{
		"AWS_ACCESS_KEY_ID=good", "AWS_SECRET_ACCESS_KEY=" + secret, "AWS_ENDPOINT_URL=" + s.url, "NO_PROXY=*",
	}, more...)
}

// start runs the program in dir, with a folder of its own for temporary files.
func start(t *testing.T, dir string, env []string, args ...string) *run {
	t.Helper()
	temp := t.TempDir()
	cmd := exec.Command(e2e.Program, args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), []string{"TMPDIR=" + temp, "HOME=" + temp, "XDG_STATE_HOME=" + temp + "/state"}, env)
	return &run{e2e.Begin(t, cmd), t, temp}
}

// wants fails the test unless the program ends with the code, prints the words and no secret, and
// leaves no temporary file.
func (r *run) wants(code int, words ...string) {
	r.t.Helper()
	if got := r.Wait(); got != code {
		r.t.Fatalf("exit code %d instead of %d: %s", got, code, r.Said())
	}
	for _, w := range words {
		if !strings.Contains(r.Said(), w) {
			r.t.Errorf("no %q in: %s", w, r.Said())
		}
	}
	silent(r.t, r.Said())
	left, _ := filepath.Glob(filepath.Join(r.temp, "vidfilter-*"))
	if len(left) > 0 {
		r.t.Errorf("left: %q", left)
	}
}

// silent fails the test if a text holds a secret.
func silent(t *testing.T, text string) {
	t.Helper()
	for _, word := range []string{secret, signature} {
		if i := strings.Index(text, word); i >= 0 {
			t.Errorf("%s is in: %s", word, text[max(0, i-200):min(len(text), i+100)])
		}
	}
}

// silentBelow does the same for all files of a folder.
func silentBelow(t *testing.T, dir string) {
	t.Helper()
	e2e.Must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			silent(t, string(e2e.Read(t, name)))
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}))
}

// plain filters a clip without stores, and returns the output.
func plain(t *testing.T, args ...string) []byte {
	t.Helper()
	dir := t.TempDir()
	start(t, dir, nil, slices.Concat([]string{"-i", clip(t), "-o", "out.mp4"}, args)...).wants(0)
	return e2e.Read(t, filepath.Join(dir, "out.mp4"))
}

// web is a web server with the clip as /in/NAME.mp4.
func web(t *testing.T, other func(w http.ResponseWriter, r *http.Request)) *httptest.Server {
	film := clip(t)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Dir(r.URL.Path) == "/in" {
			http.ServeFile(w, r, film)
			return
		}
		other(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// trust returns an environment in which the server's certificate is valid.
func trust(t *testing.T, server *httptest.Server) []string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "ca.pem")
	e2e.Put(t, name, certificate(server))
	return []string{"SSL_CERT_FILE=" + name, "NO_PROXY=*"}
}
