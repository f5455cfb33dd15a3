package netfile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"vidfilter/internal/e2e"
)

// TestStore: a file of several parts arrives as it is, with its hash. A part that the store refuses
// leaves no file and no parts, nor does a file that exists, and the parts of a killed upload are
// removed. The client is one for the process, so all of it is one test.
func TestStore(t *testing.T) {
	quick(t)
	size := smallestPart
	smallestPart = 5 << 20
	t.Cleanup(func() { smallestPart = size })
	backend := s3mem.New()
	e2e.Must(t, backend.CreateBucket("films"))
	fake := gofakes3.New(backend).Server()
	var refuses, cuts atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case refuses.Load() && r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2":
			w.WriteHeader(http.StatusForbidden)
		case cuts.Load() && r.Method == http.MethodGet && r.Header.Get("Range") == "":
			fake.ServeHTTP(&cut{w, 1 << 20}, r)
		default:
			fake.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "good")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	ctx := context.Background()
	const address = "s3://films/clean/film.mp4"
	content := bytes.Repeat([]byte("0123456789abcdef"), 12<<20/16)
	name := filepath.Join(t.TempDir(), "film.mp4")
	e2e.Put(t, name, content)
	core, err := client()
	e2e.Must(t, err)
	uploads := func() int {
		left, err := core.ListMultipartUploads(ctx, "films", "", "", "", "", 100)
		e2e.Must(t, err)
		return len(left.Uploads)
	}

	refuses.Store(true)
	if err := Store(ctx, name, address, Upload{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a refused part: %v", err)
	}
	if n := uploads(); n > 0 {
		t.Errorf("%d uploads are left", n)
	}
	if there, err := Exists(ctx, address); there || err != nil {
		t.Errorf("a refused part left a file: %v, %v", there, err)
	}
	refuses.Store(false)

	s, err := newStored(opWrite, address)
	e2e.Must(t, err)
	if _, err := s.NewMultipartUpload(ctx, s.bucket, s.key, s.options("")); err != nil {
		t.Fatal(err)
	}
	e2e.Must(t, Store(ctx, name, address, Upload{Hash: "sha256:1", Alone: true}))
	if n := uploads(); n > 0 {
		t.Errorf("%d uploads of a killed process are left", n)
	}
	cuts.Store(true)
	copied := filepath.Join(t.TempDir(), "copy")
	info, err := Fetch(ctx, address, copied)
	if err != nil || info.Hash != "sha256:1" || info.Size != int64(len(content)) || !bytes.Equal(e2e.Read(t, copied), content) {
		t.Errorf("fetched: %+v, %v", info, err)
	}
	cuts.Store(false)
	if err := Store(ctx, name, address, Upload{Hash: "sha256:2"}); !errors.Is(err, fs.ErrExist) || !IsLasting(err) {
		t.Errorf("a file that exists: %v", err)
	}
	if err := Store(ctx, name, address, Upload{Hash: "sha256:1"}); err != nil {
		t.Errorf("a file that the last try has stored: %v", err)
	}
	e2e.Must(t, Store(ctx, name, address, Upload{Hash: "sha256:3", Replace: true}))
	if info, err = Stat(ctx, address); err != nil || info.Hash != "sha256:3" {
		t.Errorf("replaced: %+v, %v", info, err)
	}
	if all, err := List(ctx, "s3://films/cle"); err != nil || !slices.Equal(all, []string{address}) {
		t.Errorf("%q, %v", all, err)
	}
}

// cut is an answer that breaks off.
type cut struct {
	http.ResponseWriter
	left int
}

func (c *cut) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(b)
}
