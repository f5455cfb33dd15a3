package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/internal/durable"
)

// Lock keeps other batches away from a root. The system gives it back when the process ends, however it does.
type Lock struct{ f *os.File }

// Holder is who has a lock.
type Holder struct {
	PID   int       `json:"pid"` // as seen on Host
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// Held is the error of a lock that another process has.
type Held struct {
	Root   string
	Holder Holder // zero if it could not be read
}

func (h *Held) Error() string {
	if h.Holder.PID == 0 {
		return fmt.Sprintf("another batch is at work in %q", h.Root)
	}
	since := h.Holder.Since.Local().Format("2006-01-02 15:04:05")
	return fmt.Sprintf("another batch is at work in %q: process %d on %s, since %s", h.Root, h.Holder.PID, h.Holder.Host, since)
}

// Hint says what to do.
func (h *Held) Hint() string { return "wait until it ends, or give another folder" }

// TryLock takes the lock of a root, which it makes if need be. The error is a *Held where another process has it.
func TryLock(root string) (*Lock, error) {
	dir := filepath.Join(root, StateDir)
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("lock %q: %w", root, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", root, err)
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &Held{root, holderOf(f)}
		}
		return nil, errorf("the file system must have locks; NFS has since version 4", "cannot lock %q: %v", root, err)
	}
	l := &Lock{f}
	if err := l.sign(); err != nil {
		l.Unlock()
		return nil, fmt.Errorf("lock %q: %w", root, err)
	}
	return l, nil
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// sign writes who has the lock. The file stays when the lock is given back: to remove it would let two have it.
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

func holderOf(f *os.File) (h Holder) {
	data := make([]byte, 1024)
	n, _ := f.ReadAt(data, 0)
	if json.Unmarshal(data[:n], &h) != nil {
		return Holder{} // it is being written
	}
	return h
}

// Unlock gives the lock back. A second call does nothing.
func (l *Lock) Unlock() {
	_ = l.f.Truncate(0)
	_ = l.f.Close()
}

// lockInterval is how often a waiting batch asks for the lock.
const lockInterval = 250 * time.Millisecond

// WaitLock is TryLock that waits until the lock is free or ctx ends. It calls waiting once, if it has to.
func WaitLock(ctx context.Context, root string, waiting func(*Held)) (*Lock, error) {
	var held *Held
	for {
		l, err := TryLock(root)
		first := held == nil
		if !errors.As(err, &held) {
			return l, err
		}
		if first {
			waiting(held)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}
