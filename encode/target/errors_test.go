package target

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

func TestOutputErrorWords(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "disk full, "},
		{syscall.EDQUOT, "disk full, "},
		{fmt.Errorf("av_write_frame: %w", syscall.ENOSPC), "MB free"},
		{syscall.EACCES, "no permission"},
		{syscall.EPERM, "no permission"},
		{syscall.EROFS, "read-only file system"},
		{syscall.EFBIG, "file too large"},
		{syscall.EPIPE, "closed the pipe"},
		{syscall.EBADF, "bad file descriptor"},
		{&os.PathError{Op: "open", Path: "/x", Err: syscall.EBUSY}, `write "out.mp4": device or resource busy`},
		{errors.New("something else"), `write "out.mp4": something else`},
	}
	for _, test := range tests {
		err := OutputError("write", "out.mp4", test.err)
		if !strings.Contains(err.Error(), test.want) || !errors.Is(err, ErrOutput) || !errors.Is(err, test.err) {
			t.Errorf("%v becomes %q, want %q and both wrapped", test.err, err, test.want)
		}
	}
}

func TestOutputErrorPassesOn(t *testing.T) {
	if err := OutputError("write", "x", nil); err != nil {
		t.Error("nil becomes", err)
	}
	first := OutputError("create", "x", syscall.EACCES)
	if err := OutputError("write", "y", first); err != first {
		t.Errorf("wrapped twice: %v", err)
	}
}

func TestFullDevice(t *testing.T) {
	target := mustOpen(t, "/dev/full", Refuse)
	f, err := os.OpenFile(target.Path(), os.O_WRONLY, 0)
	e2e.Must(t, err)
	defer f.Close()
	_, err = f.WriteString("x")
	if err := OutputError("write", "/dev/full", err); !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}
