package gpu

import (
	"context"
	"errors"
	"slices"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// filter is the bilateral filter on the backend's devices. Frame i goes to slot i mod n, so the slots answer
// in the order of the frames. It is used from one goroutine at a time.
type filter struct {
	backend *Backend
	pool    *pipeline.Pool
	params  kernels.Params

	format  pipeline.Format // what the slots are for; zero when there are none
	variant kernels.Variant
	plan    *kernels.Plan
	margin  int // black pixels around the sources
	slots   []*slot
	next    int              // the slot of the next frame
	flights []*flight        // the oldest first
	last    map[*unit]*marks // of the last frame that came back from each device
}

func (f *filter) Held() int { return f.backend.Held() }

// Process takes in, emits what is finished, and waits for the oldest frame only where there is no slot or no block for the result of
// this one. By then its successors are queued, so the device does not wait for the host.
func (f *filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	out, err := f.room(ctx, in, emit)
	if err != nil {
		in.Release()
		return err
	}
	out.CopyTiming(in)
	if err := f.send(in, out); err != nil {
		return err
	}
	return f.passOn(emit)
}

// room makes sure that there is a slot for in, and returns a frame for its result.
func (f *filter) room(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) (*pipeline.Frame, error) {
	if in.Format != f.format {
		if err := f.change(ctx, in, emit); err != nil {
			return nil, err
		}
	}
	for len(f.flights) > 0 {
		if len(f.flights) < len(f.slots) {
			if out, err := f.pool.TryFrame(in.Format); out != nil || err != nil {
				return out, err
			}
		}
		if err := f.await(ctx, emit); err != nil {
			return nil, err
		}
	}
	return f.pool.NewFrame(ctx, in.Format)
}

// send queues the work on a frame, and asks its device how far the frames before are: both in one call, since each costs two switches
// between threads. Whatever becomes of it, the frames are in a flight from here on.
func (f *filter) send(in, out *pipeline.Frame) error {
	s := f.slots[f.next]
	f.next = (f.next + 1) % len(f.slots)
	fl := &flight{slot: s, marks: s.next(), in: in, out: out, src: f.sourceOf(in), dst: f.backend.placeOf(out)}
	fl.pin()
	before := f.on(s.unit)
	f.flights = append(f.flights, fl)
	plan, last := f.plan, f.last[s.unit]
	reports, err := call(context.Background(), s.unit.work, func() ([]report, error) {
		if err := fl.queue(plan); err != nil {
			return nil, err
		}
		return ask(before, last)
	})
	for i, r := range reports {
		f.note(before[i], r)
	}
	return f.wrong(fl, err)
}

// on returns the flights on a device that are not known to be done, the oldest first.
func (f *filter) on(u *unit) (some []*flight) {
	for _, fl := range f.flights {
		if fl.slot.unit == u && !fl.done {
			some = append(some, fl)
		}
	}
	return some
}

// change gets the slots ready for frames like in, when those before are done.
func (f *filter) change(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if err := f.Drain(ctx, emit); err != nil {
		return err
	}
	f.freeSlots()
	v, err := kernels.Choose(f.params, in.Format, f.backend.compute())
	if err != nil {
		return failed(err, "choose a kernel for %s", in.Format)
	}
	if f.plan, err = v.Plan(f.params, in.Format); err != nil {
		return failed(err, "plan %s for %s", v.Name, in.Format)
	}
	_, _, size := in.Format.PlanLayout(pipeline.PitchAlign)
	f.variant, f.margin = v, 2*v.Margin(f.params) // of the fields of an interlaced frame each has its own rows of it
	f.backend.using(f, true)
	if err := f.makeSlots(max(size, f.sourceOf(in).size)); err != nil {
		f.freeSlots()
		return err
	}
	f.format = in.Format
	return nil
}

// sourceOf finds out how a frame lies, and will lie on the device.
func (f *filter) sourceOf(in *pipeline.Frame) place {
	p := f.backend.placeOf(in)
	if f.margin > 0 {
		return p.padded(in, f.margin)
	}
	return p
}

// queued is how many frames a stream may have: one to work on, and one that waits for it, lest the stream wait for the host.
const queued = 2

// makeSlots makes the slots in rounds over all devices, first one of each stream, then those of the frames that wait. Where the memory
// ends before the last round, those that all devices have must do.
func (f *filter) makeSlots(size int) error {
	b := f.backend
	for round := range b.streams * queued {
		whole := len(f.slots)
		err := f.makeRound(round, size)
		switch {
		case err == nil:
		case round == 0 || !isOutOfMemory(err):
			return err
		default:
			b.verbose("%v; going on with %d of %d streams", err, min(round, b.streams), b.streams)
			f.shorten(whole)
			return nil
		}
	}
	return nil
}

// makeRound makes one slot on each device, in a stream of its own or in that of the slot as many rounds before as there are streams.
func (f *filter) makeRound(round, size int) error {
	b := f.backend
	for _, u := range b.units {
		if err := f.load(u); err != nil {
			return err
		}
		var before *slot
		if round >= b.streams {
			before = f.slots[len(f.slots)-b.streams*len(b.units)]
		}
		start, v, p, margin := time.Now(), f.variant, f.plan, f.margin
		s, err := call(context.Background(), u.work, func() (*slot, error) { return newSlot(u, v, p, before, size, margin > 0) })
		if err != nil {
			return u.failed(err, "make a stream on %s", u)
		}
		b.meter.started(func(c *ColdStart) *time.Duration { return &c.Buffers }, start)
		f.slots = append(f.slots, s)
	}
	return nil
}

// load has a device compile the kernel.
func (f *filter) load(u *unit) error {
	v := f.variant
	err := u.work.do(func() error { _, err := u.load(v); return err })
	return u.failed(err, "load %s on %s", v.Name, u)
}

func isOutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == int(cu.OutOfMemory)
}

