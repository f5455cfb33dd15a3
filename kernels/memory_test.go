package kernels

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

var errRefused = errors.New("no memory")

// refusing refuses one allocation, counted from 1.
type refusing struct {
	pipeline.Allocator
	at, seen, live int
}

func (r *refusing) Alloc(size int) (pipeline.Memory, error) {
	if r.seen++; r.seen == r.at {
		return pipeline.Memory{}, errRefused
	}
	m, err := r.Allocator.Alloc(size)
	if err == nil {
		r.live++
		free := m.Free
		m.Free = func() { r.live--; free() }
	}
	return m, err
}

// TestMemoryRefused: where a pool gets no memory at all, each filter ends with that error; where it
// gets less, it makes the same frames with fewer blocks. All frames and blocks are given back.
func TestMemoryRefused(t *testing.T) {
	cpu := newCPU(t, 2, "")
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 48, Height: 32, Matrix: pipeline.BT709}
	denoiser := DefaultDenoise()
	denoiser.Noise, denoiser.Quality = 10, Fast
	for name, p := range map[string]Stage{"bilateral": DefaultBilateral(3), "recursive": DefaultRecursive(), "denoise": denoiser} {
		all, refused := runRefusing(t, cpu, format, p, 0)
		for at := 1; at <= refused.seen; at++ {
			some, r := runRefusing(t, cpu, format, p, at)
			if want := len(all); at == 1 && len(some) > 0 || at > 1 && len(some) != want {
				t.Errorf("%s, allocation %d: %d frames of %d", name, at, len(some), want)
			}
			for i, f := range some {
				if d := kerneltest.Compare(f, all[i]); d.Count > 0 {
					t.Errorf("%s, allocation %d, frame %d: %s", name, at, i, d)
				}
			}
			if r.live != 0 {
				t.Errorf("%s, allocation %d: %d blocks are left", name, at, r.live)
			}
		}
		if len(all) != 8 || refused.seen < 2 {
			t.Errorf("%s: %d frames, %d allocations", name, len(all), refused.seen)
		}
	}
}

// runRefusing filters eight frames. It holds some results, so that the pool allocates more.
func runRefusing(t *testing.T, cpu *CPU, format pipeline.Format, p Stage, at int) (got []*pipeline.Frame, r *refusing) {
	t.Helper()
	r = &refusing{Allocator: cpu, at: at}
	pool := pipeline.NewPool(r, 4)
	f, err := cpu.Filter(p, pool)
	e2e.Must(t, err)
	var held []*pipeline.Frame
	emit := func(out *pipeline.Frame) error {
		own := kerneltest.Frame(format)
		own.CopySamples(out)
		got, held = append(got, own), append(held, out)
		if len(held) == 3 {
			held[0].Release()
			held = held[1:]
		}
		return nil
	}
	inputs := 0
	for n := range 8 {
		in := kerneltest.Frame(format)
		kerneltest.Scene(in, rand.New(rand.NewPCG(81, uint64(n))))
		inputs++
		if err = f.Process(context.Background(), pipeline.NewFrame(format, in.Planes, nil, func() { inputs-- }), emit); err != nil {
			break
		}
	}
	if err == nil {
		err = f.Flush(context.Background(), emit)
	}
	if err != nil {
		if d, ok := f.(pipeline.Discarder); ok {
			d.Discard()
		}
	}
	if (at == 1) != errors.Is(err, errRefused) || at != 1 && err != nil {
		t.Errorf("allocation %d: error %v", at, err)
	}
	for _, out := range held {
		out.Release()
	}
	if inputs != 0 || pool.InUse() != 0 {
		t.Errorf("allocation %d: %d inputs and %d results are not released", at, inputs, pool.InUse())
	}
	pool.Close()
	return got, r
}
