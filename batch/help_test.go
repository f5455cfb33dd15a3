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

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

// testFlags are like the main job's.
func testFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("job", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.StringP("input", "i", "", "")
	fs.StringP("output", "o", "", "")
	fs.String("format", "", "")
	fs.BoolP("overwrite", "y", false, "")
	fs.IntP("radius", "r", 3, "radius in pixels")
	fs.Float64("sigma-r", 20, "")
	fs.Float64("crf", 18, "")
	fs.String("bitrate", "", "")
	fs.String("preset", "", "")
	fs.Bool("no-audio", false, "")
	fs.BoolP("no-subs", "S", false, "")
	fs.StringArrayP("map", "m", nil, "")
	fs.String("start", "", "")
	fs.Int("threads", 0, "")
	fs.BoolP("quiet", "q", false, "")
	own := cli.NotInBatch("the sources of a batch are its arguments")
	for flag, a := range map[string]cli.Attribute{
		"bitrate": cli.Excludes("crf"), "threads": cli.Neutral, "input": own, "output": own, "overwrite": own, "quiet": own,
	} {
		f := fs.Lookup(flag)
		f.Annotations = map[string][]string{}
		a.Mark(f)
	}
	return fs
}

func testOwn() *pflag.FlagSet {
	fs := pflag.NewFlagSet("batch", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Int("jobs", 0, "")
	fs.Int("retries", 5, "")
	fs.String("stall-timeout", "", "")
	fs.String("segment", "", "")
	fs.String("min-free", "", "")
	return fs
}

// put writes text to a file and returns its name.
func put(t testing.TB, text string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	e2e.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	e2e.Must(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

// tree makes files whose content is their name.
func tree(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	e2e.Must(t, err)
	for _, n := range names {
		put(t, n, dir, n)
	}
	return dir
}

func request(dir string, sources ...string) Request {
	return Request{Sources: sources, Root: "out", Dir: dir, Home: filepath.Join(dir, "home"), Flags: testFlags(), Own: testOwn()}
}

func mustExpand(t *testing.T, req Request) *Plan {
	t.Helper()
	p, err := Expand(context.Background(), req)
	if err != nil {
		t.Fatalf("%v\nhint: %s", err, hint.Of(err))
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

// wantError checks the text of an error and of its hint.
func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error; want one with %q", texts)
		return
	}
	all := err.Error() + "\nhint: " + hint.Of(err)
	for _, text := range texts {
		if !strings.Contains(all, text) {
			t.Errorf("the error lacks %q: %s", text, all)
		}
	}
	var ours *hint.Error
	if errors.As(err, &ours) && ours.Hint() == "" && !strings.Contains(err.Error(), "cannot read") {
		t.Errorf("no hint: %v", err)
	}
}

func stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	i, err := os.Stat(name)
	e2e.Must(t, err)
	return i
}

// touch sets a file's time, to the nanosecond.
func touch(t *testing.T, name string, at time.Time) {
	t.Helper()
	e2e.Must(t, os.Chtimes(name, at, at))
}
