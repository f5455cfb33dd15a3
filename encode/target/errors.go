package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// ErrOutput is wrapped by every error of the output: it exists, cannot be written, the disk is
// full, or the container cannot hold a stream.
var ErrOutput = contract.NewClass(contract.ExitOutput, "output not written")

// Refusal returns an error that wraps ErrOutput. advice may be "".
func Refusal(advice, format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...), advice, ErrOutput)
}

// OutputError describes the failure of an operation on the output: op is a verb, err the system's
// error. The result wraps ErrOutput and err. Errors that already wrap ErrOutput, and nil, are
// returned as they are.
func OutputError(op, path string, err error) error {
	if err == nil || errors.Is(err, ErrOutput) {
		return err
	}
	what, advice := cause(path, err)
	return hint.Says(fmt.Sprintf("%s %q: %s", op, path, what), advice, ErrOutput, err)
}

// causes rewords errors of the system.
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

// bare strips the operation and path that package os adds, since our messages have them.
func bare(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// freeSpace describes the room on path's file system; "" if it is not known or irrelevant, as for
// a pipe.
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
