package liverun

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"vidfilter/encode/target"
	"vidfilter/internal/durable"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/live"
	"vidfilter/live/web"
)

// recorder makes the recordings of a run, one at a time: --record's, from the start, and recordings
// that viewers begin.
type recorder struct {
	o      *Options
	ui     *terminal.UI
	folder *target.Folder // of viewers' recordings; nil: they cannot begin any
	why    string         // the reason

	session *live.Session
	input   live.Input
	changed func()

	ctx     context.Context // nil before begin
	running sync.WaitGroup
	mu      sync.Mutex
	latest  *recording // that is running, or was last
	errs    []error
}

// openRecorder opens the folder and the file of the options.
func openRecorder(o *Options, u *terminal.UI) (*recorder, error) {
	r := &recorder{o: o, ui: u, why: "to record from this page, start vidfilter live with --record-dir FOLDER"}
	if o.Record != "" {
		rec, err := openRecording(o, u, o.Record, o.OverwritePolicy(u, nil))
		if err != nil {
			return nil, err
		}
		r.latest = rec
	}
	if err := r.openFolder(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *recorder) openFolder() (err error) {
	if r.o.RecordDir == "" {
		return nil
	}
	if r.folder, err = target.OpenFolder(r.o.RecordDir); err != nil {
		return err
	}
	r.why = ""
	for _, left := range r.folder.Left() {
		r.ui.Warn(fmt.Sprintf("%q is left over from an unfinished recording; it plays, and is kept", r.folder.Name(left)))
	}
	return nil
}

// files are the files to write now, and the folder of those to come.
func (r *recorder) files() (all []string) {
	if r.latest != nil {
		all = r.latest.rec.Files()
	}
	if r.folder != nil {
		all = append(all, r.folder.Work())
	}
	return all
}

// attach subscribes the recording of --record to a session, from its first picture on.
func (r *recorder) attach(s *live.Session, in live.Input, changed func()) {
	r.session, r.input, r.changed = s, in, changed
	if r.latest != nil {
		r.latest.attach(s, in)
	}
}

// begin runs the recording of --record, and lets viewers begin others until ctx ends. over is
// closed when that recording has ended, or at once without one.
func (r *recorder) begin(ctx context.Context) (over <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx = ctx
	if r.latest != nil {
		return r.run(r.latest)
	}
	none := make(chan struct{})
	close(none)
	return none
}

// run runs a recording to its end, at which it closes over; r.mu is held.
func (r *recorder) run(rec *recording) (over <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.ctx)
	rec.stop = cancel
	end := make(chan struct{})
	r.running.Go(func() {
		defer close(end)
		defer cancel()
		rec.run(ctx, r.changed)
		if _, err := rec.outcome(); err != nil {
			r.mu.Lock()
			r.errs = append(r.errs, err)
			r.mu.Unlock()
		}
		r.changed()
	})
	return end
}

// do carries out a viewer's request: start, pause, resume or stop.
func (r *recorder) do(what string) error {
	defer r.changed()
	r.mu.Lock()
	defer r.mu.Unlock()
	busy := false
	if r.latest != nil {
		ended, _ := r.latest.outcome()
		busy = !ended
	}
	switch {
	case what == "start":
		return r.start(busy)
	case !busy:
		return errors.New("nothing is being recorded")
	case what == "pause", what == "resume":
		r.latest.pause(what == "pause")
	case what == "stop":
		r.latest.stop()
	}
	return nil
}

func (r *recorder) start(busy bool) error {
	switch {
	case r.folder == nil:
		return errors.New(r.why)
	case r.ctx == nil || r.ctx.Err() != nil:
		return errors.New("the session is ending")
	case busy:
		return errors.New("a recording is running already")
	}
	if err := enoughSpace(r.folder.Work(), 0); err != nil {
		return err
	}
	base := "live-" + time.Now().Format("20060102-150405") + ".mp4"
	rec, err := openRecording(r.o, r.ui, filepath.Join(r.folder.Work(), base), target.Refuse)
	if err != nil {
		return withHint(err)
	}
	if r.latest != nil {
		r.latest.close()
	}
	rec.name, rec.folder = r.folder.Name(base), r.folder
	rec.attach(r.session, r.input)
	r.latest = rec
	r.run(rec)
	return nil
}

// finish waits for the last recording and returns the errors of all.
func (r *recorder) finish() error {
	r.running.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

func (r *recorder) close() {
	if r.latest != nil {
		r.latest.close()
	}
	if r.folder != nil {
		r.folder.Close()
	}
}

// state is the recording's state for the page.
func (r *recorder) state() (latest *web.Recording, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest != nil && r.latest.session != nil {
		latest = r.latest.state()
	}
	return latest, r.why
}

// spare is the room on the disk below which recording stops.
const spare = 64 << 20

// enoughSpace returns an error if there is no room for a copy of a recording, which its end makes.
func enoughSpace(folder string, recorded int64) error {
	free, _, err := durable.Space(folder)
	if err == nil && free < recorded+spare {
		return fmt.Errorf("%w: the disk is nearly full: %s left", target.ErrOutput, text.Size(free))
	}
	return nil
}
