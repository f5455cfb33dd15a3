package target

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"vidfilter/internal/contract"
)

// errDiscarded is a bug of the caller, but no reason to lose the process.
var errDiscarded = errors.New("the target was discarded")

// Commit makes the output durable and gives it its name. It may wait for the disk to write cached
// data. After an error the target is as before, and can be discarded, unless only its folder could
// not be synced, as the error states. An error that wraps ErrUnnamed leaves an output that Keep can
// name. A second call after success has no effect.
func (t *File) Commit() error {
	return t.settle(func() error {
		if t.distant != nil {
			var name contract.Name
			err := t.distant.ask("commit", "", &name)
			t.final = string(name)
			return err
		}
		return t.own.commit(func() error {
			err := t.own.rename()
			t.final = t.own.named(t.own.path)
			return err
		})
	})
}

// Final returns the name that Commit gave the output: Name, or another if its folder was renamed.
func (t *File) Final() string { return cmp.Or(t.final, t.name) }

// Keep commits an output that is less than was asked for, or that Commit could not name. It never
// replaces a file: if there is one, the output is named out.WORD.mp4, or out.WORD-2.mp4 if that is
// taken. It returns the name.
func (t *File) Keep(word string) (name string, err error) {
	name = t.name
	err = t.settle(func() (err error) {
		if t.distant != nil {
			var kept contract.Name
			err := t.distant.ask("keep", word, &kept)
			name = string(kept)
			return err
		}
		name, err = t.own.keep(word)
		return err
	})
	return name, err
}

// settle calls commit unless that is done, or cannot be.
func (t *File) settle(commit func() error) error {
	switch {
	case t.direct || t.state == committed:
		return nil
	case t.state == discarded:
		return OutputError("finish", t.name, errDiscarded)
	}
	if err := t.Open(); err != nil {
		return err
	}
	if err := commit(); err != nil {
		return err
	}
	t.state = committed
	return nil
}

// Discard removes the temporary file. After Commit or Discard it has no effect.
func (t *File) Discard() error {
	if t.state >= committed {
		return nil
	}
	t.state = discarded
	if t.distant != nil {
		return t.distant.ask("discard", "", nil)
	}
	return t.own.discard()
}

// Abandon removes the temporary file for a process that must end at once: unlike the other methods
// it may be called from any goroutine. After Commit it has no effect. In a sandbox the parent
// removes it.
func (t *File) Abandon() {
	if !t.direct && t.own != nil {
		_ = os.Remove(t.temp)
	}
}

// Beside returns the nth name, up to MaxBeside, of a file that goes with the target: out.WORD.mp4,
// then out.WORD-2.mp4.
func (t *File) Beside(word, ending string, n int) string {
	return asNamed(t.name, t.path, aside(t.path, word, ending, n))
}

// CreateBeside makes the file of that name, empty, unless there is one.
func (t *File) CreateBeside(word, ending string, n int) (made bool, err error) {
	if t.distant != nil {
		err = t.distant.do("create", request{Word: word, Ending: ending, N: n}, &made)
		return made, err
	}
	name := aside(t.path, word, ending, n)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, OutputError("create", asNamed(t.name, t.path, name), bare(err))
	}
	return true, f.Close()
}

// RemoveBeside removes the file of that name.
func (t *File) RemoveBeside(word, ending string, n int) error {
	if t.distant != nil {
		return t.distant.do("remove", request{Word: word, Ending: ending, N: n}, nil)
	}
	name := aside(t.path, word, ending, n)
	return OutputError("remove", asNamed(t.name, t.path, name), bare(os.Remove(name)))
}

// asNamed returns a place beside a target as the user would name it.
func asNamed(name, path, place string) string {
	dir, base := filepath.Split(name)
	if base != filepath.Base(path) { // a link leads elsewhere
		return place
	}
	return dir + filepath.Base(place)
}

// MaxBeside limits the files of one name and word beside each other.
const MaxBeside = 1000

// aside returns Beside's name by its full path.
func aside(path, word, ending string, n int) string {
	dir, base := filepath.Split(path)
	mark := "." + word
	if n > 1 {
		mark += "-" + strconv.Itoa(n)
	}
	mark += ending
	return dir + shorten(strings.TrimSuffix(base, filepath.Ext(base)), 255-len(mark)) + mark
}
