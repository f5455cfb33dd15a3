package encode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OverwritePolicy decides about an output that exists: nil lets it be replaced, and the error says why
// not. It may ask a person and wait. It is called when a target is opened and, if a file appears at its
// place in the meantime, when it is committed.
type OverwritePolicy func(path string) error

// Replace lets every output be replaced.
func Replace(string) error { return nil }

// Refuse lets none be replaced.
func Refuse(string) error { return errors.New("file exists") }

// Target is the place where an output appears when it is whole: what is written goes to a temporary file
// beside it, which Commit renames into place and Discard removes. A target is used from one goroutine.
type Target struct {
	name   string // as the person wrote it
	path   string // where the output goes, links resolved; never begins with a dash
	temp   *os.File
	direct bool
	fresh  bool // nothing was at path when the target was opened
	policy OverwritePolicy
	state  targetState
}

type targetState uint8

const (
	open targetState = iota
	committed
	discarded
)

// OpenTarget checks that path can be written and creates the temporary file. A symbolic link is followed,
// so that the file behind it is what gets replaced; "-" is stdout. inputs are the files that are read, "-"
// being stdin: a target that is the same file as one of them, by whatever way, is refused. Names in inputs
// that are no files are passed over. All errors wrap ErrOutput, and the file system is as it was.
func OpenTarget(path string, policy OverwritePolicy, inputs ...string) (*Target, error) {
	place, info, err := locate(path)
	if err != nil {
		return nil, err
	}
	if err := notAnInput(path, info, inputs); err != nil {
		return nil, err
	}
	t := &Target{name: path, path: place, policy: policy, fresh: info == nil}
	if path == "-" || isDescriptor(place) || info != nil && !info.Mode().IsRegular() {
		t.direct = true
		err = t.checkDirect(info)
	} else {
		err = t.prepare(info)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Target) prepare(old fs.FileInfo) error {
	if old != nil {
		if err := t.mayReplace(); err != nil {
			return err
		}
	}
	removeStale(t.path)
	return t.create(old)
}

// Path returns the name to write to: the temporary file's, or the target's own where it is direct ("-"
// for stdout).
func (t *Target) Path() string {
	if t.direct {
		return t.path
	}
	return t.temp.Name()
}

// Direct says that what is written takes effect at once: the target is a pipe or a device, which cannot
// be renamed over. Commit and Discard then do nothing.
func (t *Target) Direct() bool { return t.direct }

// Explain puts the name that the person knows in place of the temporary one in an error's words.
func (t *Target) Explain(err error) error {
	if t.direct || err == nil {
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

// mayReplace asks the policy, and refuses files that are protected from writing: renaming over them would
// work all the same.
func (t *Target) mayReplace() error {
	if err := unix.Access(t.path, unix.W_OK); err != nil {
		return outputError("replace", t.name, err)
	}
	if err := t.policy(t.name); err != nil {
		return &targetError{fmt.Sprintf("output %q exists: %v", t.name, err), "-y replaces it", err}
	}
	return nil
}

func (t *Target) checkDirect(info fs.FileInfo) error {
	if t.name == "-" || isDescriptor(t.path) {
		return nil
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return refusal("name a file in it", "output %q is a directory", t.name)
	case mode&fs.ModeSocket != 0:
		return refusal("write to a file or a pipe", "output %q is a socket", t.name)
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return refusal("write to a file", "output %q is a block device, perhaps a whole disk", t.name)
	}
	return outputError("write", t.name, unix.Access(t.path, unix.W_OK))
}

// locate follows the links at path to the place itself, which need not exist; info is nil then.
func locate(path string) (place string, info fs.FileInfo, err error) {
	if path == "-" {
		info, err = os.Stdout.Stat()
		return path, info, outputError("write to", "stdout", err)
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
			return "", nil, outputError("write", place, err)
		case info.Mode()&fs.ModeSymlink == 0:
			return place, info, nil
		case isDescriptor(place): // what such a link reads as is a description, not always a path
			info, err = os.Stat(place)
			return place, info, outputError("write", place, err)
		}
		if place, err = readlink(place); err != nil {
			return "", nil, err
		}
	}
	return "", nil, outputError("write", path, syscall.ELOOP)
}

// readlink returns what a link names, seen from where we are. It does not clean the path: a ".." behind a
// linked directory means another place than it seems.
func readlink(link string) (string, error) {
	to, err := os.Readlink(link)
	if err != nil {
		return "", outputError("follow", link, err)
	}
	if !filepath.IsAbs(to) {
		to = filepath.Dir(link) + "/" + to
	}
	return to, nil
}

// splitDir splits a path into its directory, links resolved, and a name in it.
func splitDir(path string) (dir, base string, err error) {
	dir, base = filepath.Split(path)
	if base == "" || base == "." || base == ".." {
		return "", "", refusal("name a file in it", "output %q is a directory", path)
	}
	if dir == "" {
		dir = "."
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", refusal(fmt.Sprintf("make it first: mkdir -p %q", filepath.Clean(dir)),
			"output %q: its directory does not exist", path)
	}
	if err != nil {
		return "", "", outputError("write", path, err)
	}
	return resolved, base, nil
}

// isDescriptor says whether a resolved path names an open descriptor, as /dev/stdout and /dev/fd/1 do.
// What is written there goes to where the descriptor stands, so it cannot be replaced.
func isDescriptor(place string) bool {
	return strings.HasPrefix(place, "/proc/") && filepath.Base(filepath.Dir(place)) == "fd"
}

// notAnInput compares files, not names: links, mounts and descriptors all lead to the same one.
func notAnInput(path string, info fs.FileInfo, inputs []string) error {
	if info == nil || info.Mode()&fs.ModeSocket != 0 { // a socket has two directions
		return nil
	}
	for _, in := range inputs {
		if other, err := statInput(in); err == nil && sameFile(info, other) {
			return refusal("choose another name for the output", "output %q and input %q are the same file", path, in)
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

// sameFile also sees two nodes of one device.
func sameFile(a, b fs.FileInfo) bool {
	if os.SameFile(a, b) {
		return true
	}
	x, ok1 := a.Sys().(*syscall.Stat_t)
	y, ok2 := b.Sys().(*syscall.Stat_t)
	devices := a.Mode()&fs.ModeDevice != 0 && a.Mode().Type() == b.Mode().Type()
	return ok1 && ok2 && devices && x.Rdev == y.Rdev
}
