package gpu

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// denoiser returns the engine of a denoiser. Its errors wrap ErrDevice unless they are the
// context's. Devices take turns, but a causal filter uses the first alone: its results are waited
// for one by one.
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

// runOf is how many frames in a row a device denoises when several share a stream. Frames near the
// ends of a run are prepared twice, so runs are long. But all devices but one have a whole run
// under way, and those frames are in the host's memory: with more than two, runs are shorter.
func runOf(devices int) int {
	const most, underWay = 16, 24
	return min(most, max(1, underWay/(devices-1)))
}

// denoiser denoises on a device. All kernels run in one stream, so they may share memory, and a
// picture's memory may be used again at once; copies run in two others.
type denoiser struct {
	backend *Backend
	unit    *unit
	cell    int

	format  pipeline.Format // of the pictures in memory; zero if there is no memory
	streams denoiseStreams
	kinds   map[device.Shape]*kind
	events  []cu.Event  // of pictures that were released
	stages  [2][]*stage // on the way in, out
	turns   [2]int      // how often a stage was taken

	marks  []pictureMarks // of pictures that were released
	before cu.Event       // the end of the job before

	pictures map[*cudaPicture]struct{} // not released yet
	sums     map[*cudaSum]struct{}     // likewise
	jobs     map[*denoised]struct{}    // not waited for yet
}

var _ denoise.Engine = (*denoiser)(nil)
var _ pipeline.Discarder = (*denoiser)(nil)

// denoiseStreams are the streams of a denoiser.
type denoiseStreams struct{ in, kernels, out cu.Stream }

func (s *denoiseStreams) all() []*cu.Stream { return []*cu.Stream{&s.in, &s.kernels, &s.out} }

// kind is what pictures of one shape have in common: those of frames, or of top or bottom fields.
type kind struct {
	layout *device.Layout
	work   buffer
	free   []buffer // of pictures
	sums   []buffer // that no sum has
	half   *kind    // of half the size, if there are any
}

// planes are those of a picture in the device's memory.
type planes struct {
	kind     *kind
	memory   buffer
	smoothed smoothness
	half     *planes // of the picture of half the size, made when needed
}

// cudaPicture is a picture in the device's memory.
type cudaPicture struct {
	planes
	engine  *denoiser
	retired bool     // the memory is another picture's
	copied  cu.Event // the frame's samples have been read
	marks   pictureMarks
	waited  bool           // for copied
	pins    runtime.Pinner // of samples in Go's memory
}

// smoothness says which planes the search finds in a picture.
type smoothness uint8

const (
	notSmoothed smoothness = iota
	finely
	coarsely
)

// stage is a frame's samples between host and device: one after another uses it.
type stage struct {
	memory buffer
	free   cu.Event // the last one is done with it
	used   bool
}

const (
	inward = iota
	outward
	stagesEachWay = 3
)

// depth lets copies overlap kernels.
const depth = 2

func (d *denoiser) Depth() int { return depth }

// Copies returns false: samples are on their way for a while.
func (d *denoiser) Copies() bool { return false }

// Prepare queues the copy of the samples to the device, and the kernel that makes planes of them.
func (d *denoiser) Prepare(ctx context.Context, f *pipeline.Frame, field plane.Field) (denoise.Picture, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if f.Format != d.format {
		d.Idle()
		d.format = f.Format
		d.backend.using(d, true)
		if err := d.unit.loadAll(device.Kernels(f.Layout.Info().Depth)); err != nil { // if not ahead
			return nil, d.failed(err, "prepare a picture on")
		}
	}
	part := d.backend.partOf(f, d.unit, field)
	p := &cudaPicture{}
	part.pin(f, &p.pins)
	if err := d.unit.work.do(func() error { return d.prepare(p, part) }); err != nil {
		d.settle()
		p.pins.Unpin()
		d.drop(p)
		return nil, d.failed(err, "prepare a picture on")
	}
	if d.pictures == nil {
		d.pictures, d.jobs = map[*cudaPicture]struct{}{}, map[*denoised]struct{}{}
	}
	d.pictures[p] = struct{}{}
	return p, nil
}

func (d *denoiser) failed(err error, what string) error {
	return d.unit.failed(err, "%s %s, %s", what, d.unit, d.format)
}

