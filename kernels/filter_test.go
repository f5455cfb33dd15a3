package kernels

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestThreads: results are bit-equal for any number of threads under any load.
func TestThreads(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 700, Height: 333, Matrix: pipeline.BT601}
	src := kerneltest.Frame(format)
	kerneltest.Noise(src, rand.New(rand.NewPCG(11, 12)))
	for _, isa := range isa.Names() {
		for _, r := range []int{1, 2, 6} {
			want := kerneltest.Frame(format)
			cpuRun(t, newCPU(t, 1, isa), want, src, DefaultBilateral(r))
			for _, threads := range []int{2, 3, 7} {
				got := kerneltest.Frame(format)
				cpuRun(t, newCPU(t, threads, isa), got, src, DefaultBilateral(r))
				if d := kerneltest.Compare(got, want); d.Count > 0 {
					t.Errorf("%s, r=%d, %d threads: %s", isa, r, threads, d)
				}
			}
		}
	}
}

// TestFilter runs the filter as a pipeline does: format changes in mid-stream, ownership, timing.
func TestFilter(t *testing.T) {
	cpu := newCPU(t, 2, "")
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	p := DefaultBilateral(2)
	f, err := cpu.Filter(p, pool)
	e2e.Must(t, err)
	if f.Held() != 0 {
		t.Errorf("holds %d frames", f.Held())
	}
	rng := rand.New(rand.NewPCG(13, 14))
	for i := range 12 {
		format := pipeline.Format{Layout: testLayouts[i%5], Width: 30 + 100*(i%3), Height: 90 - 7*i, Matrix: pipeline.BT709}
		src := kerneltest.Frame(format)
		kerneltest.Scene(src, rng)
		want := reference(t, src, p)
		released := false
		in := pipeline.NewFrame(format, src.Planes, nil, func() { released = true })
		in.PTS, in.Duration = int64(i), 7
		emitted := 0
		err := f.Process(context.Background(), in, func(out *pipeline.Frame) error {
			emitted++
			if d := kerneltest.Compare(out, want); d.Largest > 1 || out.PTS != int64(i) || out.Duration != 7 {
				t.Errorf("frame %d: pts %d, duration %d, %s", i, out.PTS, out.Duration, d)
			}
			out.Release()
			return nil
		})
		if err != nil || emitted != 1 || !released || pool.InUse() != 0 {
			t.Fatalf("frame %d: error %v, %d emitted, input released: %v, %d blocks out", i, err, emitted, released, pool.InUse())
		}
	}
	if err := f.Flush(context.Background(), nil); err != nil {
		t.Error(err)
	}
}

// TestCancel: a cancelled filter returns the context's cause, and every frame is released.
func TestCancel(t *testing.T) {
	cpu := newCPU(t, 2, "")
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	f, err := cpu.Filter(DefaultBilateral(15), pool)
	e2e.Must(t, err)
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 2000, Height: 1000, Matrix: pipeline.BT709}
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	released := false
	in := pipeline.NewFrame(format, kerneltest.Frame(format).Planes, nil, func() { released = true })
	err = f.Process(ctx, in, func(*pipeline.Frame) error { t.Error("emitted"); return nil })
	if !errors.Is(err, cause) || !released || pool.InUse() != 0 {
		t.Errorf("error %v, input released: %v, %d blocks out", err, released, pool.InUse())
	}
}

func TestFilterErrors(t *testing.T) {
	cpu := newCPU(t, 1, "")
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	if _, err := cpu.Filter(DefaultBilateral(16), pool); err == nil {
		t.Error("radius 16 was taken")
	}
	f, err := cpu.Filter(DefaultBilateral(1), pool)
	e2e.Must(t, err)
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 8, Height: 8} // no matrix
	if err := f.Process(context.Background(), kerneltest.Frame(format), nil); err == nil {
		t.Error("a frame without a matrix was filtered")
	}
	if pool.InUse() != 0 {
		t.Errorf("%d blocks out", pool.InUse())
	}
}

