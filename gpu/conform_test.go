package gpu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// conformCase is a picture and filter options.
type conformCase struct {
	format     pipeline.Format
	interlaced bool
	p          kernels.Bilateral
}

func (c conformCase) String() string {
	return fmt.Sprintf("%s %s full=%v interlaced=%v r=%d sigma-r=%g %s %s", c.format, c.format.Matrix, c.format.FullRange,
		c.interlaced, c.p.Radius, c.p.SigmaR, c.p.Range, c.p.Border)
}

// conformCases combines all layouts, sizes, range weights and borders. Radii, matrices, ranges,
// field orders and sigmas vary at their own steps.
func conformCases() (cases []conformCase) {
	sizes := [][2]int{{1, 1}, {2, 2}, {7, 5}, {63, 17}, {3, 131}, {141, 61}}
	i := 0
	for _, size := range sizes {
		for l := pipeline.YUV420P; l <= pipeline.RGBA; l++ {
			for n := range 16 {
				if size[0] <= 100 || i%3 == 0 {
					cases = append(cases, oneCase(i, size, l, kernels.RangeWeight(n/2%2), kernels.Border(n%2)))
				}
				i++
			}
		}
	}
	return cases
}

func oneCase(i int, size [2]int, l pipeline.Layout, rw kernels.RangeWeight, b kernels.Border) conformCase {
	matrices := []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020}
	c := conformCase{
		format:     pipeline.Format{Layout: l, Width: size[0], Height: size[1], Matrix: matrices[i%3], FullRange: i/3%2 == 1},
		interlaced: i%5 == 4,
		p:          kernels.DefaultBilateral((i*7 + i/32) % (kernels.MaxRadius + 1)),
	}
	if size[0] > 100 {
		c.p = kernels.DefaultBilateral((i/3 + i/32) % 9) // smaller sizes cover the larger windows
	}
	c.p.SigmaR = []float64{kernels.DefaultSigmaR, 5, 60}[i/2%3]
	c.p.Range, c.p.Border = rw, b
	return c
}

// deepLayouts are layouts of more than 8 bits to test, and the ones of 8 bits that share their
// kernels with others.
var deepLayouts = []pipeline.Layout{
	pipeline.YUV420P.At(10), pipeline.NV12.At(10), pipeline.YUV422P.At(12), pipeline.YUV444P.At(9),
	pipeline.NV24.At(12), pipeline.YUV420P.At(16), pipeline.NV16.At(10), pipeline.YUV444P.At(14), pipeline.NV12.At(16),
	pipeline.GRAY, pipeline.GRAY.At(12), pipeline.GBRP, pipeline.GBRP.At(10), pipeline.GBRP.At(16),
}

// deeper returns every fifth of some cases, with one of deepLayouts each.
func deeper(cases []conformCase) (deep []conformCase) {
	for i, c := range cases {
		if i%5 == i/35%5 {
			c.format.Layout = deepLayouts[len(deep)%len(deepLayouts)]
			deep = append(deep, c)
		}
	}
	return deep
}

// TestConform compares the whole device path, from pinned and from ordinary memory, with the
// reference. Samples may be off by at most 1 level, and 99 % of them must be equal for each
// combination of range and border. Other depths have the bounds of kerneltest.
func TestConform(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	totals := map[string]*kerneltest.Difference{}
	rng := rand.New(rand.NewPCG(3, 4))
	shallow := conformCases()
	for i, c := range slices.Concat(shallow, deeper(shallow)) {
		src := kerneltest.Frame(c.format)
		src.Interlaced = c.interlaced
		[]func(*pipeline.Frame, *rand.Rand){kerneltest.Scene, kerneltest.Noise}[(i/4+i/64)%2](src, rng)
		if slow && i%2 == i/32%2 {
			continue
		}
		d := kerneltest.Compare(filterOne(t, b, src, c.p, i%2 == 0), reference(t, src, c.p))
		if d.Largest > d.Bound() {
			t.Errorf("%s: %s", c, d)
		}
		key := fmt.Sprint(c.p.Range, c.p.Border)
		if depth := c.format.Layout.Info().Depth; depth > 8 {
			key = fmt.Sprintf("%d bits", depth)
		}
		if totals[key] == nil {
			totals[key] = new(kerneltest.Difference)
		}
		totals[key].Merge(d)
	}
	for key, d := range totals {
		if d.Samples >= 1<<13 && d.TooMany() { // few samples give no reliable share
			t.Errorf("%s: too many differ: %s", key, d)
		}
		t.Logf("%s: %s", key, d)
	}
}

// filterOne filters src, which it borrows, and returns a copy of the result.
func filterOne(t *testing.T, b *Backend, src *pipeline.Frame, p kernels.Planned, pinned bool) *pipeline.Frame {
	t.Helper()
	pool := pipeline.NewPool(b, 1)
	defer pool.Close()
	f, err := b.Filter(p, pool)
	e2e.Must(t, err)
	in := src.Retain()
	if pinned {
		input := pipeline.NewPool(b.Input(), 1)
		defer input.Close()
		if in, err = input.TakeFrame(src.Format, nil); err != nil {
			t.Fatal(err)
		}
		in.CopySamples(src)
		in.Interlaced = src.Interlaced
		src.Release()
		defer src.Retain()
	}
	got := kerneltest.Frame(src.Format)
	emit := func(out *pipeline.Frame) error {
		got.CopySamples(out)
		if out.Interlaced != src.Interlaced {
			t.Error("the field order is lost")
		}
		out.Release()
		return nil
	}
	e2e.Must(t, f.Process(context.Background(), in, emit))
	e2e.Must(t, f.Flush(context.Background(), emit))
	return got
}

// TestSameBits: the bits are the same for any number of streams and devices, in every run.
func TestSameBits(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	p := kernels.DefaultBilateral(3)
	var first []byte
	options := []Options{{Streams: 1}, {Streams: 1}, {Streams: 2}, {Streams: 3}, {Streams: 4}, {All: true}, {All: true, Streams: 1}}
	if d, _ := Devices(); len(d) > 1 {
		options = append(options, Options{Indexes: []int{1, 0}, Streams: 3}, Options{Indexes: []int{1}})
	}
	for _, o := range options {
		b := open(t, o)
		film := newFilm(t, b, smallFormat, 11)
		s := &screen{t: t, answers: film.answers(t, p), keep: true}
		e2e.Must(t, show(t, context.Background(), b, film, s, p, 1+b.Held(p)))
		if s.seen != 11 {
			t.Errorf("%s: %d frames of 11", b.Name(), s.seen)
		}
		if first == nil {
			first = s.pixels
		}
		if !bytes.Equal(s.pixels, first) {
			t.Errorf("%s: other bits than with one stream", b.Name())
		}
	}
}

// TestMixedDevices: devices of different generations use the kernel of the older one, so that
// results do not depend on the device.
func TestMixedDevices(t *testing.T) {
	if !onDriver(t, "compute=90/61") {
		return
	}
	b := open(t, Options{All: true})
	if l := b.Limits(); l.Compute != 61 || l.SharedBlock != 48<<10 {
		t.Errorf("kernels within %+v", l)
	}
	film := newFilm(t, b, smallFormat, 9)
	p := kernels.DefaultBilateral(5)
	s := &screen{t: t, answers: film.answers(t, p)}
	if err := show(t, context.Background(), b, film, s, p, 1+b.Held(p)); err != nil || s.seen != 9 {
		t.Error(s.seen, err)
	}
}
