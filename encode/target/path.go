package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

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

var ownDescriptor = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:/dev|/proc/(?:self|thread-self|\d+)(?:/task/\d+)?)/fd/(\d{1,9})$`)
})

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
	m := ownDescriptor().FindStringSubmatch(path)
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
