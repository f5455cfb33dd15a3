package quality

import (
	"runtime"
	"sync"
	"sync/atomic"

	"vidfilter/pipeline"
)

// view is the samples of a plane, which may be interleaved with others.
type view struct {
	data  []byte
	pitch int // bytes from row to row
	step  int // bytes from sample to sample: 1, 2 or 4
	w, h  int // samples
}

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

func planeNames(l pipeline.Layout) [3]string {
	if l.Info().RGB {
		return [3]string{"R", "G", "B"}
	}
	return [3]string{"Y", "U", "V"}
}

// views returns the three planes of f, nil if the layout is unknown.
func views(f *pipeline.Frame) []view {
	whole := func(i int) view {
		p := f.Planes[i]
		w, h := f.PlaneSize(i)
		return view{data: p.Data, pitch: p.Pitch, step: 1, w: w, h: h}
	}
	// part returns every step-th byte of plane i, from byte at of each row.
	part := func(i, at, step int) view {
		v := whole(i)
		v.data, v.step, v.w = v.data[at:], step, v.w/step
		return v
	}
	switch l := f.Layout.Info(); {
	case l.Samples > 1:
		return []view{part(0, 0, l.Samples), part(0, 1, l.Samples), part(0, 2, l.Samples)}
	case l.SemiPlanar:
		return []view{whole(0), part(1, 0, 2), part(1, 1, 2)}
	case l.Planes == 3:
		return []view{whole(0), whole(1), whole(2)}
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

// measure returns the totals of each plane. Bands do not depend on the number of cores, and are
// added up in order, so the result is the same to the last bit.
func measure(a, b []view) []total {
	var bands []band
	samples := 0
	for i, v := range a {
		bands = append(bands, split(i, v)...)
		samples += v.w * v.h
	}
	results := make([]total, len(bands))
	var next atomic.Int64
	work := func() {
		s := newScratch(a)
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
type scratch struct {
	above, below []sums             // one row of blocks each
	a, b         [windowSize][]byte // rows of planes with interleaved samples
}

func newScratch(planes []view) *scratch {
	s := &scratch{}
	w := 0
	for _, v := range planes {
		w = max(w, v.w)
	}
	s.above, s.below = make([]sums, w/blockSize), make([]sums, w/blockSize)
	for i := range s.a {
		if planes[len(planes)-1].step > 1 {
			s.a[i], s.b[i] = make([]byte, w), make([]byte, w)
		}
	}
	return s
}

func (s *scratch) measure(a, b view, part band) (t total) {
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
		t.ssim += similarityRow(above, below)
		t.windows += len(above) - 1
	}
	if part.lowest {
		t.squares += s.squares(a, b, (part.to+1)*blockSize)
	}
	return t
}

// squares returns the sum of squared differences of the rows from y on.
func (s *scratch) squares(a, b view, y int) (n uint64) {
	for ; y < a.h; y++ {
		n += squares(a.row(y, s.a[0]), b.row(y, s.b[0]))
	}
	return n
}

// squares returns the sum of squared differences of two rows of the same length.
func squares(a, b []byte) (n uint64) {
	b = b[:len(a)]
	for len(a) > 0 {
		// In pieces for which 32 bits are enough.
		k := min(len(a), 1<<15)
		var sum uint32
		for i, s := range a[:k] {
			d := int32(s) - int32(b[i])
			sum += uint32(d * d)
		}
		n += uint64(sum)
		a, b = a[k:], b[k:]
	}
	return n
}
