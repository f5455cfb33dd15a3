package gpu

import (
	"runtime"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// flight is one frame on its way through a slot.
type flight struct {
	slot    *slot
	marks   *marks
	in, out *pipeline.Frame // owned; in is nil once it is copied
	done    bool            // known to be
	src     place
	dst     place
	pins    runtime.Pinner // holds samples in Go's memory where they are
}

// queue sends the frame through its slot's stream: copy in, kernel, copy out, with an event behind each. It
// runs on the work thread and waits for nothing.
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
	launches := p.Launches(fl.out.Interlaced, fl.src.planes(s.in.address), fl.dst.planes(s.out.address), s.memory.device())
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

// pin keeps samples where they are that are not in memory of the backend.
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

// releaseIn gives the input back, whose copy has been made.
func (fl *flight) releaseIn() {
	if fl.in != nil {
		fl.in.Release()
		fl.in = nil
	}
}

// drop gives everything back that has not been emitted.
func (fl *flight) drop() {
	fl.pins.Unpin()
	fl.releaseIn()
	if fl.out != nil {
		fl.out.Release()
	}
}

// times are how long the stages of a frame took, and how much longer than before the frame the device has
// been busy for it.
type times struct{ in, kernel, out, busy time.Duration }

// measure reads the events of a frame that is done; before are those of the device's last one, or nil.
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
