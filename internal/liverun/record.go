package liverun

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"vidfilter/internal/cli"
	"vidfilter/internal/text"
	"vidfilter/live"
	"vidfilter/live/record"
	"vidfilter/live/web"
)

// recording writes filtered pictures to a file.
type recording struct {
	ui   *cli.UI
	name string
	rec  *record.Recorder

	session *live.Session
	watch   *live.Watcher
	whole   bool          // every picture of a file, at the file's times
	offset  time.Duration // from the file's clock to that of the recording

	mu      sync.Mutex
	err     error
	done    bool // recording has ended
	started time.Time
	at      time.Duration // time of the last picture
}

// recordDepth is how many pictures may wait for the encoder. Then the oldest are dropped or,
// with a file as input, reading waits.
const recordDepth = 8

func startRecording(o *Options, u *cli.UI) (*recording, error) {
	rec, err := record.New(o.Record, record.Options{
		CRF: o.RecordCRF, Preset: o.RecordPreset, FrameRate: o.FPS, Threads: o.Threads, Software: "vidfilter " + cli.Version(),
		Inputs: []string{o.Input}, Policy: o.OverwritePolicy(u, nil), Log: u.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &recording{ui: u, name: o.Record, rec: rec}, nil
}

// attach subscribes to a session, from its first picture on.
func (r *recording) attach(s *live.Session, in live.Input) {
	r.session, r.whole = s, in.Whole
	if r.whole {
		r.watch = s.WatchAll(recordDepth)
		r.watch.Listen()
	} else {
		r.watch = s.Watch(recordDepth)
	}
}

// run records until ctx or the input ends, or writing fails.
func (r *recording) run(ctx context.Context, changed func()) {
	defer r.watch.Close()
	var ending sync.WaitGroup
	defer ending.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ending.Go(func() { r.untilEnded(ctx, cancel) })
	last := time.Now()
	for {
		pair, err := r.watch.Next(ctx)
		if err != nil {
			break
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
		}
	}
	if err := r.hear(nil); err != nil {
		r.fail(err)
	}
	if err := r.finish(); err == nil {
		changed()
	}
}

// untilEnded ends the recording when the video ends.
func (r *recording) untilEnded(ctx context.Context, end func()) {
	for {
		st, changed := r.session.State()
		if st.Status == live.Ended {
			end() // queued pictures still come
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// put records a picture. A file's picture gets the file's time and is recorded once, with the
// filter in force when it came.
func (r *recording) put(ctx context.Context, p *live.Pair) error {
	at := p.At
	switch {
	case !r.whole:
		at = r.clock(p)
	case p.Repeated:
		return nil
	}
	r.rec.Sound(r.session.Track())
	if err := r.rec.Put(ctx, p.Filtered.Retain(), at); err != nil {
		return err
	}
	r.offset = at - p.At
	return r.hear(p)
}

// hear records the sound up to that of a picture, or all that is left.
func (r *recording) hear(p *live.Pair) error {
	for _, x := range r.watch.Sound(p) {
		if err := r.rec.PutSound(x, x.At+r.offset); err != nil {
			return err
		}
	}
	return nil
}

// clock returns the time a picture was taken or, if repeated, filtered again.
func (r *recording) clock(p *live.Pair) time.Duration {
	t := p.Taken
	if p.Repeated {
		t = time.Now()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.started.IsZero() {
		r.started = t
	}
	at := t.Sub(r.started)
	if at <= r.at && at != 0 {
		at = r.at + time.Millisecond
	}
	r.at = at
	return at
}

// dropped counts pictures missing from the recording: dropped by the input, the filter or the
// encoder.
func (r *recording) dropped() int64 {
	f := r.session.Figures()
	return r.watch.Dropped() + f.DroppedSource + f.DroppedFilter
}

func (r *recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.done = err, true
	r.ui.Warn("the recording has ended", "error", err)
}

// finish names the recording. Later calls return the same error.
func (r *recording) finish() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done {
		return r.err
	}
	r.done = true
	if r.rec.Seconds() == 0 {
		r.err = errors.New("nothing was recorded: no picture came")
		return r.err
	}
	if r.err = r.rec.Finish(context.Background()); r.err == nil {
		lost := ""
		if n := r.dropped(); n > 0 {
			lost = ", " + text.Count(n, "picture") + " left out"
		}
		r.ui.Info(fmt.Sprintf("recorded %s: %s%s", r.name, text.Seconds(r.rec.Seconds()), lost))
	}
	return r.err
}

func (r *recording) close() { r.rec.Close() }

// state is the recording's state for the page.
func (r *recording) state() *web.Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &web.Recording{File: r.name, Seconds: r.rec.Seconds(), Dropped: r.dropped()}
	if r.err != nil {
		w.Error = r.err.Error()
	}
	return w
}
