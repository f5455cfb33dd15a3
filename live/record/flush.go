package record

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// flushing is how often the recording file reaches the disk: a power cut loses no more.
const flushing = time.Second

// flusher syncs a file in the background, since a slow disk must not delay pictures.
type flusher struct {
	last time.Time
	busy atomic.Bool
}

// flush syncs f if that is due and the last time is over.
func (s *flusher) flush(f *os.File) {
	if time.Since(s.last) < flushing || !s.busy.CompareAndSwap(false, true) {
		return
	}
	s.last = time.Now()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3) // f may be closed meanwhile
	if err != nil {
		s.busy.Store(false)
		return
	}
	go func() {
		_ = unix.Fdatasync(fd) // the end of the recording also syncs, and reports errors
		_ = unix.Close(fd)
		s.busy.Store(false)
	}()
}
