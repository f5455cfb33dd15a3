package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"vidfilter/encode"
	"vidfilter/live"
	"vidfilter/live/web"
)

// recording writes what the filter makes to a file, beside the viewers.
type recording struct {
	ui   *ui
	name string
	rec  *encode.Recorder

	mu      sync.Mutex
	err     error
	done    bool // no more is recorded
	watch   *live.Watcher
	started time.Time
	at      time.Duration // of the last picture
}

// recordDepth is how many pictures may wait for the encoder before the oldest go.
const recordDepth = 8

func startRecording(o *liveOptions, u *ui) (*recording, error) {
	rec, err := encode.NewRecorder(o.Record, encode.RecordOptions{
		CRF: o.RecordCRF, Preset: o.RecordPreset, FrameRate: o.FPS, Threads: o.Threads, Software: "vidfilter " + versionName(),
		Policy: o.overwritePolicy(u, nil), Warn: u.warn,
	})
	if err != nil {
		return nil, err
	}
	return &recording{ui: u, name: o.Record, rec: rec}, nil
}

// run records until ctx or the input ends, or the disk fails.
func (r *recording) run(ctx context.Context, s *live.Session, changed func()) {
	watch := s.Watch(recordDepth)
	defer watch.Close()
	r.mu.Lock()
	r.watch = watch
	r.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go r.untilEnded(ctx, s, cancel)
	last := time.Now()
	for {
		pair, err := watch.Next(ctx)
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
	if err := r.finish(); err == nil {
		changed()
	}
}

// untilEnded ends the recording with a video that has ended.
func (r *recording) untilEnded(ctx context.Context, s *live.Session, end func()) {
	for {
		st, changed := s.State()
		if st.Status == live.Ended {
			time.Sleep(100 * time.Millisecond) // the last picture is on its way
			end()
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// put records a picture at the time when it was taken, or, where it was there before, when it was filtered anew.
func (r *recording) put(ctx context.Context, p *live.Pair) error {
	t := p.Taken
	if p.Repeated {
		t = time.Now()
	}
	r.mu.Lock()
	if r.started.IsZero() {
		r.started = t
	}
	at := t.Sub(r.started)
	if at <= r.at && at != 0 {
		at = r.at + time.Millisecond
	}
	r.at = at
	r.mu.Unlock()
	return r.rec.Put(ctx, p.Filtered.Retain(), at)
}

func (r *recording) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.done = err, true
	r.ui.warn("the recording has ended: %v", err)
}

// finish gives the recording its name. It may be called again, and returns the recording's error.
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
		r.ui.info("recorded %s: %s", r.name, seconds(r.rec.Seconds()))
	}
	return r.err
}

func (r *recording) close() { r.rec.Close() }

// state is for the page.
func (r *recording) state() *web.Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := &web.Recording{File: r.name, Seconds: r.rec.Seconds()}
	if r.watch != nil {
		w.Dropped = r.watch.Dropped()
	}
	if r.err != nil {
		w.Error = r.err.Error()
	}
	return w
}
