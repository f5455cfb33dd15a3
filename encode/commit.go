package encode

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"vidfilter/internal/durable"
)

// errDiscarded is a caller's bug, but no reason to lose the process.
var errDiscarded = errors.New("the target was discarded")

// Commit makes the output durable and gives it its name. It may take as long as the disk takes to write
// what the system still holds. After an error the target is as before: it can be discarded. A second call
// after success does nothing.
func (t *Target) Commit() error {
	switch {
	case t.direct || t.state == committed:
		return nil
	case t.state == discarded:
		return outputError("finish", t.name, errDiscarded)
	}
	if err := durable.SyncFile(t.temp); err != nil {
		return outputError("finish", t.name, err)
	}
	if err := t.rename(); err != nil {
		return err
	}
	t.state = committed
	_ = t.temp.Close() // nothing was written through it
	return outputError("finish", t.name, durable.SyncDir(filepath.Dir(t.path)))
}

// rename replaces only what the policy has agreed to: a file that appeared while we worked is asked about
// as one that was there before.
func (t *Target) rename() error {
	if t.fresh {
		err := durable.RenameNew(t.temp.Name(), t.path)
		if !errors.Is(err, fs.ErrExist) {
			return outputError("finish", t.name, err)
		}
		if err := t.mayReplace(); err != nil {
			return err
		}
	}
	return outputError("finish", t.name, bare(os.Rename(t.temp.Name(), t.path)))
}

// Discard removes what was written. After Commit or Discard it does nothing.
func (t *Target) Discard() error {
	if t.direct || t.state != open {
		return nil
	}
	t.state = discarded
	err := os.Remove(t.temp.Name())
	_ = t.temp.Close()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return outputError("remove", t.temp.Name(), bare(err))
}

// Abandon removes what was written, for a process that has to end in the middle of things: unlike the
// other methods it may be called from any goroutine. After Commit it does nothing.
func (t *Target) Abandon() {
	if !t.direct {
		_ = os.Remove(t.temp.Name())
	}
}
