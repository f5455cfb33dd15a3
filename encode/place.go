package encode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
)

// place does what needs rights on a target's folder.
type place struct {
	name   string      // as the user wrote it
	path   string      // with links resolved; never begins with a dash
	info   fs.FileInfo // of the file that was there; nil if there was none
	direct bool
	dir    *os.File // its folder, whatever name that has by now; nil if direct, or without /proc
	temp   *os.File // nil if direct, or if it could not be made
	failed error    // the reason
	policy OverwritePolicy
	inputs []string
}

func newPlace(name string, policy OverwritePolicy, inputs []string) (*place, error) {
	path, info, err := locate(name)
	if err != nil {
		return nil, err
	}
	p := &place{name: name, path: path, info: info, policy: policy, inputs: inputs}
	p.direct = name == "-" || isDescriptor(path) || info != nil && !info.Mode().IsRegular()
	if !p.direct {
		removeStale(path)
		p.temp, p.failed = createTemp(name, path, info)
		p.dir = openDir(filepath.Dir(path))
	}
	return p, nil
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
func (p *place) at(path string) string {
	if p.dir == nil {
		return path
	}
	return in(p.dir, filepath.Base(path))
}

// named returns a file in the target's folder as the user would name it.
func (p *place) named(path string) string {
	if dir, moved := p.moved(); moved {
		return filepath.Join(dir, filepath.Base(path))
	}
	if path == p.path {
		return p.name
	}
	return asNamed(p.name, p.path, path)
}

// moved returns the name of the target's folder if it has another one by now.
func (p *place) moved() (dir string, moved bool) {
	if p.dir == nil {
		return "", false
	}
	was, err := p.dir.Stat()
	if err != nil {
		return "", false
	}
	if now, err := os.Stat(filepath.Dir(p.path)); err == nil && os.SameFile(was, now) {
		return "", false
	}
	dir, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", p.dir.Fd()))
	return dir, err == nil
}

// check returns the reason why the target must not be written.
func (p *place) check() error {
	if err := notAnInput(p.name, p.info, p.inputs); err != nil {
		return err
	}
	if p.direct {
		return p.checkDirect(p.info)
	}
	if p.info != nil {
		if err := p.mayReplace("exists"); err != nil {
			return err
		}
	}
	return p.failed
}

// mayReplace asks the policy. It refuses write-protected files, over which renaming would still
// work.
func (p *place) mayReplace(found string) error {
	if err := unix.Access(p.at(p.path), unix.W_OK); err != nil {
		return OutputError("replace", p.name, err)
	}
	if err := p.policy(p.name); err != nil {
		says := fmt.Sprintf("output %q %s", p.name, found)
		if err != errExists {
			says += ": " + err.Error()
		}
		return hint.Says(says, "-y replaces it", ErrOutput, err)
	}
	return nil
}

func (p *place) checkDirect(info fs.FileInfo) error {
	if n, ok := Descriptor(p.path); ok {
		return p.checkDescriptor(n)
	}
	if isDescriptor(p.path) {
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return Refusal("name a file in it", "output %q is a directory", p.name)
	case mode&fs.ModeSocket != 0:
		return Refusal("write to a file or a pipe", "output %q is a socket", p.name)
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return Refusal("write to a file", "output %q is a block device, perhaps a whole disk", p.name)
	}
	return OutputError("write", p.name, unix.Access(p.path, unix.W_OK))
}

// checkDescriptor refuses a descriptor that takes no data, or takes messages.
func (p *place) checkDescriptor(n int) error {
	if n == 2 {
		return Refusal("name a file, or - for stdout", "output %q is stderr, which takes the messages", p.name)
	}
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY {
		return Refusal("open it for writing, as in: vidfilter ... 3>FILE", "output %q is open for reading only", p.name)
	}
	return OutputError("write to", p.name, err)
}

// ErrUnnamed is wrapped by the error of an output that is complete, but could not get its name.
var ErrUnnamed = errors.New("output not named")

// commit makes the output durable and calls rename. After an error the place is as before, unless
// only its folder could not be synced.
func (p *place) commit(rename func() error) error {
	if p.temp == nil {
		return OutputError("finish", p.name, errDiscarded)
	}
	if err := durable.SyncFile(p.temp); err != nil {
		return OutputError("finish", p.name, err)
	}
	if err := rename(); err != nil {
		return hint.Says(err.Error(), hint.Of(err), err, ErrUnnamed)
	}
	_ = p.temp.Close() // nothing was written through it
	p.temp = nil
	defer p.closeDir()
	if err := durable.SyncDir(filepath.Dir(p.at(p.path))); err != nil {
		return fmt.Errorf("%w; the file is complete, but a power cut may still take it away",
			OutputError("sync the folder of", p.name, err))
	}
	return nil
}

// rename replaces a file only if the policy agrees to it, also one that appeared in the meantime.
func (p *place) rename() error {
	temp, path := p.at(p.temp.Name()), p.at(p.path)
	if p.info == nil {
		err := durable.RenameNew(temp, path)
		if !errors.Is(err, fs.ErrExist) {
			return OutputError("finish", p.name, err)
		}
		if err := p.mayReplace("has appeared meanwhile"); err != nil {
			return err
		}
	}
	return OutputError("finish", p.name, bare(os.Rename(temp, path)))
}

// keep commits the output under a name that is free, and returns the name.
func (p *place) keep(word string) (name string, err error) {
	err = p.commit(func() error {
		temp, place := p.at(p.temp.Name()), p.path
		err := durable.RenameNew(temp, p.at(place))
		for n := 1; n <= MaxBeside && errors.Is(err, fs.ErrExist); n++ {
			place = aside(p.path, word, filepath.Ext(p.path), n)
			err = durable.RenameNew(temp, p.at(place))
		}
		name = p.named(place)
		return OutputError("finish", p.name, err)
	})
	return name, err
}

// discard removes the temporary file, if there is one.
func (p *place) discard() error {
	if p.temp == nil {
		return nil
	}
	err := os.Remove(p.at(p.temp.Name()))
	_ = p.temp.Close()
	p.closeDir()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = OutputError("remove", p.temp.Name(), bare(err))
	p.temp = nil
	return err
}

func (p *place) closeDir() {
	if p.dir != nil {
		_ = p.dir.Close()
		p.dir = nil
	}
}
