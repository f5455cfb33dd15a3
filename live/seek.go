package live

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"time"

	"vidfilter/decode"
	"vidfilter/internal/wake"
)

// Seek continues a file at a time from its start, with the first picture from there on. It has no
// effect on sources that cannot be played from any place.
func (s *Session) Seek(to time.Duration) { s.move(seek{to: max(0, to)}) }

// Step freezes a file and shows the next picture (+1) or the one before (-1).
func (s *Session) Step(n int) {
	s.Freeze(true)
	s.move(seek{step: n})
}

// Repeat plays a part of a file over and over, unless it is empty.
func (s *Session) Repeat(from, to time.Duration) {
	if from < 0 || to <= from+slip {
		from, to = 0, 0
	}
	s.setState(func(st *State) { st.RepeatFrom, st.RepeatTo = from.Seconds(), to.Seconds() })
}

// seek is a move within a file: to a time or, if step is not 0, to a neighbour.
type seek struct {
	to   time.Duration
	step int
}

func (s *Session) move(to seek) {
	s.mu.Lock()
	s.wantedPlace = &to
	s.mu.Unlock()
	wake.Up(s.moved)
}

func (s *Session) takeMove() *seek {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.wantedPlace
	s.wantedPlace = nil
	return to
}

// seekable is a source that can be played from any place.
type seekable interface {
	// Length is the whole's, 0 if it is unknown or the source cannot seek after all.
	Length() time.Duration
	// Seek returns the picture at a place, which is shown, and before it some that the filter needs
	// to know. Next continues behind it.
	Seek(ctx context.Context, to seek) ([]Shot, error)
}

// jump moves a source to where a viewer wants it, or back to the start of the part that repeats if
// it has left it. at is the place of the latest picture.
func (s *Session) jump(ctx context.Context, src Source, at time.Duration) error {
	to := s.takeMove()
	st, _ := s.State()
	if to == nil && st.RepeatTo > 0 && at >= seconds(st.RepeatTo)-slip {
		if rate := src.FrameRate(); rate > 1 { // the last picture of the part is shown as long as others
			if err := wake.Sleep(ctx, seconds(1/rate)); err != nil {
				return err
			}
		}
		to = &seek{to: seconds(st.RepeatFrom)}
	}
	can, ok := src.(seekable)
	if to == nil || !ok || can.Length() == 0 {
		return nil
	}
	shots, err := can.Seek(ctx, *to)
	for i, shot := range shots {
		if err != nil {
			shot.release()
			continue
		}
		shot.sought, shot.begins, shot.silent = true, i == 0 && to.step <= 0, i < len(shots)-1
		s.figures.take(shot)
		s.setFormat(shot, src)
		if !shot.silent {
			if to.step <= 0 {
				s.restartSound(shot.At)
			}
			s.hear(src, shot)
		}
		err = s.shots.wait(ctx, shot)
	}
	return err
}

func seconds(x float64) time.Duration { return time.Duration(math.Round(x * float64(time.Second))) }

// known is how many pictures before the shown one the filter gets after a seek.
const known = 4

// Length implements seekable.
func (f *file) Length() time.Duration { return f.length }

// canSeek reports whether a file can be opened again at another place.
func canSeek(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// slip is more than the rounding of times, and less than a picture lasts.
const slip = 500 * time.Microsecond

// Seek implements seekable.
func (f *file) Seek(ctx context.Context, to seek) ([]Shot, error) {
	f.pace.began = false
	switch {
	case to.step > 0:
		shot, err := f.following(ctx)
		if err != nil {
			return nil, err
		}
		return []Shot{f.sought(ctx, shot)}, nil
	case to.step < 0:
		// The place of the picture before is unknown until it has been read.
		for _, back := range []time.Duration{time.Second, 10 * time.Second, f.place} {
			shots, err := f.before(ctx, f.place-back, f.place-slip, true)
			if err != nil || len(shots) > 0 {
				return shots, err
			}
		}
		to.to = 0 // this is the first
	}
	return f.before(ctx, to.to-time.Second/3, to.to-slip, false)
}

// before opens the file at from, and returns the last pictures up to the first that is not before
// to: without it if less, which then comes next.
func (f *file) before(ctx context.Context, from, to time.Duration, less bool) (last []Shot, err error) {
	if err := f.reopen(ctx, max(0, from)); err != nil {
		return nil, err
	}
	var next *Shot
	for {
		shot, err := f.read(ctx)
		if errors.Is(err, io.EOF) && len(last) > 0 {
			break // the last picture of all
		}
		if err != nil {
			releaseAll(last)
			return nil, err
		}
		if shot.Place >= to && less {
			next = &shot
			break
		}
		last = append(last, shot)
		if len(last) > known+1 {
			last[0].release()
			last = last[1:]
		}
		if shot.Place >= to {
			break
		}
	}
	if n := len(last); n > 0 {
		last[n-1] = f.sought(ctx, f.dated(last[n-1]))
	}
	if next != nil {
		f.ahead = append(f.ahead, f.dated(*next))
	}
	return last, nil
}

// sought is shown for the picture at which a file goes on.
func (f *file) sought(ctx context.Context, shot Shot) Shot {
	_ = f.pace.wait(ctx, f.time(shot.Frame.PTS)) // the clock begins anew: there is no wait
	return f.shown(shot)
}

func releaseAll(shots []Shot) {
	for _, shot := range shots {
		shot.release()
	}
}

// reopen begins anew at a time from the file's start.
func (f *file) reopen(ctx context.Context, at time.Duration) error {
	if len(f.ahead) > 0 {
		*f.clock.end = f.ahead[0].At // its time is another picture's now
	}
	f.Close()
	f.in, f.heard, f.end = nil, nil, nil
	o := f.options
	o.Start = at
	in, err := decode.Open(ctx, f.path, f.pool, o)
	if err != nil {
		return err
	}
	f.in, f.start, f.clock.began = in, at, false
	if err := f.listen(); err != nil {
		f.in = nil // it is closed
		return err
	}
	return nil
}
