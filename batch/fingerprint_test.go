package batch

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	at := time.Unix(1_700_000_000, 123_456_789)
	seen := map[Fingerprint]string{}
	data := make([]byte, 10*chunk)
	of := func(what string, data []byte, at time.Time) Fingerprint {
		t.Helper()
		name := put(t, string(data), dir, "f")
		touch(t, name, at)
		f, err := FingerprintOf(name)
		e2e.Must(t, err)
		f.MTime = f.MTime.Round(0)
		if f.Size != int64(len(data)) || !f.MTime.Equal(at) {
			t.Errorf("%s: %+v", what, f)
		}
		return f
	}
	for _, c := range []struct {
		what string
		size int
		at   int // offset of a byte to set, or -1
		time time.Time
	}{
		{"plain", len(data), -1, at}, {"first", len(data), 0, at}, {"middle", len(data), len(data) / 2, at}, {"last", len(data), len(data) - 1, at},
		{"later", len(data), -1, at.Add(1)}, {"shorter", len(data) - 1, -1, at}, {"empty", 0, -1, at}, {"byte", 1, 0, at},
		{"three chunks", 3 * chunk, 2*chunk - 1, at}, {"more", 3*chunk + 1, 2 * chunk, at}, {"one", chunk, chunk - 1, at},
	} {
		data := bytes.Clone(data[:c.size])
		if c.at >= 0 {
			data[c.at] = 1
		}
		f := of(c.what, data, c.time)
		if old := seen[f]; old != "" {
			t.Errorf("%s is as %s", c.what, old)
		}
		seen[f] = c.what
		if g := of(c.what, data, c.time); !f.Equal(g) {
			t.Errorf("%s differs from itself: %+v, %+v", c.what, f, g)
		}
		if g := of(c.what, data, c.time.Add(1)); f.Equal(g) || !f.Same(g) {
			t.Errorf("%s touched: equal %v, same %v", c.what, f.Equal(g), f.Same(g))
		}
	}
	if _, err := FingerprintOf(dir); err == nil {
		t.Error("a folder has a fingerprint")
	}
	if _, err := FingerprintOf(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// A file shorter than its reported size is still being written.
func TestFingerprintOfChanging(t *testing.T) {
	if _, err := digestOf(bytes.NewReader(make([]byte, 100)), 200); !errors.Is(err, ErrChanging) {
		t.Errorf("got %v", err)
	}
	if _, err := digestOf(bytes.NewReader(make([]byte, 4*chunk)), 5*chunk); !errors.Is(err, ErrChanging) {
		t.Errorf("got %v", err)
	}
}

func TestDigest(t *testing.T) {
	item := Item{Source: "/a", Output: "a.mkv", Args: []string{"--x", "--threads=2"}, Deciding: []string{"--x"}}
	print := Fingerprint{5, time.Unix(3, 4), "sha256:00"}
	base := Digest(item, print, "1")
	moved := item
	moved.Source, moved.Args, moved.Priority = "/b", nil, 9
	if Digest(moved, print, "1") != base {
		t.Error("place, neutral options or priority count")
	}
	seen := map[string]bool{base: true}
	for _, c := range []struct {
		output   string
		deciding []string
		time     int64
		hash     string
		version  string
	}{
		{"b.mkv", []string{"--x"}, 4, "sha256:00", "1"}, {"a.mkv", nil, 4, "sha256:00", "1"}, {"a.mkv", []string{"--", "x"}, 4, "sha256:00", "1"},
		{"a.mkv", []string{"--x"}, 5, "sha256:00", "1"}, {"a.mkv", []string{"--x"}, 4, "sha256:01", "1"}, {"a.mkv", []string{"--x"}, 4, "sha256:00", "2"},
	} {
		d := Digest(Item{Output: c.output, Deciding: c.deciding}, Fingerprint{5, time.Unix(3, c.time), c.hash}, c.version)
		if seen[d] {
			t.Errorf("%+v makes no difference", c)
		}
		seen[d] = true
	}
}

func TestID(t *testing.T) {
	form := regexp.MustCompile(`^[a-zA-Z0-9-]{1,64}$`)
	seen := map[string]bool{}
	for _, output := range []string{"a.mkv", "a-mkv", "A.mkv", "日本.mkv", "日木.mkv", "x/y z/../a.mkv", string(make([]byte, 300)), "-", ""} {
		id := Item{Output: output}.ID()
		if !form.MatchString(id) || seen[id] {
			t.Errorf("%q: %q", output, id)
		}
		seen[id] = true
	}
}