// shorten frees the slots from the nth on. Nothing may be in them.
func (f *filter) shorten(n int) {
	for _, s := range slices.Backward(f.slots[n:]) { // a stream's owner last
		_ = s.unit.work.do(func() error { s.free(); return nil })
	}
	f.slots = f.slots[:n]
}

func (f *filter) freeSlots() {
	f.shorten(0)
	f.next, f.format = 0, pipeline.Format{}
	clear(f.last)
	f.backend.using(f, false)
}

// report is how far a frame is, and what it took.
type report struct {
	copied, done bool
	times        times
}

// ask asks a device how far its flights are, the oldest first; before are the marks of the one before the first, or nil. A frame counts as
// done when those before it are, too.
func ask(flights []*flight, before *marks) ([]report, error) {
	reports := make([]report, len(flights))
	for i, fl := range flights {
		r, err := &reports[i], error(nil)
		if r.copied, err = ready(fl.marks.in); err != nil {
			return nil, err
		}
		if !r.copied || i > 0 && !reports[i-1].done {
			continue
		}
		if r.done, err = ready(fl.marks.out); err != nil {
			return nil, err
		}
		if !r.done {
			continue
		}
		if r.times, err = fl.marks.measure(before); err != nil {
			return nil, err
		}
		before = fl.marks
	}
	return reports, nil
}

func ready(e cu.Event) (bool, error) {
	switch err := e.Query(); err {
	case nil:
		return true, nil
	case cu.NotReady:
		return false, nil
	default:
		return false, err
	}
}

// note takes down what a device has reported of a flight, and gives back an input that has been copied.
func (f *filter) note(fl *flight, r report) {
	if r.copied {
		fl.releaseIn()
	}
	if r.done {
		fl.done = true
		f.last[fl.slot.unit] = fl.marks
		f.backend.meter.add(r.times)
		f.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.First }, f.backend.begun)
	}
}

// wrong is the error of a frame that a device failed on: what a kernel did wrong shows later than its launch.
func (f *filter) wrong(fl *flight, err error) error {
	u := fl.slot.unit
	return u.failed(err, "run %s on %s, %s", f.variant.Name, u, fl.size())
}

// await waits for the oldest frame and emits it, and what is known to be done behind it.
func (f *filter) await(ctx context.Context, emit pipeline.Emit) error {
	fl := f.flights[0]
	if !fl.done {
		out, before := fl.marks.out, f.last[fl.slot.unit]
		r, err := call(ctx, fl.slot.unit.waiter, func() (report, error) {
			if err := out.Synchronize(); err != nil {
				return report{}, err
			}
			t, err := fl.marks.measure(before)
			return report{true, true, t}, err
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return f.wrong(fl, err)
		}
		f.note(fl, r)
	}
	return f.passOn(emit)
}

// passOn emits the oldest frames that are known to be done.
func (f *filter) passOn(emit pipeline.Emit) error {
	for len(f.flights) > 0 && f.flights[0].done {
		fl := f.flights[0]
		f.flights = f.flights[1:]
		out := fl.out
		fl.out = nil
		fl.drop()
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

// Drain emits what is held, and keeps the slots: for who wants each frame as soon as it is done.
func (f *filter) Drain(ctx context.Context, emit pipeline.Emit) error {
	for len(f.flights) > 0 {
		if err := f.await(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

// Flush emits what is held and frees the slots.
func (f *filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if err := f.Drain(ctx, emit); err != nil {
		return err
	}
	f.freeSlots()
	return nil
}

// Discard gives up the frames held. Their memory may be used again only when the device leaves it alone, so
// it waits for that, as long as the device's patience lasts.
func (f *filter) Discard() {
	for _, fl := range f.flights {
		s := fl.slot.stream
		_ = fl.slot.unit.waiter.do(func() error { return s.Synchronize() })
		fl.drop()
	}
	f.flights = nil
	f.freeSlots()
}
