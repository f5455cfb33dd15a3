package gpu

import (
	"context"
	"fmt"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/device"
	"vidfilter/denoise/noise"
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
		engines = append(engines, newDenoiser(b, u, s))
	}
	if len(engines) == 1 || s.Ahead == 0 {
		return engines[0]
	}
	return denoise.InTurn(engines, runOf(len(engines)), s)
}

// newDenoiser returns the engine of one device. A causal filter needs one stream, since its jobs
// do not overlap.
func newDenoiser(b *Backend, u *openDevice, s denoise.Settings) *denoiser {
	lanes := b.streams
	if s.Ahead == 0 {
		lanes = 1
	}
	before, after := s.Window()
	return &denoiser{
		backend: b, unit: u, most: lanes,
		window: before + 1 + after, sums: s.Runs,
	}
}

// runOf returns how many frames in a row a device denoises when several share a video. Two devices
// prepare the frames near the ends of a run, so runs are long. But all devices except one have a
// whole run in progress, whose frames are in the host's memory: more than two get shorter runs.
func runOf(devices int) int {
	const most, underWay = 16, 24
	return min(most, max(1, underWay/(devices-1)))
}

// laneShare is the part of a device's memory, 1/laneShare, that must be enough for jobs that run
// side by side. Each needs memory for its work.
const laneShare = 8

// denoiser denoises on a device. One stream makes the inputs of jobs: the planes of pictures, and
// sums. Jobs run side by side in lanes, in turn: their kernels fill multiprocessors that the last
// blocks of others leave idle.
type denoiser struct {
	backend *Backend
	unit    *openDevice
	most    int // lanes
	window  int // pictures
	sums    int // of pictures before the window

	slots  *slots // nil if the denoiser is idle
	making cu.Stream
	made   cu.Event // the end of the latest work there
	lanes  []cu.Stream
	next   int        // number of the next job
	ends   []cu.Event // of jobs, by their numbers
	kinds  map[device.Shape]*kind
}

var _ denoise.Engine = (*denoiser)(nil)
var _ pipeline.Discarder = (*denoiser)(nil)

// kind is the state shared by pictures of one shape: of frames, of top or of bottom fields.
type kind struct {
	layout         *device.Layout
	work           []buffer // of each lane
	pictures, sums stores
	half           *kind // of half the size, if there are any
}

// store is memory that several jobs read.
type store struct {
	buffer
	read int // the number of the latest job that reads it
}

// stores are stores of one size. Those that jobs have read longest ago are the first idle ones.
type stores struct{ all, idle []*store }

func (s *stores) put(used *store) { s.idle = append(s.idle, used) }

func (s *stores) free() {
	for _, each := range s.all {
		each.free()
	}
}

// take returns memory that no job reads by the time the next job begins. If there is no memory for
// another store, the next job begins later.
func (d *denoiser) take(s *stores, size int) (*store, error) {
	if len(s.idle) == 0 || d.reads(s.idle[0]) {
		got := &store{}
		err := got.grow(d.unit, size)
		if err == nil {
			s.all = append(s.all, got)
			return got, nil
		}
		if len(s.idle) == 0 || !isOutOfMemory(err) {
			return nil, err
		}
	}
	got := s.idle[0]
	s.idle = s.idle[1:]
	return got, d.awaitReaders(got)
}

// reads reports whether a job that may run beside the next one reads s.
func (d *denoiser) reads(s *store) bool { return s.read > d.next-len(d.lanes) }

// awaitReaders has the next kernels wait for the jobs that read s.
func (d *denoiser) awaitReaders(s *store) error {
	var c calls
	if s.read > 0 {
		d.await(&c, d.making, s.read)
	}
	return c.err
}

// await has a stream wait for a job and all before it.
func (d *denoiser) await(c *calls, stream cu.Stream, job int) {
	for i := range len(d.ends) / endsOfLane {
		c.wait(stream, *d.end(job - i))
	}
}

// endsOfLane is how many of the jobs of a lane have an event of their own.
const endsOfLane = 4

