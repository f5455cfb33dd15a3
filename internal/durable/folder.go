package durable

import (
	"os"
	"path/filepath"
	"time"
)

// TempFolder makes a folder for temporary files in dir, "" for the system's, and removes those that
// killed processes have left there. kind begins their names. A folder is in use while its lock is
// held. The system releases the lock when the owner dies, and the owner's children die with it.
func TempFolder(dir, kind string) (folder string, remove func(), err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	pattern := kind + "-*"
	sweepFolders(filepath.Join(dir, pattern))
	if folder, err = os.MkdirTemp(dir, pattern); err != nil {
		return "", nil, err
	}
	lock, err := lockFolder(folder, os.O_CREATE)
	if err != nil {
		_ = os.RemoveAll(folder)
		return "", nil, err
	}
	return folder, func() {
		_ = os.RemoveAll(folder)
		_ = lock.Close()
	}, nil
}

func lockFolder(folder string, flags int) (*os.File, error) {
	return Lock(filepath.Join(folder, "lock"), flags)
}

// unlocked is the age at which a folder without a lock is abandoned: owners lock right after
// making it.
const unlocked = time.Minute

func sweepFolders(pattern string) {
	left, _ := filepath.Glob(pattern)
	for _, folder := range left {
		lock, err := lockFolder(folder, 0)
		if os.IsNotExist(err) {
			if i, err := os.Lstat(folder); err == nil && i.IsDir() && time.Since(i.ModTime()) > unlocked {
				_ = os.RemoveAll(folder)
			}
			continue
		}
		if err != nil { // in use, or another user's
			continue
		}
		_ = os.RemoveAll(folder)
		_ = lock.Close()
	}
}
