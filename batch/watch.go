package batch

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Watcher finds files that appear in a folder and stop growing. It asks again and again instead of being told, which works
// on network mounts, too. Whether somebody still has a file open cannot be known there; that size and time stay the same is the sign.
// What is being downloaded (.part, .tmp, .crdownload) has no ending of a video, and so is left alone.
type Watcher struct {
	Dir      string
	Settle   time.Duration // how long a file must not change
	Interval time.Duration // from look to look
	Shallow  bool
	Root     string                       // of the outputs: left out where it lies in Dir
	Problem  func(path string, err error) // what could not be read, at each look; may be nil

	files map[string]*watched
}

// Defaults of a Watcher.
const (
	DefaultSettle   = 10 * time.Second
	DefaultInterval = 2 * time.Second
)

// watched is a file as it was last seen.
type watched struct {
	stamp
	since   time.Time // when it was first seen like that
	yielded bool
}

type stamp struct {
	size  int64
	mtime time.Time
	inode inode
}

// Run calls yield with each file that has settled, in natural order, and again when it was replaced by another. It returns when ctx
// ends, with its cause, or with the error of yield.
func (w *Watcher) Run(ctx context.Context, yield func(path string) error) error {
	for {
		for _, name := range w.look(ctx, time.Now()) {
			if err := yield(name); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(w.Interval):
		}
	}
}

// Pending returns how many files have been seen that have not settled.
func (w *Watcher) Pending() (n int) {
	for _, f := range w.files {
		if !f.yielded {
			n++
		}
	}
	return n
}

func (w *Watcher) problem(name string, err error) {
	if w.Problem != nil {
		w.Problem(name, err)
	}
}

// look returns what has settled by now. While the folder is away, nothing is forgotten: a mount may come back.
func (w *Watcher) look(ctx context.Context, now time.Time) (settled []string) {
	walk := &walk{shallow: w.Shallow, problem: w.problem, skip: w.skip(ctx)}
	err := walk.run(w.Dir)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		w.problem(w.Dir, missing(w.Dir, err))
		return nil
	}
	seen := map[string]*watched{}
	for _, f := range walk.files {
		state := w.state(f, now)
		seen[f.path] = state
		if !state.yielded && state.size > 0 && now.Sub(state.since) >= w.Settle { // an empty file is one that is about to begin
			state.yielded = true
			settled = append(settled, f.path)
		}
	}
	w.files = seen
	return settled
}

func (w *Watcher) state(f found, now time.Time) *watched {
	s := stamp{f.info.Size(), f.info.ModTime(), inodeOf(f.info)}
	if old := w.files[f.path]; old != nil && old.size == s.size && old.mtime.Equal(s.mtime) && old.inode == s.inode {
		return old
	}
	return &watched{stamp: s, since: now}
}

// skip leaves out the root, and our own outputs where they lie among the sources.
func (w *Watcher) skip(ctx context.Context) func(string, fs.FileInfo) bool {
	root, err := os.Stat(w.Root)
	var our map[inode]bool
	if within(w.Dir, w.Root) {
		our = outputsOf(w.Root)
	}
	return func(_ string, i fs.FileInfo) bool {
		return ctx.Err() != nil || err == nil && i.IsDir() && os.SameFile(i, root) || our[inodeOf(i)]
	}
}

// within says whether a folder is another or lies below it, whatever links lead there.
func within(dir, root string) bool {
	a, err := filepath.EvalSymlinks(dir)
	b, err2 := filepath.EvalSymlinks(root)
	if err != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(b, a)
	return err == nil && filepath.IsLocal(rel)
}
