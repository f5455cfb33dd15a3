package decode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// interrupter ends FFmpeg's blocking calls.
type interrupter struct {
	mu   sync.Mutex        // guards stop, which close frees
	stop *C.struct_vf_stop // C memory, since FFmpeg keeps the pointer
}

func (i *interrupter) open() { i.stop = (*C.struct_vf_stop)(C.calloc(1, C.sizeof_struct_vf_stop)) }

// Interrupt ends a blocking call on the input; frames read so far still come, then io.EOF. It may
// be called from any goroutine while the input is open.
func (i *interrupter) Interrupt() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		C.vf_interrupt(i.stop)
	}
}

func (i *interrupter) interrupted() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.stop != nil && C.vf_stopped(i.stop) != 0
}

func (i *interrupter) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stop != nil {
		C.free(unsafe.Pointer(i.stop))
		i.stop = nil
	}
}

// openPipe opens path, stdin for "-", if it is a pipe, so that reads never block in the system:
// FFmpeg then checks its interrupt flag, where a silent pipe would hold up Ctrl-C. The descriptor
// has its own open file description, so that other users of stdin are not affected. It returns -1
// if there is no pipe.
func (i *interrupter) openPipe(path string) (fd int, err error) {
	name := FileOf(path)
	if path == "-" {
		name = "/dev/fd/0"
	}
	st, err := os.Stat(name)
	if err != nil || st.Mode()&fs.ModeNamedPipe == 0 {
		return -1, nil
	}
	fd, err = unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil && path == "-" { // a pipe of another user: leave it as it is
		return -1, unix.SetNonblock(0, true)
	}
	if err != nil {
		return -1, &Error{Op: "open", Path: path, Err: err}
	}
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20)
	if err := i.waitForWriter(fd, path); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// waitForWriter keeps a named pipe without a writer from reading as empty.
func (i *interrupter) waitForWriter(fd int, path string) error {
	const look = 50 * time.Millisecond
	for !i.interrupted() {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, int(look.Milliseconds()))
		if n > 0 || err != nil && err != unix.EINTR {
			return nil
		}
	}
	return &Error{Op: "open", Path: path, Err: errors.New("interrupted while waiting for data")}
}
