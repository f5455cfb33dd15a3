package batch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
)

// watching is a watcher with a clock that the test turns.
type watching struct {
	*testing.T
	*Watcher
	now      time.Time
	problems int
	left     []string
	stay     bool // the result of Left
}

func newWatching(t *testing.T, dir string) *watching {
	w := &watching{T: t, Watcher: &Watcher{Dir: dir, Settle: 10 * time.Second}, now: time.Unix(1000, 0)}
	w.Watcher.Problem = func(string, error) { w.problems++ }
	w.Watcher.Left = func(path string) bool {
		w.left = append(w.left, filepath.Base(path))
		return !w.stay
	}
	return w
}

// after advances the clock, and expects files by their names below the folder.
func (w *watching) after(d time.Duration, want ...string) {
	w.Helper()
	w.now = w.now.Add(d)
	var got []string
	for _, name := range w.look(context.Background(), w.now) {
		rel, err := filepath.Rel(w.Dir, name)
		e2e.Must(w, err)
		got = append(got, rel)
	}
	if !slices.Equal(got, want) {
		w.Errorf("after %v: %q, want %q", w.now.Sub(time.Unix(1000, 0)), got, want)
	}
}

func TestWatch(t *testing.T) {
	dir := tree(t, "b.mkv", "sub/a.mp4", "x.mkv.part", "x.crdownload", "y.mkv.tmp", ".h.mkv", "n.txt")
	e2e.Must(t, os.Symlink("..", filepath.Join(dir, "sub/up")))
	w := newWatching(t, dir)
	w.after(0)
	w.after(9 * time.Second)
	put(t, "it grows", dir, "b.mkv")
	w.after(time.Second, "sub/a.mp4")
	w.after(9 * time.Second)
	w.after(time.Second, "b.mkv")
	w.after(time.Hour)

	touch(t, filepath.Join(dir, "b.mkv"), time.Unix(5, 5)) // same size, other time
	w.after(0)
	w.after(10*time.Second, "b.mkv")

	old, err := os.Stat(filepath.Join(dir, "b.mkv"))
	e2e.Must(t, err)
	next := put(t, "it grown", dir, "new.tmp") // same size and time, other file
	touch(t, next, old.ModTime())
	e2e.Must(t, os.Rename(next, filepath.Join(dir, "b.mkv")))
	w.after(0)
	w.after(10*time.Second, "b.mkv")

	e2e.Must(t, os.Remove(filepath.Join(dir, "b.mkv")))
	w.after(time.Second)
	put(t, "", dir, "b.mkv")
	w.after(time.Hour)
	w.after(time.Hour) // empty: about to be written
	put(t, "again", dir, "b.mkv")
	w.after(0)
	w.after(10*time.Second, "b.mkv")

	e2e.Must(t, os.Rename(filepath.Join(dir, "x.mkv.part"), filepath.Join(dir, "x.mkv")))
	w.after(0)
	w.after(10*time.Second, "x.mkv")
	if w.problems != 0 {
		t.Errorf("%d problems", w.problems)
	}
}

// Left hears of files that were yielded, at each look until it agrees.
func TestWatchLeft(t *testing.T) {
	dir := tree(t, "a.mkv", "b.mkv")
	w := newWatching(t, dir)
	w.after(0)
	w.after(10*time.Second, "a.mkv", "b.mkv")
	put(t, "too short a stay", dir, "c.mkv")
	w.after(time.Second)
	w.stay = true
	for _, name := range []string{"a.mkv", "b.mkv", "c.mkv"} {
		e2e.Must(t, os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".part")))
	}
	w.after(time.Second)
	e2e.Must(t, os.Rename(filepath.Join(dir, "b.mkv.part"), filepath.Join(dir, "b.mkv"))) // the same file
	w.after(time.Hour)
	w.stay = false
	w.after(time.Second)
	w.after(time.Second)
	slices.Sort(w.left)
	if want := []string{"a.mkv", "a.mkv", "a.mkv", "b.mkv"}; !slices.Equal(w.left, want) || len(w.files) != 1 {
		t.Errorf("%q have left, want %q; %d files", w.left, want, len(w.files))
	}
}

// The files of a mount that returns are not new.
func TestWatchAway(t *testing.T) {
	base := tree(t, "in/a.mkv")
	dir, away := filepath.Join(base, "in"), filepath.Join(base, "away")
	w := newWatching(t, dir)
	w.after(0)
	w.after(10*time.Second, "a.mkv")
	e2e.Must(t, os.Rename(dir, away))
	w.after(time.Hour)
	if w.problems != 1 {
		t.Errorf("%d problems", w.problems)
	}
	e2e.Must(t, os.Rename(away, dir))
	w.after(time.Hour)
}

// A batch's own outputs are not taken for sources, neither in a root below nor beside the
// sources.
func TestWatchRoot(t *testing.T) {
	dir := tree(t, "a.mkv", "out/b.mkv", "a.clean.mkv")
	w := newWatching(t, dir)
	w.Root = filepath.Join(dir, "out")
	w.after(0)
	w.after(10*time.Second, "a.clean.mkv", "a.mkv")

	w = newWatching(t, dir)
	w.Root = dir
	made, err := FingerprintOf(filepath.Join(dir, "a.clean.mkv"))
	e2e.Must(t, err)
	e2e.Must(t, WriteRecord(dir, Record{Output: "a.clean.mkv", State: RecordDone, Digest: "x", OutputFile: &made}))
	w.after(0)
	w.after(10*time.Second, "a.mkv", "out/b.mkv")
}

func TestWatchRun(t *testing.T) {
	dir := tree(t, "a.mkv")
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := &Watcher{Dir: dir, Settle: 10 * time.Second, Interval: DefaultInterval}
		stop := errors.New("stop")
		err := w.Run(t.Context(), func(name string) error {
			if filepath.Base(name) == "b.mkv" {
				return stop
			}
			put(t, "next", dir, "b.mkv")
			return nil
		})
		// 10 s, up to the next look, 10 s
		if !errors.Is(err, stop) || time.Since(start) != 22*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := w.Run(ctx, func(string) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}