// end returns the event at the end of a job, or of a later one in its stream.
func (d *denoiser) end(job int) *cu.Event { return &d.ends[job%len(d.ends)] }

// planes are a picture's planes in the device's memory.
type planes struct {
	kind     *kind
	memory   *store // nil if there is none
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

func (d *denoiser) Depth() int { return max(depth, d.most) }

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
	lanes, err := d.lanesFor(f, d.unit.Total)
	if err != nil {
		return err
	}
	s, err := newSlots(d.backend, d.unit, f, "denoise on", lanes, nil)
	if err != nil {
		return err
	}
	d.slots, d.kinds = s, map[device.Shape]*kind{}
	d.lanes, d.ends = make([]cu.Stream, lanes), make([]cu.Event, endsOfLane*lanes)
	d.next = lanes // any number, but the jobs before it also have one
	d.backend.using(d, true)
	return s.do(func() error {
		for i := range d.lanes {
			if err := s.makeStreams(&d.lanes[i]); err != nil {
				return err
			}
		}
		for i := range d.ends {
			if err := s.takeEvents(&d.ends[i]); err != nil {
				return err
			}
		}
		if err := s.takeEvents(&d.made); err != nil {
			return err
		}
		return s.makeStreams(&d.making)
	})
}

// lanesFor returns how many jobs on frames of a format run side by side on a device with so much
// memory.
func (d *denoiser) lanesFor(f pipeline.Format, total int64) (int, error) {
	for lanes := d.most; lanes > 1; lanes-- {
		need, err := d.bytes(f, lanes)
		if err != nil || need <= total/laneShare {
			return lanes, err
		}
	}
	return 1, nil
}

// bytes returns how much memory frames of a format need with a number of lanes. Pictures of half
// the size are not counted.
func (d *denoiser) bytes(f pipeline.Format, lanes int) (int64, error) {
	whole := wholeOf(f)
	l, err := device.NewLayout(whole.shape())
	if err != nil {
		return 0, err
	}
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	sums := 0
	if d.sums > 0 {
		sums = d.sums + lanes - 1
	}
	return int64((d.window+lanes-1)*l.Picture + sums*l.Sum + lanes*l.Work + 2*stagesFor(lanes)*size), nil
}

// prepare must be called on the work thread, like all unexported methods below.
func (d *denoiser) prepare(p *cudaPicture, part part) (err error) {
	if p.kind, err = d.kindOf(part); err != nil {
		return err
	}
	if p.memory, err = d.take(&p.kind.pictures, p.kind.layout.Picture); err != nil {
		return err
	}
	return d.slots.prepare(&p.upload, part.place, d.making, func(from cu.DevicePtr) []device.Run {
		return p.kind.layout.Prepare(uint64(p.memory.address), part.samples(from))
	})
}

// kindOf returns the kind of a part's pictures, and makes it if it is new.
func (d *denoiser) kindOf(part part) (*kind, error) {
	shape := part.shape()
	if k, ok := d.kinds[shape]; ok {
		return k, nil
	}
	layout, err := device.NewLayout(shape)
	if err != nil {
		return nil, err
	}
	d.kinds[shape] = &kind{layout: layout, work: make([]buffer, len(d.lanes))}
	return d.kinds[shape], nil
}

// halfOf returns the kind of the pictures of half the size, and makes it if it is new.
func (k *kind) halfOf() (*kind, error) {
	if k.half == nil {
		layout, err := k.layout.Halved()
		if err != nil {
			return nil, err
		}
		k.half = &kind{layout: layout, work: make([]buffer, len(k.work))}
	}
	return k.half, nil
}

// workOf returns the memory for the work of a lane, which is cleared before its first job.
func (d *denoiser) workOf(k *kind, lane int) (uint64, error) {
	w := &k.work[lane]
	if w.size > 0 {
		return uint64(w.address), nil
	}
	if err := w.grow(d.unit, k.layout.Work); err != nil {
		return 0, err
	}
	return uint64(w.address), d.slots.launch(d.lanes[lane], k.layout.Clear(uint64(w.address)))
}

