package encode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"vidfilter/internal/durable"
)

// errDiscarded is a bug of the caller, but no reason to lose the process.
var errDiscarded = errors.New("the target was discarded")

// Commit makes the output durable and gives it its name. It may wait for the disk to write cached
// data. After an error the target is as before, and can be discarded, unless only its folder could
// not be synced, which the error says. A second call after success does nothing.
func (t *Target) Commit() error { return t.settle(t.rename) }

// Keep commits an output that is less than was asked for. It never replaces a file: if there is
// one, the output is named out.WORD.mp4, or out.WORD-2.mp4 if that is taken. It returns the name.
func (t *Target) Keep(word string) (name string, err error) {
	name = t.name
	err = t.settle(func() error {
		err := durable.RenameNew(t.temp.Name(), t.path)
		for n := 1; n <= MaxBeside && errors.Is(err, fs.ErrExist); n++ {
			place := aside(t.path, word, filepath.Ext(t.path), n)
			name = t.asNamed(place)
			err = durable.RenameNew(t.temp.Name(), place)
		}
		return OutputError("finish", t.name, err)
	})
	return name, err
}

// Beside returns the nth name, up to MaxBeside, of a file that goes with the target: out.WORD.mp4,
// then out.WORD-2.mp4.
func (t *Target) Beside(word, ending string, n int) string {
	return t.asNamed(aside(t.path, word, ending, n))
}

// asNamed returns a place beside the target as the user would name it.
func (t *Target) asNamed(place string) string {
	dir, base := filepath.Split(t.name)
	if base != filepath.Base(t.path) { // a link leads elsewhere
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

// settle makes the output durable and calls rename.
func (t *Target) settle(rename func() error) error {
	switch {
	case t.direct || t.state == committed:
		return nil
	case t.state == discarded:
		return OutputError("finish", t.name, errDiscarded)
	}
	if err := durable.SyncFile(t.temp); err != nil {
		return OutputError("finish", t.name, err)
	}
	if err := rename(); err != nil {
		return err
	}
	t.state = committed
	_ = t.temp.Close() // nothing was written through it
	if err := durable.SyncDir(filepath.Dir(t.path)); err != nil {
		return fmt.Errorf("%w; the file is complete, but a power cut may still take it away",
			OutputError("sync the folder of", t.name, err))
	}
	return nil
}

// rename replaces a file only if the policy agrees to it, also one that appeared in the meantime.
func (t *Target) rename() error {
	if t.fresh {
		err := durable.RenameNew(t.temp.Name(), t.path)
		if !errors.Is(err, fs.ErrExist) {
			return OutputError("finish", t.name, err)
		}
		if err := t.mayReplace(); err != nil {
			return err
		}
	}
	return OutputError("finish", t.name, bare(os.Rename(t.temp.Name(), t.path)))
}

// Discard removes the temporary file. After Commit or Discard it does nothing.
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
	return OutputError("remove", t.temp.Name(), bare(err))
}

// Abandon removes the temporary file for a process that must end at once: unlike the other methods
// it may be called from any goroutine. After Commit it does nothing.
func (t *Target) Abandon() {
	if !t.direct {
		_ = os.Remove(t.temp.Name())
	}
}
