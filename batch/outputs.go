package batch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"vidfilter/internal/durable"
)

// Outputs is a folder of outputs.
type Outputs struct {
	Root   string
	Within string // a folder above it that no link leads out of; "": links lead where they like

	Uploads context.Context // its end ends uploads to a store; may be nil
}

// at calls f with the path of a file below the root, given with slashes. With Within the path is
// good during the call, and only links in the file's own name are followed.
func (o Outputs) at(rel string, f func(name string) error) error {
	name := filepath.Join(o.Root, filepath.FromSlash(rel))
	if o.Within == "" {
		return f(name)
	}
	return o.within(filepath.Dir(name), func(root *os.Root, dir string) error {
		folder, err := root.Open(dir)
		if err != nil {
			return err
		}
		defer folder.Close()
		return f(fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(name)))
	})
}

// make makes the folder of a file below the root.
func (o Outputs) make(rel string) error {
	dir := filepath.Dir(filepath.Join(o.Root, filepath.FromSlash(rel)))
	if o.Within == "" {
		return durable.MkdirAll(dir)
	}
	return o.within(dir, func(root *os.Root, dir string) error {
		if _, err := root.Stat(dir); err == nil {
			return nil
		}
		err := root.MkdirAll(dir, 0o777)
		for above := dir; err == nil && above != "."; {
			above = filepath.Dir(above)
			err = syncIn(root, above)
		}
		return err
	})
}

// syncIn is durable.SyncDir.
func syncIn(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return durable.SyncFile(f)
}

func (o Outputs) within(path string, f func(root *os.Root, rel string) error) error {
	root, err := os.OpenRoot(o.Within)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(o.Within, path)
	if err == nil {
		err = f(root, rel)
	}
	return errors.Join(err, root.Close())
}

// Folder opens a folder below the root, which it makes if need be.
func (o Outputs) Folder(path string) (*os.Root, error) {
	if o.Within == "" {
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, err
		}
		return os.OpenRoot(path)
	}
	var folder *os.Root
	err := o.within(path, func(root *os.Root, rel string) (err error) {
		if err = root.MkdirAll(rel, 0o777); err == nil {
			folder, err = root.OpenRoot(rel)
		}
		return err
	})
	return folder, err
}