// prepare must be called on the work thread, as all methods below that say nothing else.
func (d *denoiser) prepare(p *cudaPicture, part part) error {
	begun := time.Now()
	k, err := d.kindOf(part)
	if err != nil {
		return err
	}
	if err := d.fill(p, k); err != nil {
		return err
	}
	if err := d.mark(p); err != nil {
		return err
	}
	s, err := d.stage(inward, part.place.size)
	if err != nil {
		return err
	}
	d.backend.meter.started(func(c *ColdStart) *time.Duration { return &c.Buffers }, begun)
	streams := &d.streams
	if s.used {
		if err := streams.in.Wait(s.free, 0); err != nil {
			return err
		}
	}
	if err := p.marks.start.Record(streams.in); err != nil {
		return err
	}
	for _, r := range part.place.at(s.memory.address) {
		if err := r.in(streams.in); err != nil {
			return err
		}
	}
	if err := p.copied.Record(streams.in); err != nil {
		return err
	}
	if err := streams.kernels.Wait(p.copied, 0); err != nil {
		return err
	}
	if err := p.marks.ready.Record(streams.kernels); err != nil {
		return err
	}
	if err := d.run(k.layout.Prepare(uint64(p.memory.address), part.samples(s.memory.address))); err != nil {
		return err
	}
	if err := p.marks.prepared.Record(streams.kernels); err != nil {
		return err
	}
	s.used = true
	return s.free.Record(streams.kernels)
}

// kindOf returns the kind of a part's pictures, and makes it first if need be.
func (d *denoiser) kindOf(part part) (*kind, error) {
	if err := d.makeStreams(); err != nil {
		return nil, err
	}
	shape := part.shape(d.cell)
	if k, ok := d.kinds[shape]; ok {
		return k, nil
	}
	layout, err := device.NewLayout(shape)
	if err != nil {
		return nil, err
	}
	k, err := d.newKind(layout)
	if err != nil {
		return nil, err
	}
	if d.kinds == nil {
		d.kinds = map[device.Shape]*kind{}
	}
	d.kinds[shape] = k
	return k, d.run(layout.Clear(uint64(k.work.address)))
}

func (d *denoiser) newKind(layout *device.Layout) (*kind, error) {
	k := &kind{layout: layout}
	return k, k.work.grow(d.unit, layout.Work)
}

func (d *denoiser) makeStreams() (err error) {
	for _, s := range d.streams.all() {
		if *s != (cu.Stream{}) {
			continue
		}
		if *s, err = cu.MakeStream(cu.NonBlocking); err != nil {
			return d.unit.failed(err, "make a stream on %s", d.unit)
		}
	}
	return nil
}

// fill gives a picture its event and memory: those of pictures before, or new ones.
func (d *denoiser) fill(p *cudaPicture, k *kind) (err error) {
	p.engine, p.kind = d, k
	if n := len(d.events); n > 0 {
		p.copied, d.events = d.events[n-1], d.events[:n-1]
	} else if p.copied, err = cu.MakeEvent(cu.BlockingSyncEvent); err != nil {
		return d.unit.failed(err, "make an event on %s", d.unit)
	}
	return d.reserve(&p.planes)
}

// reserve gives planes memory: that of a picture before, or new one.
func (d *denoiser) reserve(p *planes) error {
	k := p.kind
	if n := len(k.free); n > 0 {
		p.memory, k.free = k.free[n-1], k.free[:n-1]
		return nil
	}
	return p.memory.grow(d.unit, k.layout.Picture)
}

// stage returns the next stage in turn, for so many bytes.
func (d *denoiser) stage(way, size int) (*stage, error) {
	i := d.turns[way] % stagesEachWay
	d.turns[way]++
	if i == len(d.stages[way]) {
		s := &stage{}
		var err error
		if s.free, err = cu.MakeEvent(cu.BlockingSyncEvent); err != nil {
			return nil, d.unit.failed(err, "make an event on %s", d.unit)
		}
		d.stages[way] = append(d.stages[way], s)
	}
	s := d.stages[way][i]
	if size > s.memory.size && s.used { // a frame of the same format that lies otherwise in memory
		if err := s.free.Synchronize(); err != nil {
			return nil, err
		}
	}
	return s, s.memory.grow(d.unit, size)
}

// run queues kernels.
func (d *denoiser) run(runs []device.Run) error {
	for _, r := range runs {
		f, err := d.unit.load(r.Kernel)
		if err != nil {
			return err
		}
		if err := run(f.kernel, r.Launch, d.streams.kernels); err != nil {
			return d.failed(err, fmt.Sprintf("launch %s on", f.name))
		}
	}
	return nil
}

// Retire gives the picture's memory to the next: its kernels come after those of the jobs that have
// begun.
func (p *cudaPicture) Retire() {
	if _, ok := p.engine.pictures[p]; ok && !p.retired {
		p.retired = true
		for h := &p.planes; h != nil; h = h.half {
			h.kind.free = append(h.kind.free, h.memory)
		}
	}
}

