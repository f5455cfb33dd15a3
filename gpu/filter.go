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
	slots   []*slot
	next    int              // the slot of the next frame
	flights []*flight        // the oldest first
	last    map[*unit]*marks // of the last frame that came back from each device
}

func (f *filter) Held() int { return f.backend.Held() }

// Process takes in, emits what is finished without waiting for it, and waits for the oldest frame only where
// there is no slot or no block for the result of this one.
func (f *filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	out, err := f.room(ctx, in, emit)
	if err != nil {
		in.Release()
		return err
	}
	out.CopyTiming(in)
	return f.send(in, out)
}

// room makes sure that there is a slot for in, and returns a frame for its result.
func (f *filter) room(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) (*pipeline.Frame, error) {
	if in.Format != f.format {
		if err := f.change(ctx, in, emit); err != nil {
			return nil, err
		}
	}
	if err := f.collect(emit); err != nil {
		return nil, err
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

// send queues the work on a frame. Whatever becomes of it, the frames are in a flight from here on.
func (f *filter) send(in, out *pipeline.Frame) error {
	s := f.slots[f.next]
	f.next = (f.next + 1) % len(f.slots)
	fl := &flight{slot: s, marks: s.next(), in: in, out: out, src: f.backend.placeOf(in), dst: f.backend.placeOf(out)}
	fl.pin()
	f.flights = append(f.flights, fl)
	plan := f.plan
	return f.wrong(fl, s.unit.work.do(func() error { return fl.queue(plan) }))
}

// change gets the slots ready for frames like in, when those before are done.
func (f *filter) change(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if err := f.drain(ctx, emit); err != nil {
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
	f.variant = v
	f.backend.using(f, true)
	if err := f.makeSlots(max(size, f.backend.placeOf(in).size)); err != nil {
		f.freeSlots()
		return err
	}
	f.format = in.Format
	return nil
}

// makeSlots makes the slots of each stream in turn, on all devices. Where the memory ends before the last,
// the streams that all devices have must do.
func (f *filter) makeSlots(size int) error {
	b := f.backend
	for stream := range b.streams {
		whole := len(f.slots)
		err := f.makeRound(size)
		switch {
		case err == nil:
		case stream == 0 || !isOutOfMemory(err):
			return err
		default:
			b.verbose("%v; going on with %d of %d streams", err, stream, b.streams)
			f.shorten(whole)
			return nil
		}
	}
	return nil
}

// makeRound makes one slot on each device.
func (f *filter) makeRound(size int) error {
	for _, u := range f.backend.units {
		if err := f.load(u); err != nil {
			return err
		}
		start, v := time.Now(), f.variant
		s, err := call(context.Background(), u.work, func() (*slot, error) { return newSlot(u, v, size) })
		if err != nil {
			return u.failed(err, "make a stream on %s", u)
		}
		f.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.Buffers }, start)
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
	for _, s := range f.slots[n:] {
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

// collect gives back the inputs that are copied and emits the frames that are done, without waiting.
func (f *filter) collect(emit pipeline.Emit) error {
	done, err := f.look()
	for ; err == nil && done > 0; done-- {
		err = f.retire(emit)
	}
	return err
}

// look asks the devices how far they are, gives back the inputs that are copied, and returns how many of the
// oldest frames are done.
func (f *filter) look() (done int, err error) {
	finished := map[*flight]bool{}
	for _, u := range f.backend.units {
		mine := slices.DeleteFunc(slices.Clone(f.flights), func(fl *flight) bool { return fl.slot.unit != u })
		if len(mine) == 0 {
			continue
		}
		states, err := call(context.Background(), u.work, func() ([]state, error) { return query(mine) })
		if err != nil {
			return 0, f.wrong(mine[0], err)
		}
		for i, s := range states {
			if s.copied {
				mine[i].releaseIn()
			}
			finished[mine[i]] = s.finished
		}
	}
	for done < len(f.flights) && finished[f.flights[done]] {
		done++
	}
	return done, nil
}

// state is how far a frame is.
type state struct{ copied, finished bool }

func query(flights []*flight) ([]state, error) {
	states := make([]state, len(flights))
	for i, fl := range flights {
		var err error
		if states[i].copied, err = ready(fl.marks.in); err != nil {
			return nil, err
		}
		if !states[i].copied {
			continue
		}
		if states[i].finished, err = ready(fl.marks.out); err != nil {
			return nil, err
		}
	}
	return states, nil
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

// wrong is the error of a frame that a device failed on: what a kernel did wrong shows later than its launch.
func (f *filter) wrong(fl *flight, err error) error {
	u := fl.slot.unit
	return u.failed(err, "run %s on %s, %s", f.variant.Name, u, fl.size())
}

// await waits for the oldest frame and emits it.
func (f *filter) await(ctx context.Context, emit pipeline.Emit) error {
	fl := f.flights[0]
	out := fl.marks.out
	_, err := call(ctx, fl.slot.unit.waiter, func() (struct{}, error) { return struct{}{}, out.Synchronize() })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return f.wrong(fl, err)
	}
	return f.retire(emit)
}

// retire emits the oldest frame, which is done.
func (f *filter) retire(emit pipeline.Emit) error {
	fl := f.flights[0]
	u, m, before := fl.slot.unit, fl.marks, f.last[fl.slot.unit]
	t, err := call(context.Background(), u.work, func() (times, error) { return m.measure(before) })
	if err != nil {
		return f.wrong(fl, err)
	}
	f.backend.meter.add(t)
	f.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.First }, f.backend.begun)
	f.last[u] = m
	f.flights = f.flights[1:]
	out := fl.out
	fl.out = nil
	fl.drop()
	return emit(out)
}

func (f *filter) drain(ctx context.Context, emit pipeline.Emit) error {
	for len(f.flights) > 0 {
		if err := f.await(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

// Flush emits what is held and frees the slots.
func (f *filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if err := f.drain(ctx, emit); err != nil {
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
