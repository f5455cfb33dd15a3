package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// filter runs on the backend's devices. Frame i goes to slot i mod n, so results come back in
// frame order. It must be used from one goroutine at a time.
type filter struct {
	backend *Backend
	pool    *pipeline.Pool
	planner kernels.Planner

	format  pipeline.Format // of the slots; zero if there are none
	plan    *kernels.Plan
	slots   []*slot
	next    int              // slot of the next frame
	flights []*flight        // oldest first
	last    map[*unit]*marks // of the latest frame that came back from each device
}

func (f *filter) Held() int { return f.backend.held() }

// Process takes in and emits finished frames. It waits for the oldest frame only if there is no
// slot for in or no block for its result. By then later frames are queued, so the device does not
// wait for the host.
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

// room waits for a free slot for in and returns a frame for its result.
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

// send queues the work on a frame and polls its device for earlier frames: both in one call, since
// each call costs two thread switches. A flight owns in and out from here on, even after an error.
func (f *filter) send(in, out *pipeline.Frame) error {
	s := f.slots[f.next]
	f.next = (f.next + 1) % len(f.slots)
	fl := &flight{slot: s, marks: s.next(), in: in, out: out, src: f.backend.placeOf(in, s.unit), dst: f.backend.placeOf(out, s.unit)}
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

// on returns the flights on a device that are not known to be done, oldest first.
func (f *filter) on(u *unit) (some []*flight) {
	for _, fl := range f.flights {
		if fl.slot.unit == u && !fl.done {
			some = append(some, fl)
		}
	}
	return some
}

// change waits for earlier frames, then sets up the slots for the format of in.
func (f *filter) change(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if err := f.Drain(ctx, emit); err != nil {
		return err
	}
	f.freeSlots()
	plan, err := f.planner(in.Format, f.backend.Limits())
	if err != nil {
		return failed(err, "plan for %s", in.Format)
	}
	f.plan = plan
	_, _, size := in.Format.PlanLayout(pipeline.PitchAlign)
	f.backend.using(f, true)
	if err := f.makeSlots(max(size, f.backend.placeOf(in, f.backend.units[0]).size)); err != nil {
		f.freeSlots()
		return err
	}
	f.format = in.Format
	return nil
}

// queued is how many frames a stream may have: one in progress and one waiting, so that the stream
// does not wait for the host.
const queued = 2

// makeSlots makes the slots in rounds over all devices: first one per stream, then those for
// waiting frames. If memory runs out after the first round, it keeps the rounds that all devices
// completed.
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
			b.log.Debug(fmt.Sprintf("%v; going on with %d of %d streams", err, min(round, b.streams), b.streams))
			f.shorten(whole)
			return nil
		}
	}
	return nil
}

// makeRound makes one slot on each device, in a new stream while there are fewer than b.streams,
// then in that of the slot b.streams rounds earlier.
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
		start, p := time.Now(), f.plan
		s, err := call(context.Background(), u.work, func() (*slot, error) { return newSlot(u, p, before, size) })
		if err != nil {
			return u.failed(err, "make a stream on %s", u)
		}
		b.meter.started(func(c *ColdStart) *time.Duration { return &c.Buffers }, start)
		f.slots = append(f.slots, s)
	}
	return nil
}

// load loads the plan's kernel on a device.
func (f *filter) load(u *unit) error {
	v := f.plan.Variant
	err := u.work.do(func() error { _, err := u.load(v); return err })
	return u.failed(err, "load %s on %s", v.Name, u)
}

func isOutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == int(cu.OutOfMemory)
}

// shorten frees the slots from index n on, which must be idle.
func (f *filter) shorten(n int) {
	for _, s := range slices.Backward(f.slots[n:]) { // the owner of a stream last
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

// report is the progress of a frame, and the times of its stages.
type report struct {
	copied, done bool
	times        times
}

// ask polls a device for its flights, oldest first; before are the marks of the flight before
// them, or nil. A frame counts as done only if all earlier ones are.
func ask(flights []*flight, before *marks) ([]report, error) {
	reports := make([]report, len(flights))
	for i, fl := range flights {
		r, err := &reports[i], error(nil)
		if r.copied, err = passed(fl.marks.in); err != nil {
			return nil, err
		}
		if !r.copied || i > 0 && !reports[i-1].done {
			continue
		}
		if r.done, err = passed(fl.marks.out); err != nil {
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

func passed(e cu.Event) (bool, error) {
	switch err := e.Query(); err {
	case nil:
		return true, nil
	case cu.NotReady:
		return false, nil
	default:
		return false, err
	}
}

// note records a device's report on a flight, and releases the input once it has been copied.
func (f *filter) note(fl *flight, r report) {
	if r.copied {
		fl.releaseIn()
	}
	if r.done {
		fl.done = true
		f.last[fl.slot.unit] = fl.marks
		f.backend.meter.add(r.times, 1)
		f.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.First }, f.backend.begun)
	}
}

// wrong wraps the error of a frame that a device failed on. It names the kernel, since kernel
// errors are reported by later calls than the launch.
func (f *filter) wrong(fl *flight, err error) error {
	u := fl.slot.unit
	return u.failed(err, "run %s on %s, %s", f.plan.Variant.Name, u, fl.size())
}

// await waits for the oldest frame and emits it, with later ones that are known to be done.
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

// Drain emits all held frames and keeps the slots, for callers that need each frame immediately
// (live).
func (f *filter) Drain(ctx context.Context, emit pipeline.Emit) error {
	for len(f.flights) > 0 {
		if err := f.await(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

// Flush emits all held frames and frees the slots.
func (f *filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if err := f.Drain(ctx, emit); err != nil {
		return err
	}
	f.freeSlots()
	return nil
}

// Discard drops all held frames. Their memory must not be reused while the device accesses it, so
// Discard waits for the device, up to its patience.
func (f *filter) Discard() {
	for _, fl := range f.flights {
		s := fl.slot.stream
		_ = fl.slot.unit.waiter.do(func() error { return s.Synchronize() })
		fl.drop()
	}
	f.flights = nil
	f.freeSlots()
}
