package gpu

import (
	"context"
	"fmt"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// What a kernel, a copy and a step take, for benchmarks. All of it runs on the backend's first device, on streams and memory of
// its own; filters of the backend that work meanwhile disturb the times. The errors wrap ErrDevice, or are the context's.

// RunKernel filters src into dst, which it borrows, with one variant, whether or not it is the one that a filter would
// choose: for tests and benchmarks to see that it is right. Both frames have the same format; an interlaced src is filtered
// by fields.
func (b *Backend) RunKernel(ctx context.Context, v kernels.Variant, p kernels.Params, dst, src *pipeline.Frame) error {
	k, err := b.newKernelRun(v, p, src, 1, 1)
	if err != nil {
		return err
	}
	defer k.close()
	if _, err = k.trial.batch(ctx, 1); err == nil {
		err = k.download(dst)
	}
	return b.timingFailed(ctx, err, "run", v, src.Format)
}

// TimeKernel returns how long a variant takes for a frame like src, which it borrows, one time for each batch. Nothing is
// copied while it runs. Runs take turns between copies of src and of the result, which are many enough for all of them
// together to be three times as large as the device's cache, so that each is read from memory.
func (b *Backend) TimeKernel(ctx context.Context, v kernels.Variant, p kernels.Params, src *pipeline.Frame, r Repeat) ([]time.Duration, error) {
	k, err := b.newKernelRun(v, p, src, 0, 1)
	if err != nil {
		return nil, err
	}
	defer k.close()
	times, err := k.trial.measure(ctx, r)
	return times, b.timingFailed(ctx, err, "time", v, src.Format)
}

// TimeStep is TimeKernel with the copies: each run copies a frame from pinned memory, filters it and copies the result back,
// on so many streams by turns. It is what a filter does, without the pipeline around it, and for any variant.
func (b *Backend) TimeStep(ctx context.Context, v kernels.Variant, p kernels.Params, src *pipeline.Frame, streams int, r Repeat) ([]time.Duration, error) {
	k, err := b.newKernelRun(v, p, src, streams, streams)
	if err != nil {
		return nil, err
	}
	defer k.close()
	k.trial.queue = k.step
	times, err := k.trial.measure(ctx, r)
	return times, b.timingFailed(ctx, err, "time the step of", v, src.Format)
}

func (b *Backend) timingFailed(ctx context.Context, err error, what string, v kernels.Variant, f pipeline.Format) error {
	if err == nil || isContext(ctx, err) {
		return err
	}
	return b.units[0].failed(err, "%s %s on %s, %s", what, v.Name, b.units[0], f)
}

// kernelRun is a variant with the frames that it works on.
type kernelRun struct {
	unit     *unit
	kernel   *function
	plan     *kernels.Plan
	fields   bool
	in, out  *image
	buffers  []framePair
	memories []*memory // of each stream
	trial    *trial
	launches [][]kernels.Launch // for each pair of buffers
}

// framePair is a frame and its result in the device's memory.
type framePair struct{ in, out buffer }

// growPairs allocates; what it has allocated when it fails is in the pairs. Called on the work thread, as freePairs is.
func growPairs(u *unit, pairs []framePair, in, out int) error {
	for i := range pairs {
		if err := pairs[i].in.grow(u, in); err != nil {
			return err
		}
		if err := pairs[i].out.grow(u, out); err != nil {
			return err
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

// newKernelRun loads the variant and copies src to so many buffers, 0 for as many as outgrow the cache.
func (b *Backend) newKernelRun(v kernels.Variant, p kernels.Params, src *pipeline.Frame, buffers, streams int) (_ *kernelRun, err error) {
	u := b.units[0]
	k := &kernelRun{unit: u, fields: src.Interlaced}
	defer func() {
		if err != nil {
			k.close()
			err = u.failed(err, "prepare %s on %s, %s", v.Name, u, src.Format)
		}
	}()
	if v.Compute > u.Compute {
		return nil, fmt.Errorf("it needs compute capability %d.%d", v.Compute/10, v.Compute%10)
	}
	if k.plan, err = v.Plan(p, src.Format); err != nil {
		return nil, err
	}
	if k.in, err = b.newImage(src.Format, v.Margin(p)); err != nil {
		return nil, err
	}
	if k.out, err = b.newImage(src.Format, 0); err != nil {
		return nil, err
	}
	k.in.set(src)
	if buffers == 0 {
		if buffers, err = u.outgrowCache(k.in.size() + k.out.size()); err != nil {
			return nil, err
		}
	}
	if err = u.work.do(func() error { return k.load(v, buffers, max(streams, 1)) }); err != nil {
		return nil, err
	}
	k.trial, err = newTrial(u, streams, k.launch)
	return k, err
}

// outgrowCache returns how many blocks of a size are three times as large as the device's cache, at least 2.
func (u *unit) outgrowCache(size int) (int, error) {
	l, err := u.Device.Limits()
	return max(2, 3*l.Cache/size+1), err
}

// load is called on the work thread.
func (k *kernelRun) load(v kernels.Variant, buffers, streams int) (err error) {
	if k.kernel, err = k.unit.load(v); err != nil {
		return err
	}
	k.buffers = make([]framePair, buffers)
	if err := growPairs(k.unit, k.buffers, k.in.size(), k.out.size()); err != nil {
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
		if err := cu.MemcpyHtoD(p.in.address, k.in.pointer(), int64(k.in.size())); err != nil {
			return err
		}
		launches := k.plan.Launches(k.fields, k.in.planes(p.in), k.out.planes(p.out), k.memories[i%streams].device())
		k.launches = append(k.launches, launches)
		for _, l := range launches {
			if err := k.kernel.allow(l.Shared); err != nil {
				return err
			}
		}
	}
	return nil
}

// launch queues the kernel alone. Buffers and streams come round together, so that a stream keeps to its own memory.
func (k *kernelRun) launch(i int, s []cu.Stream) error {
	for _, l := range k.launches[i%len(k.launches)] {
		if err := run(k.kernel.kernel, l, s[i%len(s)]); err != nil {
			return err
		}
	}
	return nil
}

// step queues the kernel between the copies, on the streams by turns. There are as many buffers as streams, so that a stream
// keeps to its own. All results go to the same place of the host, where they are the same.
func (k *kernelRun) step(i int, s []cu.Stream) error {
	b, stream := k.buffers[i%len(k.buffers)], s[i%len(s)]
	if err := cu.MemcpyHtoDAsync(b.in.address, k.in.pointer(), int64(k.in.size()), stream); err != nil {
		return err
	}
	if err := k.launch(i, s); err != nil {
		return err
	}
	return cu.MemcpyDtoHAsync(k.out.pointer(), b.out.address, int64(k.out.size()), stream)
}

// download copies the first result to dst.
func (k *kernelRun) download(dst *pipeline.Frame) error {
	err := k.unit.work.do(func() error {
		return cu.MemcpyDtoH(k.out.pointer(), k.buffers[0].out.address, int64(k.out.size()))
	})
	if err == nil {
		k.out.get(dst)
	}
	return err
}

// close frees everything; a run that was made in part, too.
func (k *kernelRun) close() {
	if k.trial != nil {
		k.trial.close()
	}
	_ = k.unit.work.do(func() error {
		freePairs(k.buffers)
		for _, m := range k.memories {
			m.free()
		}
		return nil
	})
	for _, m := range []*image{k.in, k.out} {
		if m != nil {
			m.memory.Free()
		}
	}
}
