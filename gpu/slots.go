package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"gorgonia.org/cu"

	"vidfilter/denoise/device"
	"vidfilter/pipeline"
)

// slots moves frames of one format through a device, for both filters. Copies in, kernels and
// copies back have their own streams, so they overlap for different frames. It owns the streams,
// staging buffers and events. One goroutine may use it at a time: it calls do, queue, settle and
// close. The other methods run on the work thread.
type slots struct {
	backend *Backend
	unit    *openDevice
	format  pipeline.Format
	op      string // for errors: "denoise on"
	memory  func() (*memory, error)
	begun   time.Time
	closed  bool

	in, out      cu.Stream
	streams      []cu.Stream // all
	lanes        ring[*kernelStream]
	stages       [2]ring[*stage] // inward, outward
	events, idle []cu.Event      // all, and the unused ones
	pending      []*job          // oldest first
	before       cu.Event        // the end of the latest complete job, or zero
}

// kernelStream is a stream for kernels, with the memory that they use besides frames.
type kernelStream struct {
	stream cu.Stream
	memory *memory
}

// stage is a staging buffer. The event is recorded when its latest user is done with it.
type stage struct {
	buffer
	free cu.Event
}

const (
	inward = iota
	outward
)

// stagesFor returns how many staging buffers each way keep the lanes busy: one per lane, one that
// is copied, and one that waits.
func stagesFor(lanes int) int { return lanes + 2 }

// upload is the copy of a frame to the device.
type upload struct {
	start, copied   cu.Event
	ready, prepared cu.Event // around the kernels that prepare it, or zero
	known           bool     // the copy is known to be done
	pins            runtime.Pinner
}

// job is the work on a frame: kernels, and the copy of the result to the host.
type job struct {
	slots               *slots
	start, kernels, end cu.Event
	reads               []*upload // frames that the kernels read, in their order
	centre              int       // index of the one that becomes the result
	frames              int64     // that it completes: 0 or 1
	pins                runtime.Pinner
	done                bool
	err                 error
}

// newSlots returns slots for frames of a format, with up to lanes streams for kernels. The function
// memory allocates a lane's memory, or is nil if the caller makes its own streams.
func newSlots(b *Backend, u *openDevice, f pipeline.Format, op string, lanes int, memory func() (*memory, error)) (*slots, error) {
	s := &slots{backend: b, unit: u, format: f, op: op, memory: memory, begun: time.Now()}
	s.lanes.most = lanes
	s.stages[inward].most, s.stages[outward].most = stagesFor(lanes), stagesFor(lanes)
	err := s.do(func() error { return s.makeStreams(&s.in, &s.out) })
	if err != nil {
		s.close(nil)
	}
	return s, err
}

func (s *slots) makeStreams(all ...*cu.Stream) (err error) {
	for _, stream := range all {
		if *stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return s.failed(err, "make a stream on")
		}
		s.streams = append(s.streams, *stream)
	}
	return nil
}

func (s *slots) failed(err error, what string) error {
	return s.unit.failed(err, "%s %s, %s", what, s.unit, s.format)
}

// ring hands out its elements in turn, and makes them when they are first needed.
type ring[T any] struct {
	all        []T
	most, next int
}

// next returns the next element of a ring. If there is no memory for another, the ring stays at its
// present size.
func next[T any](s *slots, r *ring[T], name string, add func() (T, error)) (T, error) {
	if n := len(r.all); r.next == n {
		t, err := add()
		switch {
		case err == nil:
			r.all = append(r.all, t)
		case n == 0 || !isOutOfMemory(err):
			return t, err
		default:
			s.backend.log.Debug(fmt.Sprintf("%v; going on with %d of %d %s", err, n, r.most, name))
			r.most, r.next = n, 0
		}
	}
	t := r.all[r.next]
	r.next = (r.next + 1) % r.most
	return t, nil
}

func isOutOfMemory(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == int(cu.OutOfMemory)
}

// lane returns the next stream in turn.
func (s *slots) lane() (*kernelStream, error) {
	return next(s, &s.lanes, "streams", func() (*kernelStream, error) {
		l := &kernelStream{}
		err := s.makeStreams(&l.stream)
		if err == nil {
			l.memory, err = s.memory()
		}
		return l, err
	})
}

// stage returns the next staging buffer in turn, of at least size bytes.
func (s *slots) stage(way, size int) (*stage, error) {
	name := [...]string{"buffers for frames", "buffers for results"}[way]
	st, err := next(s, &s.stages[way], name, func() (*stage, error) {
		st := &stage{}
		err := s.takeEvents(&st.free)
		if err == nil {
			err = st.grow(s.unit, size)
		}
		return st, err
	})
	if err == nil && size > st.size { // a frame of the same format that lies otherwise in memory
		if err = st.free.Synchronize(); err == nil {
			err = st.grow(s.unit, size)
		}
	}
	return st, err
}

