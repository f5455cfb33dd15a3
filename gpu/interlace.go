package gpu

import (
	"context"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	fields "vidfilter/interlace/device"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// deinterlaced is the deinterlacer's form.
type deinterlaced struct {
	*Backend
	stage kernels.Deinterlace
}

// kernels returns the kernels for 8 bits. The first frame loads the kernels for deeper samples.
func (deinterlaced) kernels() ([]kernels.Variant, error) { return fields.Kernels(8), nil }

func (deinterlaced) held() int { return depth }

func (d deinterlaced) filter(pool *pipeline.Pool) (pipeline.Filter, error) {
	return d.stage.On(d.deinterlacer(), pool), nil
}

// buffers are buffers of one size.
type buffers struct{ all, idle []buffer }

func (b *buffers) take(u *openDevice, size int) (got buffer, err error) {
	if n := len(b.idle); n > 0 {
		got, b.idle = b.idle[n-1], b.idle[:n-1]
		return got, nil
	}
	if err = got.grow(u, size); err == nil {
		b.all = append(b.all, got)
	}
	return got, err
}

func (b *buffers) put(used buffer) { b.idle = append(b.idle, used) }

func (b *buffers) free() {
	for i := range b.all {
		b.all[i].free()
	}
}

// deinterlacer is an engine on a device. All kernels run in one stream, so a retired
// field's memory can be reused at once.
type deinterlacer struct {
	backend *Backend
	unit    *openDevice

	slots   *slots // nil when idle
	kernels cu.Stream
	layout  *fields.Layout
	table   buffer
	work    buffer
	memory  buffers // for fields
	made    buffers // for estimates
}

var _ interlace.Engine = (*deinterlacer)(nil)
var _ pipeline.Discarder = (*deinterlacer)(nil)

// cudaField is a field in device memory.
type cudaField struct {
	upload
	owner   *deinterlacer
	slots   *slots
	bottom  bool
	memory  buffer
	made    [interlace.Passes]buffer // estimates by pass, while they are needed
	retired bool                     // another field may use the memory
}

// deinterlacer returns a new engine on the first device. Its errors wrap ErrDevice, except for the
// context's.
func (b *Backend) deinterlacer() interlace.Engine { return &deinterlacer{backend: b, unit: b.units[0]} }

func (w *deinterlacer) Depth() int { return depth }

// Prepare queues the copy of the samples to the device and the launches of Layout.Keep.
func (w *deinterlacer) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (interlace.Field, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if w.slots == nil || f.Format != w.slots.format {
		if err := w.open(f.Format); err != nil {
			return nil, err
		}
	}
	part := w.backend.partOf(f, w.unit, field)
	e := &cudaField{owner: w, slots: w.slots, bottom: field == plane.Bottom}
	part.place.pin(f, &e.pins)
	if err := w.slots.do(func() error { return w.prepare(e, part) }); err != nil {
		e.known = true
		e.Release()
		return nil, err
	}
	return e, nil
}

// open makes the slots for a format.
func (w *deinterlacer) open(f pipeline.Format) error {
	w.Idle()
	if err := w.unit.loadAll(fields.Kernels(f.Layout.Info().Depth)); err != nil { // if not loaded yet
		return w.unit.failed(err, "prepare a field on %s, %s", w.unit, f)
	}
	layout, err := fields.NewLayout(shapeOf(f))
	if err != nil {
		return err
	}
	s, err := newSlots(w.backend, w.unit, f, "deinterlace on", 1, nil)
	if err != nil {
		return err
	}
	w.slots, w.layout = s, layout
	w.backend.using(w, true)
	return s.do(func() error {
		if err := s.makeStreams(&w.kernels); err != nil {
			return err
		}
		table := fields.Table()
		if err := w.table.grow(w.unit, len(table)); err != nil {
			return err
		}
		if err := cu.MemcpyHtoD(w.table.address, unsafe.Pointer(&table[0]), int64(len(table))); err != nil {
			return err
		}
		return w.work.grow(w.unit, layout.Work)
	})
}

// prepare must be called on the work thread, like all unexported methods below.
func (w *deinterlacer) prepare(e *cudaField, part part) (err error) {
	if e.memory, err = w.memory.take(w.unit, w.layout.Field); err != nil {
		return err
	}
	return w.slots.prepare(&e.upload, part.place, w.kernels, func(from cu.DevicePtr) []device.Run {
		return w.layout.Keep(uint64(e.memory.address), part.components(from))
	})
}

// Retire lets the next field use the memory. The stream runs the next field's kernels after all
// jobs in progress.
func (e *cudaField) Retire() {
	if e.retired {
		return
	}
	e.retired = true
	if e.memory.size > 0 {
		e.owner.memory.put(e.memory)
	}
	for pass := range e.made {
		e.forget(pass)
	}
}

// forget returns the memory of an estimate that is no longer needed.
func (e *cudaField) forget(pass int) {
	if e.made[pass].size > 0 {
		e.owner.made.put(e.made[pass])
		e.made[pass] = buffer{}
	}
}

// Release waits until the field's samples are copied to the device.
func (e *cudaField) Release() {
	e.Retire()
	e.release(e.slots)
}

// Fill queues the kernels and the copy of the result.
func (w *deinterlacer) Fill(ctx context.Context, j interlace.Job) (interlace.Wait, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &job{frames: 1}
	var window window
	for i, f := range j.Window {
		if f == nil {
			continue
		}
		window[i] = f.(*cudaField)
		if i == interlace.Reach {
			r.centre = len(r.reads)
		}
		r.reads = append(r.reads, &window[i].upload)
	}
	part := w.backend.resultOf(j.Out, w.unit)
	part.place.pin(j.Out, &r.pins)
	if err := w.slots.queue(r, func() error { return w.fill(r, &window, part) }); err != nil {
		return nil, err
	}
	window.forget()
	return r.wait, nil
}

func (w *deinterlacer) fill(r *job, window *window, part part) error {
	to, err := w.slots.stage(outward, part.place.size)
	if err != nil {
		return err
	}
	var c calls
	c.record(r.start, w.kernels)
	c.do(func() error {
		job, err := w.better(window, interlace.Reach, interlace.Passes)
		if err != nil {
			return err
		}
		if err := w.kernels.Wait(to.free, 0); err != nil {
			return err
		}
		return w.slots.launch(w.kernels, w.layout.Finish(job, part.components(to.address)))
	})
	c.do(func() error { return w.slots.copyOut(r, part.place, to, w.kernels) })
	return c.err
}

// window is the window of a picture.
type window [2*interlace.Reach + 1]*cudaField

func (w *window) there(place int) bool { return place >= 0 && place < len(w) && w[place] != nil }

// forget returns the memory of estimates that later pictures do not need.
func (w *window) forget() {
	for pass := range interlace.Passes {
		// made is the last field whose estimate of the next pass exists. The next field to get one
		// reads estimates of this pass from made-1 on.
		made := interlace.Reach + 2*(interlace.Passes-pass-1)
		for place := 0; place <= made-2; place++ {
			if w.there(place) {
				w[place].forget(pass)
			}
		}
	}
}

// better queues the launches for all inputs of an estimate, and returns the job that computes it.
func (w *deinterlacer) better(all *window, place, pass int) (fields.Job, error) {
	e := all[place]
	if err := w.estimate(all, place, pass-1); err != nil {
		return fields.Job{}, err
	}
	job := fields.Job{
		Pass: pass - 1, Field: uint64(e.memory.address), Bottom: e.bottom, Estimate: uint64(e.made[pass-1].address),
		Table: uint64(w.table.address), Work: uint64(w.work.address),
	}
	for i, k := range interlace.Neighbours {
		n := interlace.StandIn(i, place, all.there)
		if err := w.estimate(all, n, pass-1); err != nil {
			return job, err
		}
		job.Neighbours[i] = fields.Neighbour{Estimate: uint64(all[n].made[pass-1].address), Bottom: all[n].bottom, StandsIn: n != place+k}
	}
	return job, nil
}

// estimate queues the launches for an estimate of a field unless it exists.
func (w *deinterlacer) estimate(all *window, place, pass int) (err error) {
	e := all[place]
	if e.made[pass].size > 0 {
		return nil
	}
	var job fields.Job
	if pass > 0 {
		if job, err = w.better(all, place, pass); err != nil {
			return err
		}
	}
	if e.made[pass], err = w.made.take(w.unit, w.layout.Estimate); err != nil {
		return err
	}
	to := uint64(e.made[pass].address)
	if pass > 0 {
		return w.slots.launch(w.kernels, w.layout.Better(job, to))
	}
	return w.slots.launch(w.kernels, w.layout.First(uint64(e.memory.address), e.bottom, to, uint64(w.work.address)))
}

// Discard implements pipeline.Discarder, for Backend.Close.
func (w *deinterlacer) Discard() { w.Idle() }

// Idle frees all memory on the device, including unreleased fields and pictures in progress,
// because the backend may be closed while a filter uses it.
func (w *deinterlacer) Idle() {
	if w.slots == nil {
		return
	}
	w.slots.close(func() {
		w.table.free()
		w.work.free()
		w.memory.free()
		w.made.free()
	})
	w.slots, w.layout, w.memory, w.made = nil, nil, buffers{}, buffers{}
	w.backend.using(w, false)
}

// shapeOf returns the shape for frames of a format.
func shapeOf(f pipeline.Format) (s fields.Shape) {
	info := f.Layout.Info()
	s.Depth, s.Shift, s.ShiftX, s.ShiftY = info.Depth, info.Shift, info.SubX, info.SubY
	s.Searched = interlace.Searched(f.Layout)
	whole := wholeOf(f)
	for i, c := range whole.components(0) {
		s.Components[i] = c.Size
	}
	return s
}

// components returns the locations of the components in a buffer, in the order of
// interlace.ComponentsOf.
func (p *part) components(at cu.DevicePtr) (all fields.Samples) {
	if n := p.format.Layout.Info().Samples; n > 1 {
		for i := range n {
			all[i] = device.Samples{
				Addr: uint64(at) + uint64(p.place.offset[0]+i), Pitch: p.place.pitch[0], Step: n,
				Size: device.Size{Width: p.format.Width, Height: p.rows[0]},
			}
		}
		return all
	}
	own := p.samples(at)
	copy(all[:], own[:])
	return all
}

// resultOf is the part for writing a whole frame. If the frame has samples in both memories, the
// part copies to the host as well.
func (b *Backend) resultOf(f *pipeline.Frame, u *openDevice) part {
	p := b.partOf(f, u, plane.Whole)
	if f.Device.Owner == any(u) && f.Planes[0].Data != nil {
		whole, _ := spanOf(f)
		p.place.copies = append(p.place.copies, inOneGo(f, whole).copies...)
	}
	return p
}
