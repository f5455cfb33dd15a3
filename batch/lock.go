package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
)

// Lock keeps other batches away from a root. The system releases it when the process ends.
type Lock struct {
	f    *os.File
	root string
}

// Holder is the process that has a lock.
type Holder struct {
	PID   int       `json:"pid"` // as seen on Host
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// LockedError is the error of TryLock if another process has the lock.
type LockedError struct {
	Root   string
	Holder Holder // zero if it could not be read
}

func (e *LockedError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("another batch is at work in %q", e.Root)
	}
	since := e.Holder.Since.Local().Format("2006-01-02 15:04:05")
	return fmt.Sprintf("another batch is at work in %q: process %d on %s, since %s", e.Root, e.Holder.PID, e.Holder.Host, since)
}

// TryLock takes the lock of a root, and makes the root if need be. It returns a *LockedError if
// another process has the lock.
func TryLock(root string) (*Lock, error) {
	dir := filepath.Join(root, StateDir)
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("lock %q: %w", root, err)
	}
	name := filepath.Join(dir, "lock")
	f, err := durable.Lock(name, os.O_CREATE)
	var failed *fs.PathError
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, hint.Wrap(&LockedError{root, holderOf(name)}, "wait until it ends, or choose another folder")
	case errors.As(err, &failed) && failed.Op == "lock":
		return nil, errorf("use a file system with locks, such as NFS 4", "cannot lock %q: %v", root, failed.Err)
	case err != nil:
		return nil, fmt.Errorf("lock %q: %w", root, err)
	}
	l := &Lock{f, root}
	if err := l.sign(); err != nil {
		l.Unlock()
		return nil, fmt.Errorf("lock %q: %w", root, err)
	}
	return l, nil
}

// sign records the lock's holder. Unlock leaves the file there: if it were removed, two processes
// could have the lock.
func (l *Lock) sign() error {
	host, _ := os.Hostname()
	data, err := json.Marshal(Holder{os.Getpid(), host, time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err = l.f.WriteAt(append(data, '\n'), 0)
	return err
}

func holderOf(name string) (h Holder) {
	data, _ := os.ReadFile(name)
	if json.Unmarshal(data, &h) != nil {
		return Holder{} // it is being written
	}
	return h
}

// ErrFolderGone is the error of a folder that was removed, moved or replaced under a running
// batch.
var ErrFolderGone = errorf("run the same command again to make the lost outputs", "the folder was removed, or replaced by another")

// Check returns an error if the lock no longer belongs to its folder, so that another batch could
// take the new one. It ignores a folder that cannot be read: a mount may come back.
func (l *Lock) Check() error {
	own, err := l.f.Stat()
	if err != nil {
		return nil
	}
	now, err := os.Stat(filepath.Join(l.root, StateDir, "lock"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(own, now) {
		return fmt.Errorf("%q: %w", l.root, ErrFolderGone)
	}
	return nil
}

// Unlock releases the lock. A second call has no effect.
func (l *Lock) Unlock() {
	_ = l.f.Truncate(0)
	_ = l.f.Close()
}

// lockInterval is how often WaitLock tries.
const lockInterval = 250 * time.Millisecond

// WaitLock waits until it has the lock or ctx ends. If it has to wait, it calls waiting once.
func WaitLock(ctx context.Context, root string, waiting func(*LockedError)) (*Lock, error) {
	var locked *LockedError
	for {
		l, err := TryLock(root)
		first := locked == nil
		if !errors.As(err, &locked) {
			return l, err
		}
		if first {
			waiting(locked)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}
