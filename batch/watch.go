package batch

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"
)

// Watcher finds files that appear in a folder and stop growing. It polls, which works on network
// mounts, too. There it cannot know whether a file is still open, so it waits until size and time
// stay the same. Downloads in progress (.part, .tmp, .crdownload) have no video's ending and are
// ignored.
type Watcher struct {
	Dir      string
	Settle   time.Duration // how long a file must stay unchanged
	Interval time.Duration // between two looks
	Root     string        // of the outputs: left out if it lies in Dir
	// called at each look for unreadable files
	Problem func(path string, err error)
	// called at each look with a file that was yielded and is away, until it returns true
	Left func(path string) bool

	files map[string]*watched
}

// DefaultInterval is a usual Interval.
const DefaultInterval = 2 * time.Second

// watched is a file as last seen.
type watched struct {
	stamp
	since   time.Time // when it was first seen like that
	yielded bool
}

type stamp struct {
	size, mtime int64 // mtime in nanoseconds
	inode       inode
}

// Run calls yield with each file that has settled, in natural order, and again if it was
// replaced. It returns the cause of ctx when that ends, or the error of yield.
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

// look returns the files that have settled by now. If the folder is away, it keeps all: a mount may
// come back.
func (w *Watcher) look(ctx context.Context, now time.Time) (settled []string) {
	walk := &walk{problem: w.Problem, skip: w.skip(ctx)}
	err := walk.run(w.Dir)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		w.Problem(w.Dir, missing(w.Dir, err))
		return nil
	}
	seen := map[string]*watched{}
	for _, f := range walk.files {
		state := w.state(f, now)
		seen[f.path] = state
		// an empty file is about to be written
		if !state.yielded && state.size > 0 && now.Sub(state.since) >= w.Settle {
			state.yielded = true
			settled = append(settled, f.path)
		}
	}
	for path, f := range w.files {
		if seen[path] == nil && f.yielded && !w.Left(path) {
			seen[path] = f
		}
	}
	w.files = seen
	return settled
}

func (w *Watcher) state(f foundFile, now time.Time) *watched {
	s := stamp{f.info.Size(), f.info.ModTime().UnixNano(), inodeOf(f.info)}
	if old := w.files[f.path]; old != nil && old.stamp == s {
		return old
	}
	return &watched{stamp: s, since: now}
}

// skip leaves out the root, and our own outputs among the sources.
func (w *Watcher) skip(ctx context.Context) func(fs.FileInfo) bool {
	var our map[inode]bool
	if within(w.Dir, w.Root) {
		our = outputsOf(w.Root)
	}
	return skipOwn(ctx, w.Root, our)
}

// within reports whether dir is root or lies below it, with links resolved.
func within(dir, root string) bool {
	a, err := filepath.EvalSymlinks(dir)
	b, err2 := filepath.EvalSymlinks(root)
	if err != nil || err2 != nil {
		return false
	}
	rel, err := filepath.Rel(b, a)
	return err == nil && filepath.IsLocal(rel)
}