func TestNewCPU(t *testing.T) {
	if _, err := NewCPU(-1, ""); err == nil {
		t.Error("-1 threads were taken")
	}
	if _, err := NewCPU(1, "mmx"); err == nil {
		t.Error("mmx was taken")
	}
	for _, isa := range isa.Names() {
		cpu := newCPU(t, 3, isa)
		if !strings.Contains(cpu.Name(), isa) || !strings.Contains(cpu.Name(), "3 threads") {
			t.Errorf("name %q", cpu.Name())
		}
		for range 2 {
			if err := cpu.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestAlloc(t *testing.T) {
	cpu := newCPU(t, 1, "")
	for _, size := range []int{1, 100, 1 << 20} {
		m, err := cpu.Alloc(size)
		e2e.Must(t, err)
		if len(m.Bytes) != size || uintptr(unsafe.Pointer(&m.Bytes[0]))%pipeline.PitchAlign != 0 {
			t.Errorf("%d bytes: got %d at %p", size, len(m.Bytes), &m.Bytes[0])
		}
		m.Bytes[size-1] = 1
		m.Free()
	}
	if _, err := cpu.Alloc(1 << 62); err == nil {
		t.Error("2^62 bytes were allocated")
	}
}

// TestExtremeSigmas: sigmas at the ends of their range match the reference, without NaN.
func TestExtremeSigmas(t *testing.T) {
	cpu := newCPU(t, 1, "")
	format := pipeline.Format{Layout: pipeline.YUV444P, Width: 40, Height: 12, Matrix: pipeline.BT709}
	src := kerneltest.Frame(format)
	kerneltest.Scene(src, rand.New(rand.NewPCG(15, 16)))
	for _, s := range []float64{1e-320, 1e-160, 1e-8, 0.3, 1e8, 1e9} {
		for k := range rangeNames {
			p := Bilateral{Radius: 2, SigmaS: 2, SigmaR: s, Range: RangeWeight(k)}
			for range 2 {
				got := kerneltest.Frame(format)
				cpuRun(t, cpu, got, src, p)
				if d := kerneltest.Compare(got, reference(t, src, p)); d.Largest > 1 {
					t.Errorf("%+v: %s", p, d)
				}
				p.SigmaS, p.SigmaR = p.SigmaR, p.SigmaS
			}
		}
	}
}

// FuzzCPU compares the CPU with the reference for any options, sizes and samples.
func FuzzCPU(f *testing.F) {
	f.Add(uint64(1), uint8(20), uint8(9), uint16(3), uint8(2), uint8(20))
	f.Add(uint64(2), uint8(1), uint8(30), uint16(0x1234), uint8(9), uint8(3))
	f.Add(uint64(61), uint8('^'), uint8(0x1f), uint16(4771), uint8('z'), uint8(3)) // a colour 1e-5 from a tie
	f.Fuzz(func(t *testing.T, seed uint64, w, h uint8, options uint16, radius, sigma uint8) {
		o := int(options)
		p := DefaultBilateral(int(radius) % (MaxRadius + 1))
		p.SigmaR, p.Range, p.Border = float64(sigma)+1, RangeWeight(o/60%2), Border(o/120%2)
		c := conformCase{
			format: pipeline.Format{Layout: testLayouts[o%5], Width: int(w) + 1, Height: int(h)%40 + 1,
				Matrix: testMatrices[o/5%3], FullRange: o/15%2 == 1},
			interlaced: o/30%2 == 1,
			p:          p,
		}
		src := kerneltest.Frame(c.format)
		src.Interlaced = c.interlaced
		kerneltest.Noise(src, rand.New(rand.NewPCG(seed, 0)))
		want := reference(t, src, c.p)
		for _, isa := range isa.Names() {
			conform(t, map[string]*kerneltest.Difference{}, isa, newCPU(t, 1, isa), c, src, want)
		}
	})
}
