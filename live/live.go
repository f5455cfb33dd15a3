// Package live filters pictures as they are taken. Sources are a camera, a video at its own speed,
// a test picture and a browser's camera; each picture comes out as a Pair of original and
// filtered. Latency comes before completeness: queues are short, and drop and count their oldest
// pictures.
package live

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"vidfilter/denoise/noise"
	"vidfilter/internal/wake"
	"vidfilter/kernels"
	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// Options of New.
type Options struct {
	Input   Input
	Backend kernels.Backend // stays the caller's
	Filter  FilterSettings  // in force at the start

	// LookAhead is how many pictures a denoised one waits for, 0 or 1.
	LookAhead int

	// Times returns the GPU's times for all pictures so far; nil on the CPU.
	Times func() Times

	// Compile prepares a GPU's kernels without delaying pictures, and returns when they are ready;
	// nil if nothing has to be compiled.
	Compile func(ctx context.Context) error
}

// Times are the times that the stages of a GPU took.
type Times struct {
	Frames                  int64
	CopyIn, Kernel, CopyOut time.Duration // of all frames together
}

// Session is one run: one source, one filter, any number of watchers. It is safe for concurrent
// use.
type Session struct {
	o      Options
	frames *pipeline.Pool // of originals; decoders draw by Take, which has no limit
	shots  *mailbox[Shot] // taken, not yet filtered

	results *pipeline.Pool
	restart chan struct{}
	moved   chan struct{} // a place is wanted

	mu           sync.Mutex
	set          settings // as the person set them
	inForce      settings // those of the next picture, once the backend is ready
	frozen       bool
	state        State
	changed      chan struct{} // closed at the next change of state
	watchers     map[*Watcher]struct{}
	last         *Pair // the latest pair, for new watchers
	shape        shape // of its results
	track        *sound.Track
	sounds       []sound.Packet // whose pictures are not shown yet
	soundReaders map[*SoundReader]struct{}
	zero         time.Time // when a picture at 0 by the sound's clock would have been taken
	ids          int64

	wantedPlace *seek // nil: none

	wanted chan struct{} // the filter has been set
	tuned  chan struct{} // the filter in force has changed

	figures figures
	noise   atomic.Pointer[noise.Model] // of the latest picture
}

// mostResults limits the filtered pictures in use, of which a pair has two at most. All mailboxes
// together hold fewer, so the filter never waits for a watcher.
const mostResults = 256

// New prepares a session; Run runs it. Errors are the filter's.
func New(o Options) (*Session, error) {
	if _, err := o.Filter.Resolved(); err != nil {
		return nil, err
	}
	s := &Session{
		o: o, set: settings{filter: o.Filter}, inForce: settings{filter: o.Filter},
		frames:  pipeline.NewPool(o.Backend.Input(), 1),
		results: pipeline.NewPool(o.Backend, mostResults),
		shots:   newMailbox(1, Shot.release),
		restart: make(chan struct{}, 1), moved: make(chan struct{}, 1), wanted: make(chan struct{}, 1), tuned: make(chan struct{}, 1),
		changed: make(chan struct{}), watchers: map[*Watcher]struct{}{}, soundReaders: map[*SoundReader]struct{}{},
		state: State{Status: Starting},
	}
	s.figures.times = o.Times
	return s, nil
}

// Run takes and filters pictures until ctx ends, and returns its cause, or a permanent error: an
// input other than a camera that fails to open at the first attempt, or a failed device. It is
// called once; watchers end with it.
func (s *Session) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for _, part := range []func(context.Context) error{s.capture, s.filterAll, s.tune, s.tuneAhead} {
		wg.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	s.close()
	return context.Cause(ctx)
}

func (s *Session) close() {
	s.shots.close()
	s.mu.Lock()
	last, all, soundReaders := s.last, s.watchers, s.soundReaders
	s.last, s.watchers, s.soundReaders = nil, nil, nil
	s.mu.Unlock()
	for e := range soundReaders {
		e.box.close()
	}
	for w := range all {
		w.box.close()
	}
	if last != nil {
		last.Release()
	}
	s.frames.Close()
	s.results.Close()
}

// Start returns the filter that was in force at the start.
func (s *Session) Start() FilterSettings { return s.o.Filter }

// Restart plays an input that has ended from its start.
func (s *Session) Restart() { wake.Up(s.restart) }

// retry is how long a camera that cannot be had is left alone.
const retry = time.Second

