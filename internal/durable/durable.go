// Package durable writes files that survive a power cut, and renames them without harm to others.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// RenameNew renames a file without replacing another, atomically where the file system can. It
// returns fs.ErrExist if there is one.
func RenameNew(from, to string) error {
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

// checkAndRename is for file systems with neither (FAT, some network ones), with a small race.
func checkAndRename(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	}
	return unix.Rename(from, to)
}

func unsupported(err error) bool {
	return errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// SyncFile makes the content of f durable. Like SyncDir, it ignores file systems that cannot
// sync.
func SyncFile(f *os.File) error {
	if err := f.Sync(); !unsupported(err) {
		return err
	}
	return nil
}

// SyncDir makes the names in a folder durable.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil { // the folder may be write-only
		return nil
	}
	defer f.Close()
	return SyncFile(f)
}

// MkdirAll makes a folder and its missing parents, and their names durable.
func MkdirAll(dir string) error {
	if IsDir(dir) {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !IsDir(dir) {
		return err
	}
	return SyncDir(parent)
}

// IsDir reports whether there is a folder, or a link to one.
func IsDir(name string) bool {
	i, err := os.Stat(name)
	return err == nil && i.IsDir()
}

// TempPrefix begins the names of files that WriteFile or WriteSecret has not finished.
const TempPrefix = ".tmp-"

// WriteFile atomically writes or replaces a file, and makes it durable.
func WriteFile(name string, data []byte) error { return writeFile(name, data, 0o644) }

// WriteSecret is WriteFile for files that only their owner may read.
func WriteSecret(name string, data []byte) error { return writeFile(name, data, 0o600) }

func writeFile(name string, data []byte, mode os.FileMode) (err error) {
	dir := filepath.Dir(name)
	f, err := os.CreateTemp(dir, TempPrefix+"*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil && !unsupported(err) && !errors.Is(err, syscall.EPERM) {
		return err
	}
	if err := SyncFile(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return SyncDir(dir)
}
