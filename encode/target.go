package encode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"vidfilter/internal/sandbox"
)

// OverwritePolicy returns nil to let an output that exists be replaced, or an error that says why
// not, beside that it exists. It may ask the user and wait. It is called when a target is opened
// and, if a file has appeared there in the meantime, when it is committed.
type OverwritePolicy func(path string) error

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

// Target is the place of an output. Data goes to a temporary file beside it, which Commit renames
// into place and Discard removes. A target is for one goroutine.
//
// A process in a sandbox has no rights on the folder: see Keeper.
type Target struct {
	name    string // as the user wrote it
	final   string // the name it took; "" if that is not known
	path    string // with links resolved; never begins with a dash
	temp    string // the temporary file, "" if direct
	direct  bool
	state   targetState
	own     *place  // of this process
	distant *remote // or of the parent
}

type targetState uint8

const (
	prepared targetState = iota
	open
	committed
	discarded
)

// OpenTarget checks that path can be written and creates the temporary file. It follows symbolic
// links, so that the file behind them is replaced; "-" is stdout. It refuses a target that is the
// same file as one of inputs, in whatever way; in inputs "-" is stdin, and names that are no files
// are ignored. All errors wrap ErrOutput, and leave the file system as it was.
//
// The program opens every file with a name given by the user here, so that none replaces its own
// source.
func OpenTarget(path string, policy OverwritePolicy, inputs []string) (*Target, error) {
	t, err := PrepareTarget(path, policy, inputs)
	if err != nil {
		return nil, err
	}
	if err := t.Open(); err != nil {
		_ = t.Discard()
		return nil, err
	}
	return t, nil
}

// PrepareTarget creates the temporary file, if it can: Open tells whether path can be written, as
// OpenTarget does. So a process can enter its sandbox in between, and refuse its input before the
// user is asked about the output.
func PrepareTarget(path string, policy OverwritePolicy, inputs []string) (*Target, error) {
	if box := sandbox.Inside(); box != nil {
		return prepareRemote(box, path, policy, inputs)
	}
	p, err := newPlace(path, policy, inputs)
	if err != nil {
		return nil, err
	}
	t := &Target{name: path, path: p.path, direct: p.direct, own: p}
	if p.temp != nil {
		t.temp = p.temp.Name()
	}
	return t, nil
}

// Open checks that the target can be written.
func (t *Target) Open() error {
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
func (t *Target) Name() string { return t.name }

// URL returns what FFmpeg calls the file to write to. A descriptor is written as it is: to open it
// by a name needs rights that it does not, and would write over what others have written.
func (t *Target) URL() string {
	if n, ok := Descriptor(t.path); ok {
		return fmt.Sprintf("pipe:%d", n)
	}
	return "file:" + t.Path()
}

// File opens what is to be written to.
func (t *Target) File() (*os.File, error) {
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
func (t *Target) Path() string {
	if t.direct {
		return t.path
	}
	return t.temp
}

// Direct reports whether data takes effect at once: the target is a pipe or a device, which cannot
// be renamed over. Commit and Discard then do nothing.
func (t *Target) Direct() bool { return t.direct }

// Explain replaces the temporary name in an error's message by the user's.
func (t *Target) Explain(err error) error {
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

// locate follows the links at path to the place itself, which need not exist; info is nil then.
func locate(path string) (place string, info fs.FileInfo, err error) {
	if path == "-" {
		info, err = os.Stdout.Stat()
		return path, info, OutputError("write to", "stdout", err)
	}
	place = path
	for range 40 {
		dir, base, err := splitDir(place)
		if err != nil {
			return "", nil, err
		}
		place = strings.TrimSuffix(dir, "/") + "/" + base // not cleaned: "./-" must not become "-"
		info, err := os.Lstat(place)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return place, nil, nil
		case err != nil:
			return "", nil, OutputError("write", place, err)
		case info.Mode()&fs.ModeSymlink == 0:
			return place, info, nil
		case isDescriptor(place): // such a link reads as a description, not always as a path
			info, err = os.Stat(place)
			if n, own := Descriptor(place); own { // by the same number in a process in a sandbox
				place = fmt.Sprintf("/dev/fd/%d", n)
			}
			return place, info, OutputError("write", path, err)
		}
		if place, err = readlink(place); err != nil {
			return "", nil, err
		}
	}
	return "", nil, OutputError("write", path, syscall.ELOOP)
}

// readlink returns the target of a link as seen from the working directory. It does not clean the
// path: ".." behind a linked directory leads elsewhere.
func readlink(link string) (string, error) {
	to, err := os.Readlink(link)
	if err != nil {
		return "", OutputError("follow", link, err)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Dir(link) + "/" + to
	}
	return to, nil
}

// splitDir splits a path into its directory, with links resolved, and a name in it.
func splitDir(path string) (dir, base string, err error) {
	dir, base = filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return "", "", Refusal("name a file in it", "output %q is a directory", path)
	}
	if dir == "" {
		dir = "."
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", Refusal(fmt.Sprintf("make it first: mkdir -p %q", filepath.Clean(dir)),
			"output %q: its directory does not exist", path)
	}
	if err != nil {
		return "", "", OutputError("write", path, err)
	}
	return resolved, base, nil
}

