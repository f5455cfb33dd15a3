package gpu

import (
	"runtime"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// flight is a frame in progress in a slot.
type flight struct {
	slot    *slot
	marks   *marks
	in, out *pipeline.Frame // owned; in is nil once it is copied
	done    bool            // known to be done
	src     place
	dst     place
	pins    runtime.Pinner // of samples in Go's memory
}

// queue queues the frame's work in its slot's stream: copy in, kernel, copy out, with an event
// after each. It runs on the work thread and does not block.
func (fl *flight) queue(p *kernels.Plan) error {
	s, u := fl.slot, fl.slot.unit
	for _, b := range []struct {
		buffer *buffer
		size   int
	}{{&s.in, fl.src.size}, {&s.out, fl.dst.size}} {
		if err := b.buffer.grow(u, b.size); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		what string
		run  func() error
	}{
		{"copy in on", func() error { return fl.copyIn() }},
		{"launch " + s.kernel.name + " on", func() error { return fl.launch(p) }},
		{"copy out on", func() error { return fl.copyOut() }},
	} {
		if err := step.run(); err != nil {
			return u.failed(err, "%s %s, %s", step.what, u, fl.size())
		}
	}
	return nil
}

func (fl *flight) size() string { return fl.out.Format.String() }

func (fl *flight) copyIn() error {
	s := fl.slot
	if err := fl.marks.start.Record(s.stream); err != nil {
		return err
	}
	for _, r := range fl.src.at(s.in.address) {
		if err := r.in(s.stream); err != nil {
			return err
		}
	}
	return fl.marks.in.Record(s.stream)
}

func (fl *flight) launch(p *kernels.Plan) error {
	s := fl.slot
	launches := p.Frame(fl.out.Interlaced, fl.src.planes(s.in.address), fl.dst.planes(s.out.address), s.memory.device())
	for _, l := range launches {
		if err := s.kernel.allow(l.Shared); err != nil {
			return err
		}
		if err := run(s.kernel.kernel, l, s.stream); err != nil {
			return err
		}
	}
	return fl.marks.kernel.Record(s.stream)
}

func (fl *flight) copyOut() error {
	s := fl.slot
	for _, r := range fl.dst.at(s.out.address) {
		if err := r.out(s.stream); err != nil {
			return err
		}
	}
	return fl.marks.out.Record(s.stream)
}

// pin pins samples outside the backend's memory, which may be Go's.
func (fl *flight) pin() {
	for _, f := range []struct {
		place place
		frame *pipeline.Frame
	}{{fl.src, fl.in}, {fl.dst, fl.out}} {
		for i := range f.frame.NumPlanes() {
			if !f.place.pinned {
				fl.pins.Pin(&f.frame.Planes[i].Data[0])
			}
		}
	}
}

// releaseIn releases the input, once it has been copied.
func (fl *flight) releaseIn() {
	if fl.in != nil {
		fl.in.Release()
		fl.in = nil
	}
}

// drop releases everything that has not been emitted.
func (fl *flight) drop() {
	fl.pins.Unpin()
	fl.releaseIn()
	if fl.out != nil {
		fl.out.Release()
	}
}

// times are the durations of a frame's stages, and the time that the frame adds to the device's
// busy time.
type times struct{ in, kernel, out, busy time.Duration }

// measure reads the events of a finished frame; before are those of the device's previous frame,
// or nil.
func (m *marks) measure(before *marks) (t times, err error) {
	for _, e := range []struct {
		from, to cu.Event
		d        *time.Duration
	}{{m.start, m.in, &t.in}, {m.in, m.kernel, &t.kernel}, {m.kernel, m.out, &t.out}, {m.start, m.out, &t.busy}} {
		if *e.d, err = elapsed(e.from, e.to); err != nil {
			return t, err
		}
	}
	if before != nil {
		since, err := elapsed(before.out, m.out)
		t.busy = max(0, min(t.busy, since))
		return t, err
	}
	return t, nil
}

func elapsed(from, to cu.Event) (time.Duration, error) {
	ms, err := from.Elapsed(to)
	return time.Duration(ms * float64(time.Millisecond)), err
}
