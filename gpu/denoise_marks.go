package gpu

import (
	"time"

	"gorgonia.org/cu"

	"vidfilter/denoise/plane"
)

// pictureMarks are the events around the work on a picture when it comes, beside that of its copy.
type pictureMarks struct{ start, ready, prepared cu.Event }

// jobMarks are the events around the kernels of a job, beside that of its end.
type jobMarks struct{ start, done cu.Event }

func (m *pictureMarks) all() []*cu.Event { return []*cu.Event{&m.start, &m.ready, &m.prepared} }
func (m *jobMarks) all() []*cu.Event     { return []*cu.Event{&m.start, &m.done} }

func makeEvents(events []*cu.Event) (err error) {
	for _, e := range events {
		if *e, err = cu.MakeEvent(cu.BlockingSyncEvent); err != nil {
			return err
		}
	}
	return nil
}

func freeEvents(events []*cu.Event) {
	for _, e := range events {
		freeEvent(e)
	}
}

// mark gives a picture its events.
func (d *denoiser) mark(p *cudaPicture) error {
	if n := len(d.marks); n > 0 {
		p.marks, d.marks = d.marks[n-1], d.marks[:n-1]
		return nil
	}
	return d.unit.failed(makeEvents(p.marks.all()), "make events on %s", d.unit)
}

// measure returns the times of a finished job, from the copy of the picture that it denoised on.
func (r *denoised) measure() (t times, err error) {
	p, last := r.window[r.centre], r.window[len(r.window)-1]
	var prepared time.Duration
	for _, e := range []struct {
		from, to cu.Event
		d        *time.Duration
	}{
		{p.marks.start, p.copied, &t.in}, {p.marks.ready, p.marks.prepared, &prepared},
		{r.marks.start, r.marks.done, &t.kernel}, {r.marks.done, r.done, &t.out}, {last.marks.start, r.done, &t.busy},
	} {
		if *e.d, err = elapsed(e.from, e.to); err != nil {
			return t, err
		}
	}
	t.kernel += prepared
	if before := r.engine.before; before != (cu.Event{}) {
		since, err := elapsed(before, r.done)
		t.busy = max(0, min(t.busy, since))
		return t, err
	}
	return t, nil
}

// note adds the times of a job to the backend's. The second field of a frame completes it.
func (d *denoiser) note(r *denoised, t times) {
	frames := int64(1)
	if r.field == plane.Top {
		frames = 0
	}
	b := d.backend
	b.meter.add(t, frames)
	b.meter.started(func(c *ColdStart) *time.Duration { return &c.First }, b.begun)
}
