package quality

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"

	"vidfilter/pipeline"
)

// view is the samples of a plane, which may be interleaved with others.
type view struct {
	data  []byte
	pitch int // bytes from row to row
	step  int // bytes from sample to sample
	w, h  int // samples
	depth int // bits of a sample, in one byte or two
	shift int // of a sample in its two bytes
}

// most is the largest sample.
func (v view) most() float64 { return float64(int(1)<<v.depth - 1) }

// row returns row y with adjacent samples, in buf unless they are adjacent already.
func (v view) row(y int, buf []byte) []byte {
	r := v.data[y*v.pitch:]
	if v.step == 1 {
		return r[:v.w]
	}
	buf = buf[:v.w]
	// The step is a constant for speed: this is most of the time for packed pictures.
	switch v.step {
	case 2:
		for x := range buf {
			buf[x] = r[2*x]
		}
	case 4:
		for x := range buf {
			buf[x] = r[4*x]
		}
	}
	return buf
}

// deepRow is row for samples of two bytes, which may hold more than the depth allows: the largest
// sample, as filters read it.
func (v view) deepRow(y int, buf []uint16) []uint16 {
	r, buf, most := v.data[y*v.pitch:], buf[:v.w], uint16(v.most())
	for x := range buf {
		buf[x] = min(binary.LittleEndian.Uint16(r[x*v.step:])>>v.shift, most)
	}
	return buf
}

func planeNames(l pipeline.Layout) [3]string {
	if l.Info().RGB {
		return [3]string{"R", "G", "B"}
	}
	return [3]string{"Y", "U", "V"}
}

// views returns the planes of f, nil if the layout is unknown.
func views(f *pipeline.Frame) []view {
	l := f.Layout.Info()
	size := l.SampleBytes()
	whole := func(i int) view {
		p := f.Planes[i]
		w, h := f.PlaneSize(i)
		return view{data: p.Data, pitch: p.Pitch, step: size, w: w / size, h: h, depth: l.Depth, shift: l.Shift}
	}
	// part returns every step-th sample of plane i, from sample at of each row.
	part := func(i, at, step int) view {
		v := whole(i)
		v.data, v.step, v.w = v.data[at*size:], step*size, v.w/step
		return v
	}
	switch {
	case l.Samples > 1:
		return []view{part(0, 0, l.Samples), part(0, 1, l.Samples), part(0, 2, l.Samples)}
	case l.SemiPlanar:
		return []view{whole(0), part(1, 0, 2), part(1, 1, 2)}
	case l.RGB:
		return []view{whole(2), whole(0), whole(1)}
	case l.Planes == 3:
		return []view{whole(0), whole(1), whole(2)}
	case l.Gray():
		return []view{whole(0)}
	}
	return nil
}

// total sums up a plane, or a part of it.
type total struct {
	squares uint64 // of the differences
	ssim    float64
	windows int
}

func (t *total) add(o total) {
	t.squares += o.squares
	t.ssim += o.ssim
	t.windows += o.windows
}

const (
	bandBlocks   = 16      // rows of blocks in a band: few enough for 2160 lines on 32 cores
	parallelFrom = 1 << 17 // samples; below, starting goroutines costs more than it saves
)

// band is the unit of work: some rows of windows, and the rows of samples down to the end of the
// last window that are not in the band above; in the lowest band, all that are left.
type band struct {
	plane, from, to int // row y of windows is rows y and y+1 of blocks
	lowest          bool
}

// sample is one as it is measured, and number one large enough for the sums of a block's.
type (
	sample interface{ byte | uint16 }
	number interface{ int32 | int64 }
)

// rowReader returns row y of a plane with adjacent samples, possibly in buf.
type rowReader[T sample] func(v view, y int, buf []T) []T

// measure returns the totals of each plane. Bands do not depend on the number of cores, and are
// added up in order, so the result is the same to the last bit.
func measure(a, b []view) []total {
	if a[0].depth > 8 {
		return measureBy[uint16, int64](a, b, view.deepRow)
	}
	return measureBy[byte, int32](a, b, view.row)
}

