package record

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/encode/target"
)

// reserve creates the recording file under a free name.
func (r *Recorder) reserve() error {
	for n := 1; n <= target.MaxBeside; n++ {
		name := r.target.Beside("recording", ".mp4", n)
		made, err := r.target.CreateBeside("recording", ".mp4", n)
		if err != nil {
			return err
		}
		if !made {
			r.tellOf(name)
			continue
		}
		if r.file, err = os.OpenFile(name, os.O_RDWR, 0); err != nil {
			_ = r.target.RemoveBeside("recording", ".mp4", n)
			return target.OutputError("create", name, err)
		}
		r.number = n
		_ = unix.Flock(int(r.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		return nil
	}
	return target.Refusal("remove or rename those that are not needed", "there are %d unfinished recordings of %q", target.MaxBeside, r.target.Name())
}

// remove removes the recording file.
func (r *Recorder) remove() error { return r.target.RemoveBeside("recording", ".mp4", r.number) }

// Files are the files that are written: the recording file, and the one that gets the name.
func (r *Recorder) Files() []string { return []string{r.file.Name(), r.target.Path()} }

// tellOf warns of a recording file that exists.
func (r *Recorder) tellOf(name string) {
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
	case unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil:
		r.opts.Log.Warn(fmt.Sprintf("%q is being recorded by another run", name))
	case info.Size() > 0:
		r.opts.Log.Warn(fmt.Sprintf("%q is left over from an unfinished recording; it plays, and is kept", name))
	default:
		r.opts.Log.Warn(fmt.Sprintf("%q is left over from an unfinished recording; it is empty", name))
	}
}

// leave adds the recording file's name to an error.
func (r *Recorder) leave(err error) error {
	if r.bytes.Load() == 0 {
		return err
	}
	return fmt.Errorf("%w; the recording so far is in %q, which plays", err, r.file.Name())
}

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