var ownDescriptor = regexp.MustCompile(`^(?:/dev|/proc/(?:self|thread-self|\d+)(?:/task/\d+)?)/fd/(\d{1,9})$`)

// Descriptor returns the number of the descriptor of this process that a path names, as -,
// /dev/stdout, /dev/fd/3 and /proc/self/fd/3 do.
func Descriptor(path string) (n int, ok bool) {
	switch path {
	case "-", "/dev/stdout":
		return 1, true
	case "/dev/stdin":
		return 0, true
	case "/dev/stderr":
		return 2, true
	}
	m := ownDescriptor.FindStringSubmatch(path)
	if m == nil {
		return 0, false
	}
	if pid, of := strings.CutPrefix(path, "/proc/"); of {
		if pid, _, _ = strings.Cut(pid, "/"); strings.Trim(pid, "0123456789") == "" && pid != strconv.Itoa(os.Getpid()) {
			return 0, false
		}
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// DescriptorAt follows the links at a path, and returns the number of the open descriptor of this
// process to which it leads.
func DescriptorAt(path string) (n int, ok bool) {
	place, info, err := locate(path)
	if err != nil || info == nil {
		return 0, false
	}
	return Descriptor(place)
}

// isDescriptor reports whether a resolved path names an open descriptor, as /dev/stdout and
// /dev/fd/1 do. Data goes to where the descriptor leads, so it cannot be replaced.
func isDescriptor(place string) bool {
	return strings.HasPrefix(place, "/dev/fd/") || strings.HasPrefix(place, "/proc/") && filepath.Base(filepath.Dir(place)) == "fd"
}

// notAnInput compares files, not names: links, mounts and descriptors lead to the same one.
func notAnInput(path string, info fs.FileInfo, inputs []string) error {
	if info == nil || info.Mode()&fs.ModeSocket != 0 { // a socket has two directions
		return nil
	}
	for _, in := range inputs {
		if other, err := statInput(in); err == nil && sameFile(info, other) {
			return Refusal("choose another name for the output", "output %q and input %q are the same file", path, in)
		}
	}
	return nil
}

func statInput(name string) (fs.FileInfo, error) {
	if name == "-" {
		return os.Stdin.Stat()
	}
	return os.Stat(strings.TrimPrefix(name, "file:"))
}

// sameFile also recognizes two nodes of one device.
func sameFile(a, b fs.FileInfo) bool {
	if os.SameFile(a, b) {
		return true
	}
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	devices := a.Mode()&fs.ModeDevice != 0 && a.Mode().Type() == b.Mode().Type()
	return ok1 && ok2 && devices && x.Rdev == y.Rdev
}
