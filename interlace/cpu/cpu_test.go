package cpu_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"vidfilter/interlace"
	"vidfilter/interlace/cpu"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// counted is an allocator that counts its blocks and the most bytes in them.
type counted struct {
	kernels.Host
	blocks, bytes, most atomic.Int64
}

func (c *counted) Alloc(n int) (pipeline.Memory, error) {
	m, err := c.Host.Alloc(n)
	free := m.Free
	m.Free = func() {
		c.blocks.Add(-1)
		c.bytes.Add(int64(-n))
		free()
	}
	c.blocks.Add(1)
	c.most.Store(max(c.most.Load(), c.bytes.Add(int64(n))))
	return m, err
}

// noisy returns frames with a moving pattern, a still pattern and random samples.
func noisy(format pipeline.Format, frames int, topFirst bool) (all []*pipeline.Frame) {
	r := rand.New(rand.NewPCG(1, 2))
	bottomFirst := 1
	if topFirst {
		bottomFirst = 0
	}
	for n := range frames {
		f := pipeline.Blank(format)
		for _, p := range f.Planes[:f.NumPlanes()] {
			for i := range p.Data {
				x, y := i%p.Pitch, i/p.Pitch
				v := 128 + 90*math.Sin(float64(y)*0.9+float64(x)/3)
				switch t := 2*n + (y&1 ^ bottomFirst); {
				case x*3 < p.Pitch:
					v = r.Float64() * 255
				case y > f.Height/4:
					v = 128 + 60*math.Sin(float64(x-2*t)/2) + 60*math.Sin((float64(y)-float64(t)/2)/1.5) + 4*r.Float64()
				}
				p.Data[i] = byte(v)
			}
		}
		f.PTS, f.Interlaced, f.TopFieldFirst = int64(n), true, topFirst
		all = append(all, f)
	}
	return all
}

func filtered(t *testing.T, e interlace.Engine, o interlace.Options, in []*pipeline.Frame) (out []*pipeline.Frame) {
	t.Helper()
	f := interlace.NewFilter(e, pipeline.NewPool(kernels.Host{}, 100), o)
	emit := func(r *pipeline.Frame) error {
		out = append(out, r)
		return nil
	}
	for _, frame := range in {
		e2e.Must(t, f.Process(context.Background(), frame.Retain(), emit))
	}
	e2e.Must(t, f.Flush(context.Background(), emit))
	return out
}

func compare(t *testing.T, name string, got, want []*pipeline.Frame) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d pictures, not %d", name, len(got), len(want))
	}
	for j, f := range got {
		for p, y := range f.Rows() {
			if !bytes.Equal(f.Row(p, y), want[j].Row(p, y)) {
				t.Fatalf("%s, picture %d: plane %d, row %d: %v, not %v", name, j, p, y, f.Row(p, y), want[j].Row(p, y))
			}
		}
	}
}

// TestReference compares the pictures for every layout and instruction set with the reference. In
// some sizes a field has a single row, or the only chroma row belongs to the other field.
func TestReference(t *testing.T) {
	sizes := [][2]int{{130, 70}, {65, 33}, {1, 2}, {17, 3}, {2, 5}, {550, 6}}
	for i, layout := range pipeline.Layouts() {
		for k := range 2 {
			size := sizes[(i+3*k)%len(sizes)]
			format := pipeline.Format{Layout: layout, Width: size[0], Height: size[1]}
			t.Run(fmt.Sprint(format), func(t *testing.T) {
				t.Parallel()
				in := noisy(format, 1+(i+k)%6, (i+k)%2 == 0)
				o := interlace.Options{Single: i%4 == 3}
				want := filtered(t, interlace.Plain{}, o, in)
				for n, name := range isa.Names() {
					set, err := isa.Find(name)
					e2e.Must(t, err)
					var heap counted
					got := filtered(t, cpu.New(set, e2e.Workers(1+(n+i)%3), &heap), o, in)
					compare(t, name, got, want)
					if n := heap.blocks.Load(); n != 0 {
						t.Errorf("%s: %d blocks are not released", name, n)
					}
				}
			})
		}
	}
	if !slices.Contains(isa.Names(), "plain") {
		t.Error("plain C is missing")
	}
}

