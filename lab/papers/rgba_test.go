package papers_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// late filters RGBA by the reference, and holds two frames like a GPU.
type late struct {
	t    *testing.T
	p    kernels.Planned
	pool *pipeline.Pool
	held []*pipeline.Frame
}

func (l *late) Held() int { return 2 }

func (l *late) Process(ctx context.Context, f *pipeline.Frame, emit pipeline.Emit) error {
	l.held = append(l.held, f)
	if len(l.held) <= 2 {
		return nil
	}
	return l.next(ctx, emit)
}

func (l *late) next(ctx context.Context, emit pipeline.Emit) error {
	f := l.held[0]
	l.held = l.held[1:]
	defer f.Release()
	if f.Layout != pipeline.RGBA {
		return errors.New("no RGBA")
	}
	out, err := l.pool.NewFrame(ctx, f.Format)
	if err != nil {
		return err
	}
	out.CopyTiming(f)
	if err := kernels.Reference(out, f, l.p); err != nil {
		return err
	}
	return emit(out)
}

func (l *late) Flush(ctx context.Context, emit pipeline.Emit) error {
	for len(l.held) > 0 {
		if err := l.next(ctx, emit); err != nil {
			return err
		}
	}
	return nil
}

func (l *late) Discard() {
	for _, f := range l.held {
		f.Release()
	}
	l.held = nil
}

// throughRGBA sends frames of changing formats through InRGBA, and returns the results and the
// messages.
func throughRGBA(t *testing.T, p kernels.Planned, all []*pipeline.Frame) (out []*pipeline.Frame, announced []string) {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	pools := make([]*pipeline.Pool, 3)
	for i := range pools {
		pools[i] = pipeline.NewPool(cpu, 3)
		defer pools[i].Close()
	}
	f := papers.InRGBA(&late{t: t, p: p, pool: pools[0]}, pools[1], pools[2], func(f pipeline.Format) { announced = append(announced, f.Layout.String()) })
	emit := func(o *pipeline.Frame) error {
		got := kerneltest.Frame(o.Format)
		got.CopySamples(o)
		got.CopyTiming(o)
		out = append(out, got)
		o.Release()
		return nil
	}
	for _, in := range all {
		e2e.Must(t, f.Process(context.Background(), in.Retain(), emit))
	}
	e2e.Must(t, f.Flush(context.Background(), emit))
	for i, pool := range pools {
		if n := pool.InUse(); n != 0 {
			t.Errorf("%d frames of pool %d were never released", n, i)
		}
	}
	return out, announced
}

// TestInRGBA: via RGBA, planes come out as the reference filters them, for every layout, range and
// field order, and in order even if the format changes while frames are held.
func TestInRGBA(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	var all []*pipeline.Frame
	for i := range 20 {
		f := pipeline.Format{
			Layout: pipeline.YUV420P + pipeline.Layout(i%5), Width: 17 + i, Height: 9 + i*3%8, Matrix: []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020}[i%3],
			FullRange: i%4 == 1,
		}
		src := kerneltest.Frame(f)
		[]func(*pipeline.Frame, *rand.Rand){kerneltest.Scene, kerneltest.Noise}[i%2](src, rng)
		src.PTS, src.Interlaced = int64(i), i%3 == 2
		all = append(all, src)
	}
	for _, border := range []kernels.Border{kernels.Clamp, kernels.Reflect} {
		p := kernels.DefaultBilateral(2)
		p.Border = border
		out, announced := throughRGBA(t, p, all)
		if len(out) != len(all) {
			t.Fatalf("%d frames of %d", len(out), len(all))
		}
		for i, got := range out {
			want := kerneltest.Frame(all[i].Format)
			e2e.Must(t, kernels.Reference(want, all[i], p))
			if got.PTS != int64(i) || got.Interlaced != all[i].Interlaced || got.Format != want.Format {
				t.Errorf("frame %d came as %d, %s", i, got.PTS, got.Format)
				continue
			}
			kerneltest.CheckCanaries(t, fmt.Sprint(i), got)
			if d := kerneltest.Compare(got, want); d.Largest > 0 {
				t.Errorf("%s, border %s: %s", got.Format, border, d)
			}
		}
		if len(announced) < 16 || announced[0] != "yuv420p" {
			t.Errorf("announced %q", announced)
		}
	}
}

// TestInRGBADiscard: frames are released after Discard, and after a failed conversion.
func TestInRGBADiscard(t *testing.T) {
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 2)
	defer pool.Close()
	p := kernels.DefaultBilateral(1)
	f := papers.InRGBA(&late{t: t, p: p, pool: pool}, pool, pool, nil)
	never := func(*pipeline.Frame) error { t.Error("emitted"); return nil }
	good := pipeline.Format{Layout: pipeline.NV12, Width: 8, Height: 8, Matrix: pipeline.BT709}
	for _, format := range []pipeline.Format{good, {Layout: pipeline.NV12, Width: 8, Height: 8}} {
		in, err := pool.TakeFrame(format, nil)
		e2e.Must(t, err)
		if err := f.Process(context.Background(), in, never); (err == nil) != (format == good) {
			t.Errorf("%s, matrix %s: %v", format, format.Matrix, err)
		}
	}
	f.(pipeline.Discarder).Discard()
	if n := pool.InUse(); n != 0 {
		t.Errorf("%d frames were never released", n)
	}
}
