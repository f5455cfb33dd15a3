package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Lock locks a file until it is closed or the process ends. flags may hold os.O_CREATE. If
// another process has the lock, the error is syscall.EWOULDBLOCK; Op is "lock" in all errors of
// locking.
func Lock(name string, flags int) (*os.File, error) { return lock(name, flags, unix.LOCK_NB) }

// LockWait makes a file if need be, and locks it once no other process has the lock.
func LockWait(name string) (*os.File, error) { return lock(name, os.O_CREATE, 0) }

func lock(name string, flags, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|flags, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|how); err != nil {
		_ = f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

// Space returns the bytes free for this user, and all bytes, of a path's file system. If the path
// does not exist yet, the folder above decides.
func Space(path string) (free, total int64, err error) {
	var s unix.Statfs_t
	err = unix.Statfs(path, &s)
	for errors.Is(err, syscall.ENOENT) && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		err = unix.Statfs(path, &s)
	}
	if err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(s.Bavail) * s.Frsize, int64(s.Blocks) * s.Frsize, nil
}
