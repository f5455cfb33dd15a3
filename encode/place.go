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
	}
	return p, nil
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
		if err := p.mayReplace(); err != nil {
			return err
		}
	}
	return p.failed
}

// mayReplace asks the policy. It refuses write-protected files, over which renaming would still
// work.
func (p *place) mayReplace() error {
	if err := unix.Access(p.path, unix.W_OK); err != nil {
		return OutputError("replace", p.name, err)
	}
	if err := p.policy(p.name); err != nil {
		says := fmt.Sprintf("output %q exists", p.name)
		if err != errExists {
			says += ": " + err.Error()
		}
		return hint.Says(says, "-y replaces it", ErrOutput, err)
	}
	return nil
}

func (p *place) checkDirect(info fs.FileInfo) error {
	if p.name == "-" || isDescriptor(p.path) {
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
		return err
	}
	_ = p.temp.Close() // nothing was written through it
	p.temp = nil
	if err := durable.SyncDir(filepath.Dir(p.path)); err != nil {
		return fmt.Errorf("%w; the file is complete, but a power cut may still take it away",
			OutputError("sync the folder of", p.name, err))
	}
	return nil
}

// rename replaces a file only if the policy agrees to it, also one that appeared in the meantime.
func (p *place) rename() error {
	if p.info == nil {
		err := durable.RenameNew(p.temp.Name(), p.path)
		if !errors.Is(err, fs.ErrExist) {
			return OutputError("finish", p.name, err)
		}
		if err := p.mayReplace(); err != nil {
			return err
		}
	}
	return OutputError("finish", p.name, bare(os.Rename(p.temp.Name(), p.path)))
}

// keep commits the output under a name that is free, and returns the name.
func (p *place) keep(word string) (name string, err error) {
	name = p.name
	err = p.commit(func() error {
		err := durable.RenameNew(p.temp.Name(), p.path)
		for n := 1; n <= MaxBeside && errors.Is(err, fs.ErrExist); n++ {
			place := aside(p.path, word, filepath.Ext(p.path), n)
			name = asNamed(p.name, p.path, place)
			err = durable.RenameNew(p.temp.Name(), place)
		}
		return OutputError("finish", p.name, err)
	})
	return name, err
}

// discard removes the temporary file, if there is one.
func (p *place) discard() error {
	if p.temp == nil {
		return nil
	}
	err := os.Remove(p.temp.Name())
	_ = p.temp.Close()
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = OutputError("remove", p.temp.Name(), bare(err))
	p.temp = nil
	return err
}