// takeEvents sets each of these to an unused event. Events block waiting threads instead of letting
// them spin.
func (s *slots) takeEvents(all ...*cu.Event) error {
	for _, e := range all {
		if n := len(s.idle); n > 0 {
			*e, s.idle = s.idle[n-1], s.idle[:n-1]
			continue
		}
		made, err := cu.MakeEvent(cu.BlockingSyncEvent)
		if err != nil {
			return s.failed(err, "make an event on")
		}
		*e, s.events = made, append(s.events, made)
	}
	return nil
}

// recycle makes events available again, on any goroutine.
func (s *slots) recycle(all ...*cu.Event) {
	for _, e := range all {
		if *e != (cu.Event{}) {
			s.idle = append(s.idle, *e)
			*e = cu.Event{}
		}
	}
}

// calls makes driver calls in order and skips those after a failure.
type calls struct{ err error }

func (c *calls) do(f func() error) {
	if c.err == nil {
		c.err = f()
	}
}

func (c *calls) record(e cu.Event, s cu.Stream) { c.do(func() error { return e.Record(s) }) }
func (c *calls) wait(s cu.Stream, e cu.Event)   { c.do(func() error { return s.Wait(e, 0) }) }

func (c *calls) copy(all []rows, copy func(rows, cu.Stream) error, s cu.Stream) {
	for _, r := range all {
		c.do(func() error { return copy(r, s) })
	}
}

// copyIn queues the copy of a frame to a staging buffer, which later kernels in the stream may
// read. The caller records the buffer's event after them.
func (s *slots) copyIn(a *upload, p place, kernels cu.Stream) (*stage, error) {
	st, err := s.stage(inward, p.size)
	if err == nil {
		err = s.takeEvents(&a.start, &a.copied)
	}
	if err != nil {
		return nil, err
	}
	s.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.Buffers }, s.begun)
	var c calls
	c.wait(s.in, st.free)
	c.record(a.start, s.in)
	c.copy(p.at(st.address), rows.in, s.in)
	c.record(a.copied, s.in)
	c.wait(kernels, a.copied)
	return st, s.failed(c.err, "copy in on")
}

// prepare queues the copy of a frame to a staging buffer, and in the stream the kernels that
// read it there.
func (s *slots) prepare(a *upload, p place, stream cu.Stream, runs func(from cu.DevicePtr) []device.Run) error {
	if err := s.takeEvents(&a.ready, &a.prepared); err != nil {
		return err
	}
	from, err := s.copyIn(a, p, stream)
	if err != nil {
		return err
	}
	var c calls
	c.record(a.ready, stream)
	c.do(func() error { return s.launch(stream, runs(from.address)) })
	c.record(a.prepared, stream)
	c.record(from.free, stream)
	return c.err
}

// copyOut queues the copy of a result from a staging buffer, after the kernels in the stream.
func (s *slots) copyOut(j *job, p place, st *stage, kernels cu.Stream) error {
	var c calls
	c.record(j.kernels, kernels)
	c.wait(s.out, j.kernels)
	c.copy(p.at(st.address), rows.out, s.out)
	c.record(st.free, s.out)
	c.record(j.end, s.out)
	return s.failed(c.err, "copy out on")
}

// launch queues kernels.
func (s *slots) launch(stream cu.Stream, runs []device.Run) error {
	for _, r := range runs {
		f, err := s.unit.load(r.Kernel)
		if err != nil {
			return err
		}
		if err = f.allow(r.Shared); err == nil {
			err = run(f.kernel, r.Launch, stream)
		}
		if err != nil {
			return s.failed(err, "launch "+f.name+" on")
		}
	}
	return nil
}

// do runs f on the work thread and polls the pending jobs in the same call, since each call costs
// two thread switches. After an error it waits for the work that f has queued.
func (s *slots) do(f func() error) error {
	pending, before := s.pending, s.before
	done, err := call(context.Background(), s.unit.work, func() ([]times, error) {
		if err := f(); err != nil {
			return nil, err
		}
		return ask(pending, before)
	})
	for i, t := range done {
		pending[i].finish(t)
	}
	if err != nil {
		_ = s.settle()
	}
	return s.failed(err, s.op)
}

// ask returns the times of the oldest jobs, up to the first that is not complete.
func ask(pending []*job, before cu.Event) (done []times, err error) {
	for _, j := range pending {
		switch err := j.end.Query(); err {
		case nil:
		case cu.NotReady:
			return done, nil
		default:
			return done, err
		}
		t, err := j.measure(before)
		if err != nil {
			return done, err
		}
		done, before = append(done, t), j.end
	}
	return done, nil
}