// capture keeps the source running and reports its state.
func (s *Session) capture(ctx context.Context) error {
	for first := true; ; first = false {
		s.setStatus(Starting, "", "")
		err := s.play(ctx)
		if errors.Is(err, io.EOF) {
			s.finish(ctx) // the last picture counts
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, io.EOF) && (s.o.Input.Loop || s.repeats()):
			continue
		case errors.Is(err, io.EOF):
			s.setStatus(Ended, "the video has ended", "")
		case s.o.Input.Again:
			s.setError(Waiting, err)
		case first && s.figures.taken() == 0:
			return err
		default:
			s.setError(Failed, err)
		}
		var again <-chan time.Time
		if s.o.Input.Again {
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.restart:
		case <-s.moved:
		case <-again:
		}
	}
}

// play takes pictures until the source ends or fails.
func (s *Session) play(ctx context.Context) error {
	src, err := s.o.Input.Open(ctx, s.frames, s.setStatus)
	if err != nil {
		return err
	}
	defer src.Close()
	s.followSpeaker(src)
	var at time.Duration
	for {
		if err := s.whileFrozen(ctx); err != nil {
			return err
		}
		if err := s.jump(ctx, src, at); err != nil {
			return err
		}
		if at = 0; s.holds() {
			continue
		}
		shot, err := src.Next(ctx)
		if err != nil {
			s.hear(src, shot) // the last of the sound
			return err
		}
		at = shot.Place
		s.figures.take(shot)
		s.setFormat(shot, src)
		s.hear(src, shot)
		if err := s.pass(ctx, shot); err != nil {
			return err
		}
	}
}

// pass hands a picture to the filter.
func (s *Session) pass(ctx context.Context, shot Shot) error {
	if s.needsAll() {
		return s.shots.wait(ctx, shot)
	}
	if s.shots.put(shot) {
		s.figures.droppedFilter.Add(1)
	}
	return nil
}

// finish waits until all pictures passed on have been filtered and handed to the watchers.
func (s *Session) finish(ctx context.Context) {
	end := make(chan struct{})
	if s.shots.wait(ctx, Shot{end: end}) != nil {
		return
	}
	select {
	case <-end:
		s.mu.Lock()
		s.soundUntil(nil)
		s.mu.Unlock()
	case <-ctx.Done():
	}
}

// whileFrozen pauses a source that can pause: a video resumes at the same place, a camera does
// not.
func (s *Session) whileFrozen(ctx context.Context) error {
	for s.o.Input.Kind == File {
		s.mu.Lock()
		frozen, changed := s.frozen, s.changed
		s.mu.Unlock()
		if !frozen || s.figures.taken() == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-s.moved:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// holds reports whether a file is frozen, and has shown a picture.
func (s *Session) holds() bool {
	return s.o.Input.Kind == File && s.isFrozen() && s.figures.taken() > 0
}

// repeats reports whether a part of a file repeats: the file's end is the part's, too.
func (s *Session) repeats() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.RepeatTo > 0 {
		s.wantedPlace = &seek{to: seconds(s.state.RepeatFrom)}
	}
	return s.state.RepeatTo > 0
}

// Set changes the filter from the next picture on; of two that are compared, the chosen one. If the
// GPU has to compile a kernel, the old filter applies meanwhile.
func (s *Session) Set(change func(*FilterSettings) error) error {
	for tried := (FilterSettings{}); ; {
		to, picture, err := s.setTo(change, tried)
		if err != nil || picture == nil {
			return err
		}
		err = s.try(to, picture)
		picture.Release()
		if err != nil {
			return err
		}
		tried = to
	}
}

// setTo changes the filter, unless the pictures would be framed in another way that has not been
// tried: then it returns the filter to be, and the latest picture, which is the caller's.
func (s *Session) setTo(change func(*FilterSettings) error, tried FilterSettings) (FilterSettings, *pipeline.Frame, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.set
	if err := change(&to.filter); err != nil {
		return to.filter, nil, err
	}
	if err := s.can(to.filter); err != nil {
		return to.filter, nil, err
	}
	if !to.filter.framesAs(s.set.filter) {
		if s.last != nil && !to.filter.framesAs(tried) {
			return to.filter, s.last.source.Retain(), nil
		}
		s.state.Notice = ""
	}
	if to = to.framedAlike(); to != s.set {
		s.state.Touched = true
		s.settle(to)
	}
	return to.filter, nil, nil
}

// settle makes settings those of the pictures to come; s.mu is held.
func (s *Session) settle(to settings) {
	s.set = to
	s.announce()
	wake.Up(s.wanted)
}

// can reports an invalid filter, or one that the backend lacks.
func (s *Session) can(f FilterSettings) error {
	to, err := f.Resolved()
	if err != nil {
		return err
	}
	if b, limited := s.o.Backend.(interface{ Can(kernels.Stage) error }); limited {
		for _, stage := range to.Stages() {
			if err := b.Can(stage); err != nil {
				return err
			}
		}
	}
	return nil
}

// Freeze holds the picture, or lets it go on. The filter still applies to it.
func (s *Session) Freeze(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen != on {
		s.frozen = on
		s.announce()
	}
}
