package liverun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"vidfilter/encode/target"
	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/live"
	"vidfilter/live/record"
	"vidfilter/live/web"
)

// recording writes filtered pictures to a file.
type recording struct {
	ui     *terminal.UI
	name   string
	folder *target.Folder // that the finished file is moved into; nil if it has its name
	rec    *record.Recorder
	stop   context.CancelFunc // set by recorder.run

	session *live.Session
	watch   *live.Watcher
	whole   bool          // every picture of a file, at the file's times
	offset  time.Duration // from the clock of the sound to the recording's
	before  int64         // pictures that the session had dropped at the start

	mu      sync.Mutex
	err     error
	done    bool // recording has ended
	paused  bool
	resumed bool // the next picture follows a pause
	started time.Time
	at      time.Duration // time of the last picture in the recording
	step    time.Duration // from the one before to it
	skipped time.Duration // in pauses
}

// recordDepth is how many pictures may wait for the encoder. Then the oldest are dropped or,
// with a file as input, reading waits.
const recordDepth = 8

func openRecording(o *Options, u *terminal.UI, path string, policy target.Policy) (*recording, error) {
	rec, err := record.New(path, record.Options{
		CRF: o.RecordCRF, Preset: o.RecordPreset, FrameRate: o.FPS, Threads: o.Threads, Software: "vidfilter " + cli.Version(),
		Inputs: []string{o.Input}, Policy: policy, Log: u.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &recording{ui: u, name: path, rec: rec}, nil
}

// attach subscribes to a session, from its next picture on.
func (r *recording) attach(s *live.Session, in live.Input) {
	r.session, r.whole = s, in.Kind == live.File
	r.before = r.dropped()
	if r.whole {
		r.watch = s.WatchAll(recordDepth)
	} else {
		r.watch = s.Watch(recordDepth)
	}
	r.watch.Listen()
}

// run records until ctx or the input ends, or writing fails.
func (r *recording) run(ctx context.Context, changed func()) {
	defer r.watch.Close()
	var ending sync.WaitGroup
	defer ending.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ending.Go(func() {
		if await(ctx, r.session, func(st live.State) bool { return st.Status == live.Ended }) {
			cancel() // queued pictures still come
		}
	})
	last, first := time.Now(), true
	for {
		pair, err := r.watch.Next(ctx)
		if err != nil {
			break
		}
		if first {
			st, _ := r.session.State()
			r.rec.Expect(st.FrameRate)
			first = false
		}
		err = r.put(ctx, pair)
		pair.Release()
		if err != nil {
			r.fail(err)
			changed()
			return
		}
		if time.Since(last) > time.Second {
			last = time.Now()
			changed()
			if err := enoughSpace(filepath.Dir(r.rec.Files()[0]), r.rec.Bytes()); err != nil {
				r.ui.Warn("the recording is ended", "error", err)
				r.full(err)
				break
			}
		}
	}
	if err := r.hear(nil); err != nil {
		r.fail(err)
		return
	}
	_ = r.finish()
}

// put records a picture. A file's picture gets the file's time and is recorded once, with the
// filter in force when it came.
func (r *recording) put(ctx context.Context, p *live.Pair) error {
	at, wanted := r.clock(p)
	if !wanted {
		if !p.Repeated {
			r.watch.Sound(p) // a pause is without its sound
		}
		return nil
	}
	r.rec.Sound(r.session.Track())
	if err := r.rec.Put(ctx, p.Filtered.Retain(), at); err != nil {
		return err
	}
	if !p.Repeated { // it has the time of its making
		r.offset = at - p.At
	}
	return r.hear(p)
}

// hear records the sound up to a picture's time, or all the rest.
func (r *recording) hear(p *live.Pair) error {
	for _, x := range r.watch.Sound(p) {
		if err := r.rec.PutSound(x, x.At+r.offset); err != nil {
			return err
		}
	}
	return nil
}

// clock returns a picture's time in the recording: by the file, or when it was taken or, if
// repeated, filtered again. A pause takes no time.
func (r *recording) clock(p *live.Pair) (at time.Duration, wanted bool) {
	if r.whole && p.Repeated {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused {
		return 0, false
	}
	t := p.Taken
	if p.Repeated {
		t = time.Now()
	}
	first := r.started.IsZero()
	if first {
		r.started = t
	}
	at = p.At
	if !r.whole {
		at = t.Sub(r.started)
	}
	at -= r.skipped
	if r.resumed && !first {
		r.skipped += at - r.at - r.step
		at = r.at + r.step
	}
	r.resumed = false
	if !first && at <= r.at {
		at = r.at + time.Millisecond
	}
	if !first {
		r.step = min(at-r.at, time.Second)
	}
	r.at = at
	return at, true
}

// pause leaves pictures out until it is called again.
func (r *recording) pause(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resumed = r.resumed || r.paused && !on
	r.paused = on
}

// dropped counts pictures missing from the recording: dropped by the input, the filter or the
// encoder.
func (r *recording) dropped() int64 {
	f, n := r.session.Figures(), -r.before
	if r.watch != nil {
		n += r.watch.Dropped()
	}
	return n + f.DroppedSource + f.DroppedFilter
}

// full notes the reason why a recording is finished early.
func (r *recording) full(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
}

// outcome reports whether the file is there, or never will be, and the error so far.
func (r *recording) outcome() (ended bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done, r.err
}

func (r *recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.done = err, true
	r.ui.Warn("the recording has ended", "error", err)
}

// finish names the recording. Later calls return the same error.
func (r *recording) finish() error {
	if ended, err := r.outcome(); ended {
		return err
	}
	name, err := r.complete()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.err, r.done = name, cmp.Or(err, r.err), true
	return r.err
}

// complete writes the file and returns its name.
func (r *recording) complete() (name string, err error) {
	name = r.name
	if r.rec.Seconds() == 0 {
		return name, errors.New("nothing was recorded: no picture came")
	}
	if err := r.rec.Finish(context.Background()); err != nil {
		return name, err
	}
	if r.folder != nil {
		base, err := r.folder.Publish(filepath.Base(name))
		if err != nil {
			return name, err
		}
		name = r.folder.Name(base)
	}
	lost := ""
	if n := r.dropped(); n > 0 {
		lost = ", " + text.Count(n, "picture") + " left out"
	}
	r.ui.Info(fmt.Sprintf("recorded %s: %s%s", name, text.Seconds(r.rec.Seconds()), lost))
	return name, nil
}

func (r *recording) close() { r.rec.Close() }

// state is the recording's state for the page.
func (r *recording) state() *web.Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &web.Recording{File: r.name, Seconds: r.rec.Seconds(), Dropped: r.dropped(), Paused: r.paused, Ended: r.done}
	if r.err != nil {
		w.Error = r.err.Error()
	}
	return w
}