// queue has f queue a job. After an error the job is done.
func (s *slots) queue(j *job, f func() error) error {
	j.slots = s
	err := s.do(func() error {
		if err := s.takeEvents(&j.start, &j.kernels, &j.end); err != nil {
			return err
		}
		return f()
	})
	if err != nil {
		j.close(err)
		return err
	}
	s.pending = append(s.pending, j)
	return nil
}

// wait waits for the result, and returns the job's error.
func (j *job) wait(ctx context.Context) error {
	if j.done {
		return j.err
	}
	s, end := j.slots, j.end
	before := s.before
	t, err := call(ctx, s.unit.waiter, func() (times, error) {
		if err := end.Synchronize(); err != nil {
			return times{}, err
		}
		return j.measure(before)
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		j.close(s.failed(err, s.op))
	default:
		j.finish(t)
	}
	return j.err
}

// finish records that the result is complete.
func (j *job) finish(t times) {
	s := j.slots
	for _, a := range j.reads {
		a.known = true
	}
	s.recycle(&s.before)
	s.before, j.end = j.end, cu.Event{}
	s.backend.meter.add(t, j.frames)
	s.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.First }, s.backend.begun)
	j.close(nil)
}

func (j *job) close(err error) {
	s := j.slots
	j.done, j.err = true, err
	j.pins.Unpin()
	s.recycle(&j.start, &j.kernels, &j.end)
	s.pending = slices.DeleteFunc(slices.Clone(s.pending), func(p *job) bool { return p == j })
}

// release waits until the frame is copied, after which its samples may change.
func (a *upload) release(s *slots) {
	if copied := a.copied; !a.known && !s.closed && copied != (cu.Event{}) {
		_ = s.unit.waiter.do(func() error { return copied.Synchronize() })
	}
	a.pins.Unpin()
	s.recycle(&a.start, &a.copied, &a.ready, &a.prepared)
}

// times are the durations of a frame's stages, and the time that the frame adds to the device's
// busy time.
type times struct{ in, kernel, out, busy time.Duration }

// measure reads the events of a job whose result is complete. The event before is the end of the
// device's previous job, or zero.
func (j *job) measure(before cu.Event) (t times, err error) {
	own, last := j.reads[j.centre], j.reads[len(j.reads)-1]
	var prepared, since time.Duration
	for _, e := range []struct {
		from, to cu.Event
		d        *time.Duration
	}{
		{own.start, own.copied, &t.in}, {own.ready, own.prepared, &prepared}, {j.start, j.kernels, &t.kernel},
		{j.kernels, j.end, &t.out}, {last.start, j.end, &t.busy}, {before, j.end, &since},
	} {
		if e.from == (cu.Event{}) {
			continue
		}
		if *e.d, err = elapsed(e.from, e.to); err != nil {
			return t, err
		}
	}
	t.kernel += prepared
	if before != (cu.Event{}) {
		t.busy = max(0, min(t.busy, since))
	}
	return t, nil
}

func elapsed(from, to cu.Event) (time.Duration, error) {
	ms, err := from.Elapsed(to)
	return time.Duration(ms * float64(time.Millisecond)), err
}

// settle waits until all streams are idle, up to the device's patience.
func (s *slots) settle() error {
	streams := s.streams
	return s.unit.waiter.do(func() (first error) {
		for _, stream := range streams {
			if err := stream.Synchronize(); first == nil {
				first = err
			}
		}
		return first
	})
}

// close waits until the device is idle, ends the pending jobs and frees everything. It first calls
// free on the work thread, which may be nil.
func (s *slots) close(free func()) {
	err := s.failed(s.settle(), s.op)
	for _, j := range s.pending {
		j.close(err)
	}
	s.closed = true
	_ = s.unit.work.do(func() error {
		if free != nil {
			free()
		}
		for _, way := range s.stages {
			for _, st := range way.all {
				st.buffer.free()
			}
		}
		for _, l := range s.lanes.all {
			l.memory.free()
		}
		for i := range s.events {
			freeEvent(&s.events[i])
		}
		for i := range s.streams {
			_ = s.streams[i].Destroy()
		}
		return nil
	})
}

func freeEvent(e *cu.Event) {
	if *e != (cu.Event{}) {
		_ = cu.DestroyEvent(e)
		*e = cu.Event{}
	}
}

// buffer is device memory.
type buffer struct {
	address cu.DevicePtr
	size    int
}

// grow makes the buffer at least size bytes. Its contents are lost, and it must not be in use.
func (b *buffer) grow(u *openDevice, size int) error {
	if size <= b.size {
		return nil
	}
	b.free()
	address, err := cu.MemAlloc(int64(size))
	if err != nil {
		free, _, _ := cu.MemInfo()
		return u.failed(err, "allocate %s on %s, of which %s are free", megabytes(int64(size)), u, megabytes(free))
	}
	b.address, b.size = address, size
	return nil
}

func (b *buffer) free() {
	if b.size > 0 {
		_ = cu.MemFree(b.address)
	}
	*b = buffer{}
}