// Release waits until the frame's samples are copied. After Idle nothing is left to do.
func (p *cudaPicture) Release() {
	p.Retire()
	d, copied := p.engine, p.copied
	if _, ok := d.pictures[p]; !ok {
		return
	}
	delete(d.pictures, p)
	if !p.waited {
		_ = d.unit.waiter.do(func() error { return copied.Synchronize() })
	}
	p.pins.Unpin()
	d.marks = append(d.marks, p.marks)
	d.events = append(d.events, copied)
}

// drop frees a picture that could not be prepared. It may be called from any goroutine.
func (d *denoiser) drop(p *cudaPicture) {
	_ = d.unit.work.do(func() error { p.free(); return nil })
}

func (p *cudaPicture) free() {
	for h := &p.planes; h != nil && !p.retired; h = h.half {
		h.memory.free()
	}
	freeEvent(&p.copied)
	freeEvents(p.marks.all())
}

func freeEvent(e *cu.Event) {
	if *e != (cu.Event{}) {
		_ = cu.DestroyEvent(e)
		*e = cu.Event{}
	}
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
	if n := len(s.kind.sums); n > 0 {
		s.memory, s.kind.sums = s.kind.sums[n-1], s.kind.sums[:n-1]
	} else if err := d.unit.work.do(func() error { return s.memory.grow(d.unit, s.kind.layout.Sum) }); err != nil {
		return nil, d.failed(err, "sum up pictures on")
	}
	if d.sums == nil {
		d.sums = map[*cudaSum]struct{}{}
	}
	d.sums[s] = struct{}{}
	return s, context.Cause(ctx)
}

// Add queues the kernel.
func (s *cudaSum) Add(ctx context.Context, p denoise.Picture) error {
	d, picture := s.engine, uint64(p.(*cudaPicture).memory.address)
	runs := s.kind.layout.Add(picture, uint64(s.memory.address), s.count)
	if err := d.unit.work.do(func() error { return d.run(runs) }); err != nil {
		return d.failed(err, "sum up pictures on")
	}
	s.count++
	return context.Cause(ctx)
}

// Release gives the memory to the next sum: its kernels come after those of the jobs that have
// begun. After Idle nothing is left to do.
func (s *cudaSum) Release() {
	if _, ok := s.engine.sums[s]; ok {
		delete(s.engine.sums, s)
		s.kind.sums = append(s.kind.sums, s.memory)
	}
}

// Denoise queues the kernels, and the copy of the result to the host.
func (d *denoiser) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r := &denoised{engine: d, part: d.backend.partOf(j.Out, d.unit, j.Field).written(), centre: j.Centre, field: j.Field}
	for _, p := range j.Window {
		r.window = append(r.window, p.(*cudaPicture))
	}
	r.part.pin(j.Out, &r.pins)
	if err := d.unit.work.do(func() error { return r.queue(j) }); err != nil {
		d.settle()
		r.end()
		return nil, d.failed(err, "denoise on")
	}
	d.jobs[r] = struct{}{}
	return r.wait, nil
}

// denoised is a picture under way.
type denoised struct {
	engine *denoiser
	part   part
	window []*cudaPicture
	centre int
	field  plane.Field
	pins   runtime.Pinner
	marks  jobMarks
	done   cu.Event
	ended  bool
	err    error
}

func (r *denoised) queue(j denoise.Job) (err error) {
	d := r.engine
	if r.done, err = cu.MakeEvent(cu.BlockingSyncEvent); err != nil {
		return d.unit.failed(err, "make an event on %s", d.unit)
	}
	if err := makeEvents(r.marks.all()); err != nil {
		return d.unit.failed(err, "make events on %s", d.unit)
	}
	s, err := d.stage(outward, r.part.place.size)
	if err != nil {
		return err
	}
	streams := &d.streams
	if err := r.marks.start.Record(streams.kernels); err != nil {
		return err
	}
	if err := r.queueKernels(j, s); err != nil {
		return err
	}
	if err := r.marks.done.Record(streams.kernels); err != nil {
		return err
	}
	if err := s.free.Record(streams.kernels); err != nil { // for now: it is full
		return err
	}
	if err := streams.out.Wait(s.free, 0); err != nil {
		return err
	}
	for _, c := range r.part.place.at(s.memory.address) {
		if err := c.out(streams.out); err != nil {
			return err
		}
	}
	s.used = true
	if err := s.free.Record(streams.out); err != nil {
		return err
	}
	return r.done.Record(streams.out)
}

