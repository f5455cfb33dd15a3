package batch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// testFlags are like the main job's.
var testFlags = []Flag{
	{Name: "input", Short: "i", Value: true, Kind: "FILE"},
	{Name: "output", Short: "o", Value: true, Kind: "FILE"},
	{Name: "format", Value: true, Kind: "NAME"},
	{Name: "overwrite", Short: "y"},
	{Name: "radius", Short: "r", Value: true, Kind: "N", Usage: "radius in pixels"},
	{Name: "sigma-r", Value: true, Kind: "X"},
	{Name: "crf", Value: true, Kind: "X", Rivals: []string{"bitrate"}},
	{Name: "bitrate", Value: true, Kind: "RATE", Rivals: []string{"crf"}},
	{Name: "preset", Value: true, Kind: "NAME", Examples: []string{"fast", "slow"}},
	{Name: "no-audio"},
	{Name: "no-subs", Short: "S"},
	{Name: "map", Short: "m", Value: true, Repeat: true, Kind: "SPEC"},
	{Name: "start", Value: true, Kind: "TIME"},
	{Name: "threads", Value: true, Kind: "N", Neutral: true},
	{Name: "quiet", Short: "q", Neutral: true},
}

var testOwn = []Flag{
	{Name: "jobs", Value: true, Kind: "N"}, {Name: "retries", Value: true, Kind: "N"}, {Name: "stall-timeout", Value: true, Kind: "TIME"},
	{Name: "segment", Value: true, Kind: "TIME"}, {Name: "min-free", Value: true, Kind: "SIZE"},
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file of which the content is its text.
func put(t testing.TB, text string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// tree makes files, the content of which is their name.
func tree(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, n := range names {
		put(t, n, dir, n)
	}
	return dir
}

func request(dir string, sources ...string) Request {
	return Request{Sources: sources, Root: "out", Dir: dir, Home: filepath.Join(dir, "home"), Flags: testFlags, Own: testOwn}
}

func mustExpand(t *testing.T, req Request) *Plan {
	t.Helper()
	p, err := Expand(context.Background(), req)
	if err != nil {
		t.Fatalf("%v\nhint: %s", err, hintOf(err))
	}
	return p
}

// shown lists items as SOURCE > OUTPUT ARGS, with the sources below dir.
func shown(dir string, items []Item) (all []string) {
	for _, i := range items {
		rel, err := filepath.Rel(dir, i.Source)
		if err != nil || !filepath.IsAbs(i.Source) {
			rel = "BAD " + i.Source
		}
		all = append(all, strings.TrimSpace(rel+" > "+i.Output+" "+strings.Join(i.Args, " ")))
	}
	return all
}

func wantItems(t *testing.T, dir string, p *Plan, want ...string) {
	t.Helper()
	if got := shown(dir, p.Items); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantError checks what an error says, and that its hint does.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", texts)
		return
	}
	all := err.Error() + "\nhint: " + hintOf(err)
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("the error lacks %q: %s", text, all)
		}
	}
	var ours *Error
	if errors.As(err, &ours) && ours.hint == "" && !strings.Contains(err.Error(), "cannot read") {
		t.Errorf("no hint: %v", err)
	}
}

func stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	i, err := os.Stat(name)
	must(t, err)
	return i
}

// touch sets a file's time, to the nanosecond.
func touch(t *testing.T, name string, at time.Time) {
	t.Helper()
	must(t, os.Chtimes(name, at, at))
}
