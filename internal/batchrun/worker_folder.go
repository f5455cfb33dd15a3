package batchrun

import (
	"os"
	"path/filepath"
	"time"

	"vidfilter/internal/durable"
)

const workPattern = "vidfilter-worker-*"

// openWork makes a folder for parts in dir, "" for the system's, and removes those of killed
// workers. A folder is in use while its lock is held. The system releases the lock when the
// owner dies, and the owner's children die with it.
func openWork(dir string) (work string, remove func(), err error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", nil, err
	}
	sweepWork(dir)
	if work, err = os.MkdirTemp(dir, workPattern); err != nil {
		return "", nil, err
	}
	lock, err := lockWork(work, os.O_CREATE)
	if err != nil {
		_ = os.RemoveAll(work)
		return "", nil, err
	}
	return work, func() {
		_ = os.RemoveAll(work)
		_ = lock.Close()
	}, nil
}

func lockWork(work string, flags int) (*os.File, error) {
	return durable.Lock(filepath.Join(work, "lock"), flags)
}

// unlocked is the age at which a folder without a lock is abandoned: owners lock right after
// making it.
const unlocked = time.Minute

func sweepWork(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, workPattern))
	for _, work := range left {
		lock, err := lockWork(work, 0)
		if os.IsNotExist(err) {
			if i, err := os.Lstat(work); err == nil && i.IsDir() && time.Since(i.ModTime()) > unlocked {
				_ = os.RemoveAll(work)
			}
			continue
		}
		if err != nil { // in use, or another user's
			continue
		}
		_ = os.RemoveAll(work)
		_ = lock.Close()
	}
}
