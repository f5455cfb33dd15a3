package gpu

import (
	"context"

	"vidfilter/denoise/device"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// filter runs on the backend's devices, which take frames in turn; results come back in frame
// order. It must be used from one goroutine at a time.
type filter struct {
	backend *Backend
	pool    *pipeline.Pool
	planner kernels.Planner

	format  pipeline.Format // of the slots, or zero
	plan    *kernels.Plan
	slots   []*slots    // of each device
	next    int         // device of the next frame
	flights []*inFlight // oldest first
}

// planned is the form of a stage whose kernels filter each frame by itself.
type planned struct {
	*Backend
	stage kernels.Planned
}

func (p planned) kernels() ([]kernels.Variant, error) {
	v, err := kernels.Choose(p.stage, pipeline.Format{}, p.Limits())
	return []kernels.Variant{v}, failed(err, "choose a kernel")
}

func (p planned) filter(pool *pipeline.Pool) (pipeline.Filter, error) {
	return p.FilterBy(kernels.Chosen(p.stage), pool), nil
}

// inFlight is a frame in progress, with its result.
type inFlight struct {
	job
	upload
	in, out *pipeline.Frame // owned
}

// queued is how many frames a stream may have: one in progress and one waiting, so that the stream
// does not wait for the host.
const queued = 2

func (f *filter) Held() int { return f.backend.held() }

// Process takes in and emits finished frames. It waits for the oldest frame only if Held are in
// progress or there is no block for its result. By then later frames are queued, so the device does
// not wait for the host.
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

// room waits until another frame may be queued and returns a frame for its result.
func (f *filter) room(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) (*pipeline.Frame, error) {
	if in.Format != f.format {
		if err := f.change(ctx, in.Format, emit); err != nil {
			return nil, err
		}
	}
	for len(f.flights) > 0 {
		if len(f.flights) < f.Held() {
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

// change waits for earlier frames, then makes the slots for a format.
func (f *filter) change(ctx context.Context, format pipeline.Format, emit pipeline.Emit) error {
	if err := f.Flush(ctx, emit); err != nil {
		return err
	}
	b := f.backend
	plan, err := f.planner(format, b.Limits())
	if err != nil {
		return failed(err, "plan for %s", format)
	}
	b.using(f, true)
	for _, u := range b.units {
		s, err := newSlots(b, u, format, "run "+plan.Variant.Name+" on", b.streams, func() (*memory, error) { return newMemory(u, plan) })
		if err != nil {
			f.freeSlots()
			return err
		}
		f.slots = append(f.slots, s)
	}
	f.format, f.plan = format, plan
	return nil
}

// send queues the work on a frame. It owns in and out, even after an error.
func (f *filter) send(in, out *pipeline.Frame) error {
	s := f.slots[f.next]
	f.next = (f.next + 1) % len(f.slots)
	fl := &inFlight{in: in, out: out}
	fl.reads, fl.frames = []*upload{&fl.upload}, 1
	src, dst := f.backend.placeOf(in, s.unit), f.backend.resultOf(out, s.unit).place
	src.pin(in, &fl.upload.pins)
	dst.pin(out, &fl.job.pins)
	if err := s.queue(&fl.job, func() error { return fl.queue(f.plan, src, dst) }); err != nil {
		fl.drop()
		return err
	}
	f.flights = append(f.flights, fl)
	return nil
}

// queue queues the frame's work: copy in, kernels, copy out. It runs on the work thread and does
// not block.
func (fl *inFlight) queue(p *kernels.Plan, src, dst place) error {
	s := fl.slots
	l, err := s.lane()
	if err != nil {
		return err
	}
	from, err := s.copyIn(&fl.upload, src, l.stream)
	if err != nil {
		return err
	}
	to, err := s.stage(outward, dst.size)
	if err != nil {
		return err
	}
	var c calls
	c.wait(l.stream, to.free)
	c.record(fl.job.start, l.stream)
	var runs []device.Run
	for _, launch := range p.Frame(fl.out.Interlaced, src.planes(from.address), dst.planes(to.address), l.memory.device()) {
		runs = append(runs, device.Run{Kernel: p.Variant, Launch: launch})
	}
	c.do(func() error { return s.launch(l.stream, runs) })
	c.record(from.free, l.stream)
	c.do(func() error { return s.copyOut(&fl.job, dst, to, l.stream) })
	return c.err
}

// drop releases everything that has not been emitted. There must be no work in progress.
func (fl *inFlight) drop() {
	fl.known = true
	fl.upload.release(fl.slots)
	fl.in.Release()
	if fl.out != nil {
		fl.out.Release()
	}
}

// await waits for the oldest frame and emits it, with later ones that are known to be done.
func (f *filter) await(ctx context.Context, emit pipeline.Emit) error {
	if err := f.flights[0].wait(ctx); err != nil {
		return err
	}
	return f.passOn(emit)
}

// passOn emits the oldest frames that are known to be done.
func (f *filter) passOn(emit pipeline.Emit) error {
	for len(f.flights) > 0 && f.flights[0].done && f.flights[0].err == nil {
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
	f.freeSlots()
	for _, fl := range f.flights {
		fl.drop()
	}
	f.flights = nil
}

func (f *filter) freeSlots() {
	for _, s := range f.slots {
		s.close(nil)
	}
	f.slots, f.next, f.format = nil, 0, pipeline.Format{}
	f.backend.using(f, false)
}
