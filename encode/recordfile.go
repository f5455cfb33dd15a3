package encode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// reserve makes the recording file under a name that nobody has.
func (r *Recorder) reserve() error {
	const ending = ".recording-1000.mp4"
	dir, base := filepath.Split(r.target.path)
	stem := shorten(strings.TrimSuffix(base, filepath.Ext(base)), 255-len(ending))
	for n := 1; n <= 1000; n++ {
		name := filepath.Join(dir, stem+".recording.mp4")
		if n > 1 {
			name = filepath.Join(dir, fmt.Sprintf("%s.recording-%d.mp4", stem, n))
		}
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			r.file = f
			_ = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
			return nil
		}
		if !errors.Is(err, os.ErrExist) {
			return outputError("create", name, err)
		}
		r.tellOf(name)
	}
	return refusal("remove or rename those that are not needed", "there are 1000 recordings of %q that were not finished", r.target.name)
}

// tellOf names a recording file that is there already.
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
		r.opts.Warn("%q is being recorded by another run", name)
	case info.Size() > 0:
		r.opts.Warn("%q is left of a recording that was not finished; it plays, and is kept", name)
	default:
		r.opts.Warn("%q is left of a recording that was not finished; it is empty", name)
	}
}

// leave adds to an error where the recording is.
func (r *Recorder) leave(err error) error {
	if r.bytes.Load() == 0 {
		return err
	}
	return &recordingError{err, r.file.Name()}
}

// recordingError is an error that leaves a recording file.
type recordingError struct {
	err  error
	path string
}

func (e *recordingError) Error() string {
	return fmt.Sprintf("%v; what was recorded is in %q, which plays", e.err, e.path)
}
func (e *recordingError) Unwrap() error { return e.err }

// Hint says what the user can do.
func (e *recordingError) Hint() string {
	var h interface{ Hint() string }
	if errors.As(e.err, &h) {
		return h.Hint()
	}
	return ""
}