// TestExact checks that the C code may add integers in place of the reference's floats for samples
// of 8 bits. float32 holds multiples of 1/4096 up to 4096 exactly. A sum that exceeds 4096 stays
// out of the samples' range after any further terms.
func TestExact(t *testing.T) {
	const most, one, exact = 2 * 255, 4096, 1 << 24 // a sum of two samples, a weight of 1, 4096 in weights
	for pass, codes := range interlace.Learned().Code {
		for i, code := range codes {
			base, positive, negative, rest := one, 0, 0, 0
			for _, w := range code {
				base -= int(w)
				rest += max(int(w), -int(w))
			}
			if base != int(int16(base)) {
				t.Errorf("pass %d, code %d: the base's weight is %d", pass, i, base)
			}
			for k, w := range code {
				positive, negative, rest = positive+max(int(w), 0), negative+max(-int(w), 0), rest-max(int(w), -int(w))
				if most*max(positive, one+negative) >= exact && most*rest+(most+1)*one >= exact {
					t.Errorf("pass %d, code %d: the sum up to weight %d is too large: %v", pass, i, k, code)
				}
			}
		}
	}
}

// TestCancelled cancels a run at each of its steps. The engine frees its memory, and makes the same
// pictures in the next run.
func TestCancelled(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.GRAY, Width: 20, Height: 20}
	in := noisy(format, 4, true)
	want := filtered(t, interlace.Plain{}, interlace.Options{}, in)
	var heap counted
	var left atomic.Int64 // steps before the cancellation
	var ctx context.Context
	var cancel context.CancelFunc
	e := cpu.New(isa.Fastest(), func(ctx context.Context, n int, do func(int)) {
		if left.Add(-1) < 0 {
			cancel()
		}
		for i := range n {
			if ctx.Err() == nil {
				do(i)
			}
		}
	}, &heap)
	for steps := int64(0); ; steps += 1 + steps/8 {
		left.Store(steps)
		ctx, cancel = context.WithCancel(context.Background())
		results := pipeline.NewPool(kernels.Host{}, 9)
		f := interlace.NewFilter(e, results, interlace.Options{})
		var got []*pipeline.Frame
		emit := func(r *pipeline.Frame) error {
			got = append(got, r)
			return nil
		}
		kept := len(in)
		var err error
		for _, frame := range in {
			own := pipeline.NewFrame(frame.Format, frame.Planes, nil, func() { kept-- })
			own.CopyTiming(frame)
			if err == nil {
				err = f.Process(ctx, own, emit)
			} else {
				own.Release()
			}
		}
		if err == nil {
			err = f.Flush(ctx, emit)
		}
		f.Discard()
		cancel()
		compare(t, fmt.Sprint(steps, " steps"), got, want[:len(got)])
		for _, r := range got {
			r.Release()
		}
		if blocks := heap.blocks.Load(); blocks != 0 || results.InUse() != 0 || kept != 0 {
			t.Errorf("%d steps: %d blocks, %d results and %d frames are not released", steps, blocks, results.InUse(), kept)
		}
		if err == nil {
			if steps < 100 || len(got) != len(want) {
				t.Errorf("%d steps make %d pictures", steps, len(got))
			}
			break
		}
		if err != context.Canceled {
			t.Fatal(err)
		}
	}
	left.Store(math.MaxInt64)
	compare(t, "another run", filtered(t, e, interlace.Options{}, in), want)
}

// TestMemory compares the memory with kernels.Deinterlace.PixelMemory. It depends on how many
// pictures are in progress at once.
func TestMemory(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV444P, Width: 464, Height: 168}
	var heap counted
	filtered(t, cpu.New(isa.Fastest(), e2e.Workers(2), &heap), interlace.Options{}, noisy(format, 6, true))
	const padded = 576 * 200 // an odd number of cache lines in a row
	if most, says := heap.most.Load(), int64(kernels.Deinterlace{}.PixelMemory()); most > says*padded || most < says*padded/2 {
		t.Errorf("%d bytes per pixel", most/padded)
	}
}
