package jetstream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"vidfilter/internal/durable"
)

// lock takes dir for this process; the lock ends with the process.
func lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	f, err := durable.Lock(filepath.Join(dir, "lock"), os.O_CREATE)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errorf("stop that process or wait for its end", err, "queue: %s is in use by another process", dir)
	case err != nil:
		return nil, fmt.Errorf("queue: %w", err)
	}
	return f.Close, nil
}