// make queues kernels that make the inputs of jobs.
func (d *denoiser) make(runs []device.Run) error { return d.slots.launch(d.making, runs) }

// Retire lets other pictures use the memory when the jobs in progress have read it.
func (p *cudaPicture) Retire() {
	if p.retired {
		return
	}
	p.retired = true
	for h := &p.planes; h != nil && h.memory != nil; h = h.half {
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
	memory *store // nil until there is a picture
	count  int
}

// Sum returns an empty sum.
func (d *denoiser) Sum(ctx context.Context, like denoise.Picture) (denoise.Sum, error) {
	return &cudaSum{engine: d, kind: like.(*cudaPicture).kind}, context.Cause(ctx)
}

// Add queues the kernel.
func (s *cudaSum) Add(ctx context.Context, p denoise.Picture) error {
	if err := s.engine.slots.do(func() error { return s.add(p.(*cudaPicture)) }); err != nil {
		return err
	}
	s.count++
	return context.Cause(ctx)
}

// add writes the sum to other memory if a job in progress reads it.
func (s *cudaSum) add(p *cudaPicture) error {
	d, from := s.engine, s.memory
	if from != nil && !d.reads(from) {
		if err := d.awaitReaders(from); err != nil {
			return err
		}
	} else {
		to, err := d.take(&s.kind.sums, s.kind.layout.Sum)
		if err != nil {
			return err
		}
		s.Release()
		s.memory = to
	}
	if from == nil {
		from = s.memory
	}
	return d.make(s.kind.layout.Add(uint64(p.memory.address), uint64(from.address), uint64(s.memory.address), s.count))
}

// Release lets other sums use the memory when the jobs in progress have read it.
func (s *cudaSum) Release() {
	if s.memory != nil {
		s.kind.sums.put(s.memory)
	}
}

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
		sum := p.Sum.(*cudaSum).memory
		sum.read = d.next
		job.Past = append(job.Past, device.Past{Sum: uint64(sum.address), Count: p.Count})
	}
	lane, err := d.lane(window[j.Centre].kind, job)
	if err != nil {
		return err
	}
	if err := d.complete(window, job); err != nil {
		return err
	}
	stream := d.lanes[lane]
	var last []device.Run
	var c calls
	c.record(d.made, d.making)
	c.wait(stream, d.made)
	c.record(r.start, stream)
	c.do(func() (err error) {
		last, err = d.queue(lane, window, job)
		return err
	})
	c.wait(stream, to.free)
	c.do(func() error { return d.slots.launch(stream, last) })
	c.do(func() error { return d.slots.copyOut(r, part.place, to, stream) })
	c.record(*d.end(d.next), stream)
	d.next++
	return c.err
}

// lane returns the stream of the next job, with memory for its work. If there is no memory for
// another lane, the jobs to come use the first.
func (d *denoiser) lane(k *kind, job device.Job) (int, error) {
	lane := d.next % len(d.lanes)
	_, err := d.workOf(k, lane)
	if err == nil && halfNoise(k, job) != nil {
		if k, err = k.halfOf(); err == nil {
			_, err = d.workOf(k, lane)
		}
	}
	if lane == 0 || !isOutOfMemory(err) {
		return lane, err
	}
	d.backend.log.Debug(fmt.Sprintf("%v; going on with 1 of %d streams", err, len(d.lanes)))
	// The first lane goes on where the others end, so the ends of jobs keep their order.
	var c calls
	d.await(&c, d.lanes[0], d.next-1)
	d.lanes = d.lanes[:1]
	c.do(func() (err error) { lane, err = d.lane(k, job); return err })
	return lane, c.err
}

// halfNoise returns the noise of pictures of half the size, if a job removes any.
func halfNoise(k *kind, job device.Job) *noise.Half {
	scaled := job.Noise.Scale(job.Settings.Strength)
	return scaled.HalfOf(k.layout.Filtered(job))
}