func (r *denoised) queueKernels(j denoise.Job, s *stage) error {
	d := r.engine
	info := r.part.format.Layout.Info()
	var window []*planes
	for _, p := range r.window {
		window = append(window, &p.planes)
	}
	job := device.Job{
		Centre: j.Centre, Noise: j.Noise, Settings: j.Settings,
		Result: r.part.samples(s.memory.address), Depth: info.Depth, Shift: info.Shift,
	}
	for _, p := range j.Past {
		job.Past = append(job.Past, device.Past{Sum: uint64(p.Sum.(*cudaSum).memory.address), Count: p.Count})
	}
	last, err := d.queue(window, job)
	if err != nil {
		return err
	}
	if s.used {
		if err := d.streams.kernels.Wait(s.free, 0); err != nil {
			return err
		}
	}
	return d.run(last)
}

// queue queues the kernels of a job but for the last, which write the result, and returns those.
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

// halve makes the planes of the picture of half the size, unless it has been.
func (d *denoiser) halve(p *planes) error {
	if p.half != nil {
		return nil
	}
	if p.kind.half == nil {
		layout, err := p.kind.layout.Halved()
		if err != nil {
			return err
		}
		k, err := d.newKind(layout)
		if err != nil {
			return err
		}
		p.kind.half = k
		if err := d.run(layout.Clear(uint64(k.work.address))); err != nil {
			return err
		}
	}
	h := &planes{kind: p.kind.half}
	if err := d.reserve(h); err != nil {
		return err
	}
	p.half = h
	k := h.kind
	return d.run(p.kind.layout.Halve(uint64(p.memory.address), k.layout, uint64(h.memory.address), uint64(k.work.address)))
}

// wait is the job's denoise.Wait.
func (r *denoised) wait(ctx context.Context) error {
	if r.ended {
		return r.err
	}
	d, done := r.engine, r.done
	t, err := call(ctx, d.unit.waiter, func() (times, error) {
		if err := done.Synchronize(); err != nil {
			return times{}, err
		}
		return r.measure()
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.err = d.failed(err, "denoise on"); r.err == nil {
		for _, p := range r.window {
			p.waited = true
		}
		d.note(r, t)
		d.before, r.done = r.done, d.before // for the next, and to be freed
	}
	r.end()
	return r.err
}

// end frees what the job has for itself.
func (r *denoised) end() {
	r.ended = true
	delete(r.engine.jobs, r)
	r.pins.Unpin()
	_ = r.engine.unit.work.do(func() error {
		freeEvent(&r.done)
		freeEvents(r.marks.all())
		return nil
	})
}

// settle waits until nothing is under way, up to the device's patience.
func (d *denoiser) settle() {
	streams := d.streams
	_ = d.unit.waiter.do(func() error {
		for _, s := range streams.all() {
			if *s != (cu.Stream{}) {
				_ = s.Synchronize()
			}
		}
		return nil
	})
}

// Discard is Idle, for the backend's end.
func (d *denoiser) Discard() { d.Idle() }

// Idle frees everything on the device, even pictures that are not released and results that nobody
// has waited for: the backend may be closed under a filter.
func (d *denoiser) Idle() {
	if d.format == (pipeline.Format{}) {
		return
	}
	d.settle()
	for r := range d.jobs {
		r.end()
	}
	for p := range d.pictures {
		p.pins.Unpin()
	}
	_ = d.unit.work.do(func() error {
		for p := range d.pictures {
			p.free()
		}
		for s := range d.sums {
			s.memory.free()
		}
		for _, k := range d.kinds {
			for ; k != nil; k = k.half {
				for i := range k.sums {
					k.sums[i].free()
				}
				for i := range k.free {
					k.free[i].free()
				}
				k.work.free()
			}
		}
		for i := range d.events {
			freeEvent(&d.events[i])
		}
		for i := range d.marks {
			freeEvents(d.marks[i].all())
		}
		freeEvent(&d.before)
		for _, way := range d.stages {
			for _, s := range way {
				s.memory.free()
				freeEvent(&s.free)
			}
		}
		for _, s := range d.streams.all() {
			if *s != (cu.Stream{}) {
				_ = s.Destroy()
			}
		}
		return nil
	})
	d.streams, d.kinds, d.events, d.marks = denoiseStreams{}, nil, nil, nil
	d.stages, d.turns = [2][]*stage{}, [2]int{}
	clear(d.pictures)
	clear(d.sums)
	d.format = pipeline.Format{}
	d.backend.using(d, false)
}
