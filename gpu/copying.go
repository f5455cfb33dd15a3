package gpu

import (
	"context"
	"errors"
	"time"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/pipeline"
)

// TimeDeviceCopy returns how long the first device takes to copy size bytes within its memory,
// which reads and writes size bytes each. As in TimeKernel, runs rotate over blocks that together
// exceed the cache.
func (b *Backend) TimeDeviceCopy(ctx context.Context, size int, r Repeat) ([]time.Duration, error) {
	u := b.units[0]
	n := u.outgrowCache(2 * size)
	pairs := make([]framePair, n)
	return b.timeCopies(ctx, pairs, size, 1, r, func(i int, s []cu.Stream) error {
		p := pairs[i%n]
		return cu.MemcpyDtoDAsync(p.out.address, p.in.address, int64(size), s[0])
	})
}

// TimeBus returns how long transfers of size bytes to and from the first device take, in both
// directions at once, from and to pinned memory.
func (b *Backend) TimeBus(ctx context.Context, size int, r Repeat) ([]time.Duration, error) {
	to, err := b.Alloc(size)
	if err != nil {
		return nil, err
	}
	defer to.Free()
	from, err := b.Alloc(size)
	if err != nil {
		return nil, err
	}
	defer from.Free()
	pairs := make([]framePair, 1)
	return b.timeCopies(ctx, pairs, size, 2, r, func(_ int, s []cu.Stream) error {
		if err := cu.MemcpyHtoDAsync(pairs[0].in.address, pointerTo(to), int64(size), s[0]); err != nil {
			return err
		}
		return cu.MemcpyDtoHAsync(pointerTo(from), pairs[0].out.address, int64(size), s[1])
	})
}

// timeCopies times the runs with newly allocated pairs, which it frees.
func (b *Backend) timeCopies(ctx context.Context, pairs []framePair, size, streams int, r Repeat, queue func(int, []cu.Stream) error) ([]time.Duration, error) {
	u := b.units[0]
	defer func() { _ = u.work.do(func() error { freePairs(pairs); return nil }) }()
	if err := u.work.do(func() error { return growPairs(u, pairs, size) }); err != nil {
		return nil, u.failed(err, "allocate for copies on %s", u)
	}
	t, err := newBenchmark(u, streams, queue)
	if err != nil {
		return nil, err
	}
	defer t.close()
	times, err := t.measure(ctx, r)
	if err != nil && !isContext(ctx, err) {
		err = u.failed(err, "time copies of %s on %s", megabytes(int64(size)), u)
	}
	return times, err
}

func pointerTo(m pipeline.Memory) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.Bytes)) }

// isContext distinguishes the end of a context from a device failure.
func isContext(ctx context.Context, err error) bool {
	return ctx.Err() != nil && !errors.Is(err, ErrDevice)
}