// halved returns a job on pictures of half the size.
func halved(job device.Job) device.Job {
	half := job.Noise.Half
	return device.Job{Centre: job.Centre, Noise: half.Model, Settings: job.Settings.Halved(half)}
}

// halves returns the pictures of half the size, or nil.
func halves(window []*planes) []*planes {
	all := make([]*planes, len(window))
	for i, p := range window {
		if p != nil {
			all[i] = p.half
		}
	}
	return all
}

// complete makes the missing inputs of the next job: the planes that the search reads, and the
// pictures of half the size.
func (d *denoiser) complete(window []*planes, job device.Job) error {
	k := window[job.Centre].kind
	scaled := job.Noise.Scale(job.Settings.Strength)
	searched := k.layout.Filtered(job).Any() && !scaled.Faint()
	want := finely
	if device.Coarse(job.Noise, job.Settings) {
		want = coarsely
	}
	for i, p := range window {
		if !job.Reads(i) {
			continue
		}
		if p.smoothed != want && searched {
			if err := d.smooth(p, want); err != nil {
				return err
			}
		}
		p.memory.read = d.next
	}
	if halfNoise(k, job) == nil {
		return nil
	}
	half := halved(job)
	for i, p := range window {
		if half.Reads(i) && p.half == nil {
			if err := d.halve(p); err != nil {
				return err
			}
		}
	}
	return d.complete(halves(window), half)
}

// smooth makes the planes that the search reads.
func (d *denoiser) smooth(p *planes, want smoothness) error {
	if p.smoothed != notSmoothed {
		if err := d.awaitReaders(p.memory); err != nil {
			return err
		}
	}
	p.smoothed = want
	return d.make(p.kind.layout.Smooth(uint64(p.memory.address), want == coarsely))
}

// halve makes the planes of the picture of half the size.
func (d *denoiser) halve(p *planes) error {
	k, err := p.kind.halfOf()
	if err != nil {
		return err
	}
	work, err := d.workOf(k, 0) // a part of it that jobs do not use
	if err != nil {
		return err
	}
	h := &planes{kind: k}
	if h.memory, err = d.take(&k.pictures, k.layout.Picture); err != nil {
		return err
	}
	p.half = h
	return d.make(p.kind.layout.Halve(uint64(p.memory.address), k.layout, uint64(h.memory.address), work))
}

// queue queues the kernels of a job except the last, which write the result, and returns the last.
func (d *denoiser) queue(lane int, window []*planes, job device.Job) (last []device.Run, err error) {
	k := window[job.Centre].kind
	if job.Work, err = d.workOf(k, lane); err != nil {
		return nil, err
	}
	var after []device.Run
	if half := halfNoise(k, job); half != nil {
		work, err := d.queueHalf(lane, halves(window), halved(job))
		if err != nil {
			return nil, err
		}
		after = k.layout.Replace(job, k.layout.Filtered(job), k.half.layout, work, half)
	}
	for i, p := range window {
		address := uint64(0)
		if job.Reads(i) {
			address = uint64(p.memory.address)
		}
		job.Window = append(job.Window, address)
	}
	runs, err := k.layout.Denoise(job)
	if err != nil {
		return nil, err
	}
	n := len(runs) - 1
	return append(runs[n:], after...), d.slots.launch(d.lanes[lane], runs[:n])
}

// queueHalf queues a job on pictures of half the size, and returns the memory for its work, where
// its result is.
func (d *denoiser) queueHalf(lane int, window []*planes, job device.Job) (work uint64, err error) {
	k := window[job.Centre].kind
	if work, err = d.workOf(k, lane); err != nil {
		return 0, err
	}
	job.Result, job.Depth = k.layout.HalfResult(work), k.layout.Shape.Depth
	last, err := d.queue(lane, window, job)
	if err != nil {
		return 0, err
	}
	return work, d.slots.launch(d.lanes[lane], last)
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
				for i := range k.work {
					k.work[i].free()
				}
				k.pictures.free()
				k.sums.free()
			}
		}
	})
	d.slots, d.kinds = nil, nil
	d.backend.using(d, false)
}
