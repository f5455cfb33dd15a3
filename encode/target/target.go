// Package target holds the place of an output: a temporary file beside it, which takes its name
// once it is complete. In a sandbox the parent of the process acts where rights on the folder are
// needed.
package target

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"vidfilter/internal/sandbox"
)

// Policy returns nil to let an output that exists be replaced, or an error with the reason. It may
// ask the user and wait. It is called when a target is opened and, if a file has appeared there in
// the meantime, when it is committed.
type Policy func(path string) error

// Replace lets every output be replaced.
func Replace(string) error { return nil }

// Refuse lets no output be replaced.
func Refuse(string) error { return errExists }

// AskParent has the parent of a process in a sandbox ask the user.
func AskParent(string) error { return errAsk }

var (
	errExists = errors.New("it exists")
	errAsk    = errors.New("the user is to be asked")
)

// File is the place of an output. Data goes to a temporary file beside it, which Commit renames
// into place and Discard removes. For an output in a store the file is in the system's folder, and
// Commit uploads it. A target is for one goroutine.
//
// A process in a sandbox has no rights on the folder: see Broker.
type File struct {
	name    string // as the user wrote it
	final   string // the name it took; "" if that is not known
	path    string // with links resolved; never begins with a dash
	temp    string // the temporary file, "" if direct
	direct  bool
	state   state
	own     *files  // of this process
	distant *remote // or of the parent
}

type state uint8

const (
	prepared state = iota
	open
	committed
	discarded
)

// Open checks that path can be written and creates the temporary file. It follows symbolic links,
// so that the file behind them is replaced; "-" is stdout. It refuses a target that is the same
// file as one of inputs, by any name. In inputs "-" is stdin, and names that are no files are
// ignored. All errors wrap ErrOutput, and leave the file system as it was.
//
// The program opens every file with a name given by the user here, so that no output replaces its
// own source.
func Open(path string, policy Policy, inputs []string) (*File, error) {
	t, err := Prepare(path, policy, inputs)
	if err != nil {
		return nil, err
	}
	if err := t.Open(); err != nil {
		_ = t.Discard()
		return nil, err
	}
	return t, nil
}

// Prepare creates the temporary file, if it can: Open reports whether path can be written. So a
// process can enter its sandbox in between, and refuse its input before the user is asked about the
// output.
func Prepare(path string, policy Policy, inputs []string) (*File, error) {
	if box := sandbox.Inside(); box != nil {
		return prepareRemote(box, path, policy, inputs)
	}
	return prepareFiles(context.Background(), path, policy, inputs)
}

// prepareFiles is Prepare of this process itself. The end of uploads ends an upload to a store.
func prepareFiles(uploads context.Context, path string, policy Policy, inputs []string) (*File, error) {
	p, err := newFiles(uploads, path, policy, inputs)
	if err != nil {
		return nil, err
	}
	t := &File{name: path, path: p.path, direct: p.direct, own: p}
	if p.temp != nil {
		t.temp = p.temp.Name()
	}
	return t, nil
}

// Open checks that the target can be written.
func (t *File) Open() error {
	if t.state != prepared {
		return nil
	}
	check := func() error { return t.own.check() }
	if t.distant != nil {
		check = func() error { return t.distant.ask("open", "", nil) }
	}
	if err := check(); err != nil {
		return err
	}
	t.state = open
	return nil
}

// Name returns the target's name as the user gave it.
func (t *File) Name() string { return t.name }

// URL returns FFmpeg's name of the file to write to. A descriptor is written as it is: to open it
// by a name needs rights that it does not, and would overwrite others' data.
func (t *File) URL() string {
	if n, ok := Descriptor(t.path); ok {
		return fmt.Sprintf("pipe:%d", n)
	}
	return "file:" + t.Path()
}

// OpenFile opens the file to write to.
func (t *File) OpenFile() (*os.File, error) {
	n, ok := Descriptor(t.path)
	if !ok {
		return os.OpenFile(t.Path(), os.O_WRONLY|os.O_TRUNC, 0)
	}
	own, err := unix.FcntlInt(uintptr(n), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), t.name), nil
}

// Path returns the name to write to: the temporary file's, or the target's own if it is direct
// ("-" for stdout).
func (t *File) Path() string {
	if t.direct {
		return t.path
	}
	return t.temp
}

// Direct reports whether data takes effect at once: the target is a pipe or a device, which cannot
// be renamed over. Commit and Discard then have no effect.
func (t *File) Direct() bool { return t.direct }

// Explain replaces the temporary name in an error's message by the user's.
func (t *File) Explain(err error) error {
	if t.direct || t.temp == "" || err == nil {
		return err
	}
	quoted := func(s string) string { s = strconv.Quote(s); return s[1 : len(s)-1] }
	r := &renamed{err, strings.NewReplacer(t.Path(), t.name, quoted(t.Path()), quoted(t.name))}
	if r.Error() == err.Error() {
		return err
	}
	return r
}

type renamed struct {
	err  error
	name *strings.Replacer
}

func (r *renamed) Error() string { return r.name.Replace(r.err.Error()) }
func (r *renamed) Unwrap() error { return r.err }
