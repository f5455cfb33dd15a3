package target

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
	"vidfilter/internal/netfile"
)

// newStored returns the place of an output in a store. It is written to a temporary file, which is
// uploaded once it is complete.
func newStored(uploads context.Context, address string, policy Policy, inputs []string) (*files, error) {
	f := &files{name: address, path: address, policy: policy, inputs: inputs, uploads: cmp.Or(uploads, context.Background())}
	folder, remove, err := durable.TempFolder("", "vidfilter-output")
	if err != nil {
		return nil, OutputError("create a file for", address, err)
	}
	f.remove = remove
	f.temp, err = os.OpenFile(filepath.Join(folder, "out"+netfile.Ending(address)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		remove()
		return nil, OutputError("create a file for", address, err)
	}
	return f, nil
}

// checkStored returns the reason why the address must not be written.
func (f *files) checkStored() error {
	if slices.Contains(f.inputs, f.name) {
		return Refusal("choose another name for the output", "output and input are both %s", f.name)
	}
	there, err := netfile.Exists(f.uploads, f.name)
	if err == nil && there {
		f.replace = true
		err = f.allowed("exists")
	}
	return ofStore(err)
}

// ofStore makes an error of a store one of the output.
func ofStore(err error) error {
	if err == nil || errors.Is(err, ErrOutput) {
		return err
	}
	return hint.Says(err.Error(), hint.Of(err), ErrOutput, err)
}

// upload stores the output, and asks the policy if a file has appeared.
func (f *files) upload() error {
	err := f.store(f.name, f.replace)
	if errors.Is(err, fs.ErrExist) {
		if err := f.allowed("has appeared meanwhile"); err != nil {
			return err
		}
		err = f.store(f.name, true)
	}
	return ofStore(err)
}

func (f *files) store(address string, replace bool) error {
	return netfile.Store(f.uploads, f.temp.Name(), address, netfile.Upload{Replace: replace})
}

// keepStored stores the output under a name that is free. An output that cannot be stored stays on
// this machine.
func (f *files) keepStored(word string) (name string, err error) {
	name = f.path
	err = fs.ErrExist
	if word != "finished" { // which could not be stored as f.path
		err = f.store(name, false)
	}
	for n := 1; n <= MaxBeside && errors.Is(err, fs.ErrExist); n++ {
		name = aside(f.path, word, path.Ext(f.path), n)
		err = f.store(name, false)
	}
	if err != nil {
		return f.keepHere(word)
	}
	return name, nil
}

// keepHere gives the output a name in the folder for temporary files.
func (f *files) keepHere(word string) (name string, err error) {
	err = fs.ErrExist
	for n := 1; n <= MaxBeside && errors.Is(err, fs.ErrExist); n++ {
		name = aside(filepath.Join(os.TempDir(), path.Base(f.path)), word, path.Ext(f.path), n)
		err = durable.RenameNew(f.temp.Name(), name)
	}
	return name, OutputError("keep", name, err)
}
