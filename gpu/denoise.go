package gpu

import (
	"context"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// autoTier is the denoiser's automatic quality.
const autoTier = denoise.Good

// denoised is the form of the denoiser.
type denoised struct {
	*Backend
	stage kernels.Denoise
}

func (d denoised) engine() denoise.Engine { return d.denoiser(d.stage.Denoising(autoTier).Settings) }

// kernels leaves those for deeper samples to be loaded with the first frame.
func (denoised) kernels() ([]kernels.Variant, error) { return device.Kernels(8), nil }

func (d denoised) held() int { return d.engine().Depth() }

func (d denoised) filter(pool *pipeline.Pool) (pipeline.Filter, error) {
	return kernels.NewDenoiser(d.engine(), pool, d.stage, autoTier), nil
}

// denoiser returns the engine of a denoiser. Its errors wrap ErrDevice unless they are the
// context's. Devices take turns. A causal filter uses the first device alone, since its caller
// waits for each result.
func (b *Backend) denoiser(s denoise.Settings) denoise.Engine {
	var engines []denoise.Engine
	for _, u := range b.units {
		engines = append(engines, &denoiser{backend: b, unit: u, cell: s.Motion.Cell})
	}
	if len(engines) == 1 || s.Ahead == 0 {
		return engines[0]
	}
	return denoise.InTurn(engines, runOf(len(engines)), s)
}

// runOf returns how many frames in a row a device denoises when several share a video. Two devices
// prepare the frames near the ends of a run, so runs are long. But all devices except one have a
// whole run in progress, whose frames are in the host's memory: more than two get shorter runs.
func runOf(devices int) int {
	const most, underWay = 16, 24
	return min(most, max(1, underWay/(devices-1)))
}

// denoiser denoises on a device. All kernels run in one stream, so they may share memory, and a
// picture's memory may be used again at once.
type denoiser struct {
	backend *Backend
	unit    *unit
	cell    int

	slots   *slots // nil if the denoiser is idle
	kernels cu.Stream
	kinds   map[device.Shape]*kind
}

var _ denoise.Engine = (*denoiser)(nil)
var _ pipeline.Discarder = (*denoiser)(nil)

// kind is the state shared by pictures of one shape: of frames, of top or of bottom fields.
type kind struct {
	layout         *device.Layout
	work           buffer
	pictures, sums buffers
	half           *kind // of half the size, if there are any
}

// buffers are buffers of one size.
type buffers struct{ all, idle []buffer }

func (b *buffers) take(u *unit, size int) (got buffer, err error) {
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

// planes are a picture's planes in the device's memory.
type planes struct {
	kind     *kind
	memory   buffer
	smoothed smoothness
	half     *planes // of the picture of half the size, made when needed
}

// cudaPicture is a picture in the device's memory.
type cudaPicture struct {
	planes
	upload
	slots   *slots
	retired bool // another picture may use the memory
}

// smoothness is which planes the search finds in a picture.
type smoothness uint8

const (
	notSmoothed smoothness = iota
	finely
	coarsely
)

// depth lets copies overlap kernels.
const depth = 2

func (d *denoiser) Depth() int { return depth }

// Copies returns false: the device reads the samples later.
func (d *denoiser) Copies() bool { return false }

// Prepare queues the copy of the samples to the device, and the kernels that make planes.
func (d *denoiser) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (denoise.Picture, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if d.slots == nil || f.Format != d.slots.format {
		if err := d.open(f.Format); err != nil {
			return nil, err
		}
	}
	part := d.backend.partOf(f, d.unit, field)
	p := &cudaPicture{slots: d.slots}
	part.place.pin(f, &p.pins)
	if err := d.slots.do(func() error { return d.prepare(p, part) }); err != nil {
		p.known = true
		p.Release()
		return nil, err
	}
	return p, nil
}

// open makes the slots for a format.
func (d *denoiser) open(f pipeline.Format) error {
	d.Idle()
	if err := d.unit.loadAll(device.Kernels(f.Layout.Info().Depth)); err != nil { // if not ahead
		return d.unit.failed(err, "prepare a picture on %s, %s", d.unit, f)
	}
	s, err := newSlots(d.backend, d.unit, f, "denoise on", 1, nil)
	if err != nil {
		return err
	}
	d.slots, d.kinds = s, map[device.Shape]*kind{}
	d.backend.using(d, true)
	return nil
}

// prepare must be called on the work thread, like all unexported methods below.
func (d *denoiser) prepare(p *cudaPicture, part part) error {
	s := d.slots
	l, err := s.lane()
	if err != nil {
		return err
	}
	d.kernels = l.stream
	if p.kind, err = d.kindOf(part); err != nil {
		return err
	}
	if p.memory, err = p.kind.pictures.take(d.unit, p.kind.layout.Picture); err != nil {
		return err
	}
	if err := s.takeEvents(&p.ready, &p.prepared); err != nil {
		return err
	}
	from, err := s.copyIn(&p.upload, part.place, d.kernels)
	if err != nil {
		return err
	}
	var c calls
	c.record(p.ready, d.kernels)
	c.do(func() error {
		return d.run(p.kind.layout.Prepare(uint64(p.memory.address), part.samples(from.address)))
	})
	c.record(p.prepared, d.kernels)
	c.record(from.free, d.kernels)
	return c.err
}

// kindOf returns the kind of a part's pictures, and makes it if it is new.
func (d *denoiser) kindOf(part part) (*kind, error) {
	shape := part.shape(d.cell)
	if k, ok := d.kinds[shape]; ok {
		return k, nil
	}
	layout, err := device.NewLayout(shape)
	if err != nil {
		return nil, err
	}
	k := &kind{layout: layout}
	d.kinds[shape] = k
	return k, d.clear(k)
}

// clear gives a kind cleared memory for the work.
func (d *denoiser) clear(k *kind) error {
	if err := k.work.grow(d.unit, k.layout.Work); err != nil {
		return err
	}
	return d.run(k.layout.Clear(uint64(k.work.address)))
}

// run queues kernels.
func (d *denoiser) run(runs []device.Run) error { return d.slots.launch(d.kernels, runs) }

// Retire lets the next picture use the memory: its kernels run after those of the jobs in progress.
func (p *cudaPicture) Retire() {
	if p.retired {
		return
	}
	p.retired = true
	for h := &p.planes; h != nil && h.memory.size > 0; h = h.half {
		h.kind.pictures.put(h.memory)
	}
}

// Release waits until the frame's samples are copied.
func (p *cudaPicture) Release() {
	p.Retire()
	p.release(p.slots)
}

// cudaSum is a sum of pictures in the device's memory.
type cudaSum struct {
	engine *denoiser
	kind   *kind
	memory buffer
	count  int
}

// Sum takes memory for a sum.
func (d *denoiser) Sum(ctx context.Context, like denoise.Picture) (denoise.Sum, error) {
	s := &cudaSum{engine: d, kind: like.(*cudaPicture).kind}
	err := d.slots.do(func() (err error) {
		s.memory, err = s.kind.sums.take(d.unit, s.kind.layout.Sum)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, context.Cause(ctx)
}

// Add queues the kernel.
func (s *cudaSum) Add(ctx context.Context, p denoise.Picture) error {
	d, picture := s.engine, uint64(p.(*cudaPicture).memory.address)
	runs := s.kind.layout.Add(picture, uint64(s.memory.address), s.count)
	if err := d.slots.do(func() error { return d.run(runs) }); err != nil {
		return err
	}
	s.count++
	return context.Cause(ctx)
}

// Release lets the next sum use the memory: its kernels run after those of the jobs in progress.
func (s *cudaSum) Release() { s.kind.sums.put(s.memory) }

// Denoise queues the kernels, and the copy of the result to the host.
func (d *denoiser) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &job{centre: j.Centre, frames: 1}
	if j.Field == plane.Top {
		r.frames = 0 // the second field completes a frame
	}
	var window []*planes
	for _, p := range j.Window {
		picture := p.(*cudaPicture)
		window, r.reads = append(window, &picture.planes), append(r.reads, &picture.upload)
	}
	part := d.backend.partOf(j.Out, d.unit, j.Field).written()
	part.place.pin(j.Out, &r.pins)
	if err := d.slots.queue(r, func() error { return d.denoise(r, j, window, part) }); err != nil {
		return nil, err
	}
	return r.wait, nil
}

func (d *denoiser) denoise(r *job, j denoise.Job, window []*planes, part part) error {
	to, err := d.slots.stage(outward, part.place.size)
	if err != nil {
		return err
	}
	info := part.format.Layout.Info()
	job := device.Job{
		Centre: j.Centre, Noise: j.Noise, Settings: j.Settings,
		Result: part.samples(to.address), Depth: info.Depth, Shift: info.Shift,
	}
	for _, p := range j.Past {
		job.Past = append(job.Past, device.Past{Sum: uint64(p.Sum.(*cudaSum).memory.address), Count: p.Count})
	}
	var last []device.Run
	var c calls
	c.record(r.start, d.kernels)
	c.do(func() (err error) {
		last, err = d.queue(window, job)
		return err
	})
	c.wait(d.kernels, to.free)
	c.do(func() error { return d.run(last) })
	c.do(func() error { return d.slots.copyOut(r, part.place, to, d.kernels) })
	return c.err
}

// queue queues the kernels of a job except the last, which write the result, and returns the last.
func (d *denoiser) queue(window []*planes, job device.Job) (last []device.Run, err error) {
	k := window[job.Centre].kind
	filtered, scaled := k.layout.Filtered(job), job.Noise.Scale(job.Settings.Strength)
	var after []device.Run
	if half := scaled.HalfOf(filtered); half != nil {
		if err := d.queueHalf(window, job); err != nil {
			return nil, err
		}
		after = k.layout.Replace(job, filtered, k.half.layout, uint64(k.half.work.address), half)
	}
	job.Work = uint64(k.work.address)
	searched := filtered.Any() && !scaled.Faint()
	want := finely
	if device.Coarse(job.Noise, job.Settings) {
		want = coarsely
	}
	for i, p := range window {
		if !job.Reads(i) {
			job.Window = append(job.Window, 0)
			continue
		}
		job.Window = append(job.Window, uint64(p.memory.address))
		if p.smoothed == want || !searched {
			continue
		}
		if err := d.run(k.layout.Smooth(uint64(p.memory.address), want == coarsely)); err != nil {
			return nil, err
		}
		p.smoothed = want
	}
	runs, err := k.layout.Denoise(job)
	if err != nil {
		return nil, err
	}
	n := len(runs) - 1
	return append(runs[n:], after...), d.run(runs[:n])
}

// queueHalf queues a job on the pictures of half the size.
func (d *denoiser) queueHalf(window []*planes, of device.Job) error {
	half := of.Noise.Half
	job := device.Job{Centre: of.Centre, Noise: half.Model, Settings: of.Settings.Halved(half)}
	halves := make([]*planes, len(window))
	for i, p := range window {
		if !job.Reads(i) {
			continue
		}
		if err := d.halve(p); err != nil {
			return err
		}
		halves[i] = p.half
	}
	k := halves[job.Centre].kind
	job.Result, job.Depth = k.layout.HalfResult(uint64(k.work.address)), k.layout.Shape.Depth
	last, err := d.queue(halves, job)
	if err != nil {
		return err
	}
	return d.run(last)
}

// halve makes the planes of the picture of half the size, if they are missing.
func (d *denoiser) halve(p *planes) error {
	if p.half != nil {
		return nil
	}
	if p.kind.half == nil {
		layout, err := p.kind.layout.Halved()
		if err != nil {
			return err
		}
		k := &kind{layout: layout}
		p.kind.half = k
		if err := d.clear(k); err != nil {
			return err
		}
	}
	h := &planes{kind: p.kind.half}
	var err error
	if h.memory, err = h.kind.pictures.take(d.unit, h.kind.layout.Picture); err != nil {
		return err
	}
	p.half = h
	k := h.kind
	return d.run(p.kind.layout.Halve(uint64(p.memory.address), k.layout, uint64(h.memory.address), uint64(k.work.address)))
}

// Discard is Idle, for the backend's end.
func (d *denoiser) Discard() { d.Idle() }

// Idle frees everything on the device, including pictures that are not released and results that
// no caller has waited for: the backend may be closed while a filter uses it.
func (d *denoiser) Idle() {
	if d.slots == nil {
		return
	}
	d.slots.close(func() {
		for _, k := range d.kinds {
			for ; k != nil; k = k.half {
				k.work.free()
				k.pictures.free()
				k.sums.free()
			}
		}
	})
	d.slots, d.kinds = nil, nil
	d.backend.using(d, false)
}
