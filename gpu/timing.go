package gpu

import (
	"context"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Times of kernels, copies and steps, for benchmarks. They run on the backend's first device, with
// their own streams and memory; filters that run on the backend at the same time distort the
// results. Errors wrap ErrDevice or are the context's.

// RunKernel filters src into dst by any plan, to check results in tests and benchmarks. It borrows
// both frames, which must have the same format; an interlaced src is filtered by fields.
func (b *Backend) RunKernel(ctx context.Context, plan kernels.Planner, dst, src *pipeline.Frame) error {
	k, err := b.newKernelRun(plan, src, b.Alloc, 1, 1)
	if err != nil {
		return err
	}
	defer k.close()
	if _, err = k.bench.batch(ctx, 1); err == nil {
		err = k.download(dst)
	}
	return k.failed(ctx, err, "run")
}

// TimeKernel returns how long a plan takes for a frame like src, which it borrows, one time per
// batch. There are no copies while it runs. Runs rotate over copies of src and of the result that
// together are three times as large as the device's cache, so that each is read from memory.
func (b *Backend) TimeKernel(ctx context.Context, plan kernels.Planner, src *pipeline.Frame, r Repeat) ([]time.Duration, error) {
	k, err := b.newKernelRun(plan, src, b.Alloc, 0, 1)
	if err != nil {
		return nil, err
	}
	defer k.close()
	times, err := k.bench.measure(ctx, r)
	return times, k.failed(ctx, err, "time")
}

// Copies configures the transfer of frames to a device and back.
type Copies struct {
	Streams int // that frames alternate between, at least 1
	// Pageable uses ordinary memory. The driver copies it synchronously, through pinned memory of
	// its own.
	Pageable bool
}

// TimeStep is TimeKernel with the copies: each run copies a frame from host memory, filters it and
// copies the result back. With pinned memory this is the work of a filter, without the pipeline
// around it.
func (b *Backend) TimeStep(ctx context.Context, plan kernels.Planner, src *pipeline.Frame, c Copies, r Repeat) ([]time.Duration, error) {
	alloc := b.Alloc
	if c.Pageable {
		alloc = allocOrdinary
	}
	k, err := b.newKernelRun(plan, src, alloc, c.Streams, c.Streams)
	if err != nil {
		return nil, err
	}
	defer k.close()
	k.bench.queue = k.step
	times, err := k.bench.measure(ctx, r)
	return times, k.failed(ctx, err, "time the step of")
}

func (k *kernelRun) failed(ctx context.Context, err error, what string) error {
	if err == nil || isContext(ctx, err) {
		return err
	}
	return k.unit.failed(err, "%s %s on %s, %s", what, k.plan.Variant.Name, k.unit, k.in.Format)
}

// kernelRun is a plan with the frames that it processes.
type kernelRun struct {
	unit     *openDevice
	kernel   *function
	plan     *kernels.Plan
	fields   bool
	in, out  *pipeline.Frame // each in one block of host memory
	place    place           // of both in a buffer, which one copy fills
	buffers  []framePair
	memories []*memory // one per stream
	bench    *benchmark
	launches [][]kernels.Launch // for each pair of buffers
}

// framePair is a frame and its result in device memory.
type framePair struct{ in, out buffer }

// growPairs allocates the buffers. On error, pairs holds those already allocated. Like freePairs,
// it must be called on the work thread.
func growPairs(u *openDevice, pairs []framePair, size int) error {
	for i := range pairs {
		for _, b := range []*buffer{&pairs[i].in, &pairs[i].out} {
			if err := b.grow(u, size); err != nil {
				return err
			}
		}
	}
	return nil
}

func freePairs(pairs []framePair) {
	for i := range pairs {
		pairs[i].in.free()
		pairs[i].out.free()
	}
}

// newKernelRun loads the kernel and copies src, through memory of alloc, to the given number of
// buffers; 0 means enough to exceed the cache.
func (b *Backend) newKernelRun(plan kernels.Planner, src *pipeline.Frame, alloc func(int) (pipeline.Memory, error), buffers, streams int) (_ *kernelRun, err error) {
	u := b.units[0]
	k := &kernelRun{unit: u, fields: src.Interlaced}
	defer func() {
		if err != nil {
			k.close()
			err = u.failed(err, "prepare a kernel on %s, %s", u, src.Format)
		}
	}()
	if k.plan, err = plan(src.Format, u.limits.Limits); err != nil {
		return nil, err
	}
	for _, f := range []**pipeline.Frame{&k.in, &k.out} {
		if *f, err = blankIn(alloc, src.Format); err != nil {
			return nil, err
		}
	}
	k.in.CopySamples(src)
	k.place = resident(k.in)
	if buffers == 0 {
		buffers = u.outgrowCache(2 * k.place.size)
	}
	if err = u.work.do(func() error { return k.load(buffers, max(streams, 1)) }); err != nil {
		return nil, err
	}
	k.bench, err = newBenchmark(u, streams, k.launch)
	return k, err
}

// blankIn returns a frame in one block of memory with all samples 0.
func blankIn(alloc func(int) (pipeline.Memory, error), f pipeline.Format) (*pipeline.Frame, error) {
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	m, err := alloc(size)
	if err != nil {
		return nil, err
	}
	clear(m.Bytes)
	return pipeline.FrameIn(m.Bytes, f, nil, m.Free), nil
}

// outgrowCache returns how many blocks of size bytes together are three times as large as the
// device's cache, at least 2.
func (u *openDevice) outgrowCache(size int) int { return max(2, 3*u.limits.Cache/size+1) }

// load must be called on the work thread.
func (k *kernelRun) load(buffers, streams int) (err error) {
	if k.kernel, err = k.unit.load(k.plan.Variant); err != nil {
		return err
	}
	k.buffers = make([]framePair, buffers)
	if err := growPairs(k.unit, k.buffers, k.place.size); err != nil {
		return err
	}
	for range streams {
		m, err := newMemory(k.unit, k.plan)
		if err != nil {
			return err
		}
		k.memories = append(k.memories, m)
	}
	for i, p := range k.buffers {
		if err := cu.MemcpyHtoD(p.in.address, hostPointer(k.in, 0), int64(k.place.size)); err != nil {
			return err
		}
		launches := k.plan.Frame(k.fields, k.place.planes(p.in.address), k.place.planes(p.out.address), k.memories[i%streams].device())
		k.launches = append(k.launches, launches)
		for _, l := range launches {
			if err := k.kernel.allow(l.Shared); err != nil {
				return err
			}
		}
	}
	return nil
}

// launch queues the kernel alone. Buffers and streams rotate together, so that each stream uses
// only its own memory.
func (k *kernelRun) launch(i int, s []cu.Stream) error {
	for _, l := range k.launches[i%len(k.launches)] {
		if err := run(k.kernel.kernel, l, s[i%len(s)]); err != nil {
			return err
		}
	}
	return nil
}

// step queues the kernel between the copies, alternating between the streams. There are as many
// buffers as streams, so each stream uses its own. All results are equal and share one place in
// host memory.
func (k *kernelRun) step(i int, s []cu.Stream) error {
	b, stream := k.buffers[i%len(k.buffers)], s[i%len(s)]
	if err := cu.MemcpyHtoDAsync(b.in.address, hostPointer(k.in, 0), int64(k.place.size), stream); err != nil {
		return err
	}
	if err := k.launch(i, s); err != nil {
		return err
	}
	return cu.MemcpyDtoHAsync(hostPointer(k.out, 0), b.out.address, int64(k.place.size), stream)
}

// download copies the first result to dst.
func (k *kernelRun) download(dst *pipeline.Frame) error {
	err := k.unit.work.do(func() error {
		return cu.MemcpyDtoH(hostPointer(k.out, 0), k.buffers[0].out.address, int64(k.place.size))
	})
	if err == nil {
		dst.CopySamples(k.out)
	}
	return err
}

// close frees everything, even of a partially made run.
func (k *kernelRun) close() {
	if k.bench != nil {
		k.bench.close()
	}
	_ = k.unit.work.do(func() error {
		freePairs(k.buffers)
		for _, m := range k.memories {
			m.free()
		}
		return nil
	})
	for _, f := range []*pipeline.Frame{k.in, k.out} {
		if f != nil {
			f.Release()
		}
	}
}
