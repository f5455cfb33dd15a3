package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
	"vidfilter/internal/netfile"
)

// files does the work that needs rights on a target's folder.
type files struct {
	name   string      // as the user wrote it
	path   string      // with links resolved; never begins with a dash
	info   fs.FileInfo // of the previous file, or nil
	direct bool
	dir    *os.File // its folder, under any name; nil if direct, or without /proc
	temp   *os.File // nil if direct, or if it could not be made
	failed error    // the reason
	policy Policy
	inputs []string

	uploads context.Context // ends uploads to a store; nil if the target is not in a store
	replace bool            // the file in the store may be replaced
	remove  func()          // removes the folder of temp, of a target in a store
}

func newFiles(uploads context.Context, name string, policy Policy, inputs []string) (*files, error) {
	if netfile.IsStored(name) {
		return newStored(uploads, name, policy, inputs)
	}
	path, info, err := locate(name)
	if err != nil {
		return nil, err
	}
	f := &files{name: name, path: path, info: info, policy: policy, inputs: inputs}
	f.direct = name == "-" || isDescriptor(path) || info != nil && !info.Mode().IsRegular()
	if !f.direct {
		removeStale(path)
		f.temp, f.failed = createTemp(name, path, info)
		f.dir = openDir(filepath.Dir(path))
	}
	return f, nil
}

// openDir opens a folder to name files in it, if it can.
func openDir(name string) *os.File {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	dir := os.NewFile(uintptr(fd), name)
	if _, err := os.Stat(in(dir, ".")); err != nil {
		_ = dir.Close()
		return nil
	}
	return dir
}

// in names a file in an open folder.
func in(dir *os.File, base string) string { return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), base) }

// at names a file in the target's folder. Its path may lead elsewhere by now.
func (f *files) at(path string) string {
	if f.dir == nil {
		return path
	}
	return in(f.dir, filepath.Base(path))
}

// named returns a file in the target's folder as the user would name it.
func (f *files) named(path string) string {
	if dir, moved := f.moved(); moved {
		return filepath.Join(dir, filepath.Base(path))
	}
	if path == f.path {
		return f.name
	}
	return asNamed(f.name, f.path, path)
}

// moved returns the name of the target's folder if it has another one by now.
func (f *files) moved() (dir string, moved bool) {
	if f.dir == nil {
		return "", false
	}
	was, err := f.dir.Stat()
	if err != nil {
		return "", false
	}
	if now, err := os.Stat(filepath.Dir(f.path)); err == nil && os.SameFile(was, now) {
		return "", false
	}
	dir, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.dir.Fd()))
	return dir, err == nil
}

// check returns the reason why the target must not be written.
func (f *files) check() error {
	if f.uploads != nil {
		return f.checkStored()
	}
	if err := notAnInput(f.name, f.info, f.inputs); err != nil {
		return err
	}
	if f.direct {
		return f.checkDirect(f.info)
	}
	if f.info != nil {
		if err := f.mayReplace("exists"); err != nil {
			return err
		}
	}
	return f.failed
}

// mayReplace asks the policy. It refuses write-protected files, over which renaming would still
// work.
func (f *files) mayReplace(found string) error {
	if err := unix.Access(f.at(f.path), unix.W_OK); err != nil {
		return OutputError("replace", f.name, err)
	}
	return f.allowed(found)
}

// allowed asks the policy.
func (f *files) allowed(found string) error {
	if err := f.policy(f.name); err != nil {
		says := fmt.Sprintf("output %q %s", f.name, found)
		if err != errExists {
			says += ": " + err.Error()
		}
		return hint.Says(says, "-y replaces it", ErrOutput, err)
	}
	return nil
}

func (f *files) checkDirect(info fs.FileInfo) error {
	if n, ok := Descriptor(f.path); ok {
		return f.checkDescriptor(n)
	}
	if isDescriptor(f.path) {
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return Refusal("name a file in it", "output %q is a directory", f.name)
	case mode&fs.ModeSocket != 0:
		return Refusal("write to a file or a pipe", "output %q is a socket", f.name)
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return Refusal("write to a file", "output %q is a block device, perhaps a whole disk", f.name)
	}
	return OutputError("write", f.name, unix.Access(f.path, unix.W_OK))
}

// checkDescriptor refuses a descriptor that takes no data, or takes messages.
func (f *files) checkDescriptor(n int) error {
	if n == 2 {
		return Refusal("name a file, or - for stdout", "output %q is stderr, which takes the messages", f.name)
	}
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		return Refusal("open it for writing, as in: vidfilter ... 3>FILE", "output %q is open for reading only", f.name)
	}
	return OutputError("write to", f.name, err)
}

// ErrUnnamed is wrapped by the error of an output that is complete, but could not get its name.
var ErrUnnamed = errors.New("output not named")

// commit makes the output durable and calls rename. After an error the place is as before, unless
// only its folder could not be synced.
func (f *files) commit(rename func() error) error {
	if f.temp == nil {
		return OutputError("finish", f.name, errDiscarded)
	}
	if err := durable.SyncFile(f.temp); err != nil {
		return OutputError("finish", f.name, err)
	}
	if err := rename(); err != nil {
		return hint.Says(err.Error(), hint.Of(err), err, ErrUnnamed)
	}
	if f.uploads != nil {
		return f.discard()
	}
	_ = f.temp.Close() // it was not written to
	f.temp = nil
	defer f.closeDir()
	if err := durable.SyncDir(filepath.Dir(f.at(f.path))); err != nil {
		return fmt.Errorf("%w; the file is complete, but a power cut may still take it away",
			OutputError("sync the folder of", f.name, err))
	}
	return nil
}

// rename replaces a file only if the policy agrees to it, also one that appeared in the meantime.
func (f *files) rename() error {
	if f.uploads != nil {
		return f.upload()
	}
	temp, path := f.at(f.temp.Name()), f.at(f.path)
	if f.info == nil {
		err := durable.RenameNew(temp, path)
		if !errors.Is(err, fs.ErrExist) {
			return OutputError("finish", f.name, err)
		}
		if err := f.mayReplace("has appeared meanwhile"); err != nil {
			return err
		}
	}
	return OutputError("finish", f.name, bare(os.Rename(temp, path)))
}

// keep commits the output under a name that is free, and returns the name.
func (f *files) keep(word string) (name string, err error) {
	err = f.commit(func() (err error) {
		if f.uploads != nil {
			name, err = f.keepStored(word)
			return err
		}
		temp, place := f.at(f.temp.Name()), f.path
		err = durable.RenameNew(temp, f.at(place))
		for n := 1; n <= MaxBeside && errors.Is(err, fs.ErrExist); n++ {
			place = aside(f.path, word, filepath.Ext(f.path), n)
			err = durable.RenameNew(temp, f.at(place))
		}
		name = f.named(place)
		return OutputError("finish", f.name, err)
	})
	return name, err
}

// discard removes the temporary file, if there is one.
func (f *files) discard() error {
	if f.temp == nil {
		return nil
	}
	err := os.Remove(f.at(f.temp.Name()))
	_ = f.temp.Close()
	if f.remove != nil {
		f.remove()
	}
	f.closeDir()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = OutputError("remove", f.temp.Name(), bare(err))
	f.temp = nil
	return err
}

func (f *files) closeDir() {
	if f.dir != nil {
		_ = f.dir.Close()
		f.dir = nil
	}
}