func measureBy[T sample, N number](a, b []view, row rowReader[T]) []total {
	var bands []band
	samples := 0
	for i, v := range a {
		bands = append(bands, split(i, v)...)
		samples += v.w * v.h
	}
	results := make([]total, len(bands))
	var next atomic.Int64
	work := func() {
		s := newScratch[T, N](a, row)
		for i := int(next.Add(1)) - 1; i < len(bands); i = int(next.Add(1)) - 1 {
			p := bands[i].plane
			results[i] = s.measure(a[p], b[p], bands[i])
		}
	}
	var wg sync.WaitGroup
	if samples >= parallelFrom {
		for range min(runtime.GOMAXPROCS(0), len(bands)) - 1 {
			wg.Go(work)
		}
	}
	work()
	wg.Wait()
	totals := make([]total, len(a))
	for i, r := range results {
		totals[bands[i].plane].add(r)
	}
	return totals
}

// split returns the bands of a plane. A small plane, which has no whole windows, is one band.
func split(plane int, v view) (bands []band) {
	if v.small() {
		return []band{{plane: plane, lowest: true}}
	}
	windows := v.h/blockSize - 1
	for y := 0; y < windows; y += bandBlocks {
		to := min(y+bandBlocks, windows)
		bands = append(bands, band{plane, y, to, to == windows})
	}
	return bands
}

func (v view) small() bool { return v.w < windowSize || v.h < windowSize }

// scratch is the memory of one worker.
type scratch[T sample, N number] struct {
	row          rowReader[T]
	above, below []sums[N]       // one row of blocks each
	a, b         [windowSize][]T // rows of planes whose samples are not adjacent bytes
}

func newScratch[T sample, N number](planes []view, row rowReader[T]) *scratch[T, N] {
	s := &scratch[T, N]{row: row}
	w := 0
	for _, v := range planes {
		w = max(w, v.w)
	}
	s.above, s.below = make([]sums[N], w/blockSize), make([]sums[N], w/blockSize)
	for i := range s.a {
		if planes[len(planes)-1].step > 1 {
			s.a[i], s.b[i] = make([]T, w), make([]T, w)
		}
	}
	return s
}

func (s *scratch[T, N]) measure(a, b view, part band) (t total) {
	if a.small() {
		t.ssim, t.windows = s.similaritySmall(a, b)
		t.squares = s.squares(a, b, 0)
		return t
	}
	above, below := s.above[:a.w/blockSize], s.below[:a.w/blockSize]
	squares := s.blockRow(below, a, b, part.from)
	if part.from == 0 { // otherwise they are the band's above
		t.squares += squares
	}
	for y := part.from; y < part.to; y++ {
		above, below = below, above
		t.squares += s.blockRow(below, a, b, y+1)
		t.ssim += similarityRow(above, below, a.most())
		t.windows += len(above) - 1
	}
	if part.lowest {
		t.squares += s.squares(a, b, (part.to+1)*blockSize)
	}
	return t
}

// squares returns the sum of squared differences of the rows from y on.
func (s *scratch[T, N]) squares(a, b view, y int) (n uint64) {
	for ; y < a.h; y++ {
		n += squares[T, N](s.row(a, y, s.a[0]), s.row(b, y, s.b[0]))
	}
	return n
}

// squares returns the sum of squared differences of two rows of the same length.
func squares[T sample, N number](a, b []T) (n uint64) {
	b = b[:len(a)]
	for len(a) > 0 {
		// In pieces for which 31 bits are enough in 8 bits.
		k := min(len(a), 1<<15)
		var sum N
		for i, s := range a[:k] {
			d := N(s) - N(b[i])
			sum += d * d
		}
		n += uint64(sum)
		a, b = a[k:], b[k:]
	}
	return n
}
