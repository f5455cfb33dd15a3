package encode

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
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
	if err := syncFile(t.temp); err != nil {
		return outputError("finish", t.name, err)
	}
	if err := t.rename(); err != nil {
		return err
	}
	t.state = committed
	_ = t.temp.Close() // nothing was written through it
	return outputError("finish", t.name, syncDir(filepath.Dir(t.path)))
}

// rename replaces only what the policy has agreed to: a file that appeared while we worked is asked about
// as one that was there before.
func (t *Target) rename() error {
	if t.fresh {
		err := renameNew(t.temp.Name(), t.path)
		if !errors.Is(err, fs.ErrExist) {
			return outputError("finish", t.name, err)
		}
		if err := t.mayReplace(); err != nil {
			return err
		}
	}
	return outputError("finish", t.name, bare(os.Rename(t.temp.Name(), t.path)))
}

// renameNew renames without replacing anything, atomically where the file system can.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if unsupported(err) {
		return linkNew(from, to)
	}
	return err
}

func linkNew(from, to string) error {
	err := unix.Link(from, to)
	switch {
	case err == nil:
		return unix.Unlink(from)
	case unsupported(err) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK):
		return checkAndRename(from, to)
	}
	return err
}

// checkAndRename is for file systems with neither (FAT, some network ones): a small gap stays.
func checkAndRename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return unix.Rename(from, to)
}

func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// syncFile and syncDir pass over file systems that cannot sync.
func syncFile(f *os.File) error {
	if err := f.Sync(); !unsupported(err) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil { // it may be written but not read
		return nil
	}
	defer f.Close()
	return syncFile(f)
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
