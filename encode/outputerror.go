package encode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// targetError is an error of the output in words, with what can be done about it.
type targetError struct {
	msg, hint string
	err       error // may be nil
}

func (e *targetError) Error() string { return e.msg }
func (e *targetError) Hint() string  { return e.hint }

func (e *targetError) Unwrap() []error {
	if e.err == nil {
		return []error{ErrOutput}
	}
	return []error{ErrOutput, e.err}
}

func refusal(hint, format string, args ...any) error {
	return &targetError{fmt.Sprintf(format, args...), hint, nil}
}

// outputError says what went wrong with a file of the output: op is a verb, err what the system said.
// The result wraps ErrOutput and err; nil and what wraps ErrOutput already are returned as they are.
func outputError(op, path string, err error) error {
	if err == nil || errors.Is(err, ErrOutput) {
		return err
	}
	what, hint := cause(path, err)
	return &targetError{fmt.Sprintf("%s %q: %s", op, path, what), hint, err}
}

// causes are the system's errors that deserve better words.
var causes = []struct {
	err        error
	what, hint string
}{
	{syscall.EFBIG, "file too large for this file system or for the limit set on files", "see ulimit -f"},
	{syscall.EROFS, "read-only file system", "choose another directory for the output"},
	{fs.ErrPermission, "no permission", "choose another directory for the output, or change its permissions"},
	{syscall.ENAMETOOLONG, "name too long", "choose a shorter name"},
	{syscall.EPIPE, "the reader has closed the pipe", ""},
	{syscall.EIO, "input/output error, the device may be failing", ""},
	{syscall.ETXTBSY, "the file is a program that is running", ""},
	{syscall.EMFILE, "too many open files", "see ulimit -n"},
	{fs.ErrNotExist, "no such file or directory", ""},
	{syscall.ENOTDIR, "a part of the path is not a directory", ""},
	{syscall.ELOOP, "too many symbolic links", ""},
}

func cause(path string, err error) (what, hint string) {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return "disk full" + freeSpace(path), "free some space, or choose another directory for the output"
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.what, c.hint
		}
	}
	return bare(err).Error(), ""
}

// bare takes off the operation and path that package os puts around an error; ours say it once.
func bare(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// freeSpace says what is left of path's file system, "" when that cannot be found out or path is a pipe
// or a device, which need none of it.
func freeSpace(path string) string {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() || path == "stdout" {
		return ""
	}
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil && unix.Statfs(filepath.Dir(path), &s) != nil {
		return ""
	}
	return fmt.Sprintf(", %.1f MB free on its file system", float64(s.Bavail)*float64(s.Bsize)/1e6)
}
