package kernels

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// recursiveCases combines each layout with each size, and cycles through iterations, sigmas,
// matrices, ranges and field orders.
func recursiveCases() (cases []conformCase) {
	sigmas := [][2]float64{{10, 20}, {50, 50}, {200, 150}, {1, 5}, {0.3, 100}, {60, 8}, {3000, 3000}}
	for i := range 5 * len(testSizes) * 2 {
		size, s := testSizes[i/5%len(testSizes)], sigmas[(i+i/7)%len(sigmas)]
		cases = append(cases, conformCase{
			format: pipeline.Format{Layout: testLayouts[i%5], Width: size[0], Height: size[1], Matrix: testMatrices[i%3],
				FullRange: i/3%2 == 1},
			interlaced: i%4 == 3,
			p:          Recursive{SigmaS: s[0], SigmaR: s[1], Iterations: i/2%MaxIterations + 1},
		})
	}
	return cases
}

// TestRecursiveConform compares every instruction set with the reference, within the bounds of
// kerneltest.
func TestRecursiveConform(t *testing.T) {
	isas := isa.Names()
	stats := map[string]*kerneltest.Difference{}
	rng := rand.New(rand.NewPCG(31, 32))
	for i, c := range append(recursiveCases(), deeper(recursiveCases())...) {
		src := kerneltest.Frame(c.format)
		src.Interlaced = c.interlaced
		[]func(*pipeline.Frame, *rand.Rand){kerneltest.Scene, kerneltest.Noise}[i/3%2](src, rng)
		want := reference(t, src, c.p)
		for _, isa := range isas {
			got := kerneltest.Frame(c.format)
			cpuRun(t, newCPU(t, 2, isa), got, src, c.p)
			kerneltest.CheckCanaries(t, "output", got)
			kerneltest.CheckCanaries(t, "input", src)
			d := kerneltest.Compare(got, want)
			if d.Largest > d.Bound() {
				t.Errorf("%s: %s interlaced=%v, %+v: %s", isa, c.format, c.interlaced, c.p, d)
			}
			key := fmt.Sprintf("%s, %d bits", isa, c.format.Layout.Info().Depth)
			if stats[key] == nil {
				stats[key] = new(kerneltest.Difference)
			}
			stats[key].Merge(d)
		}
	}
	for key, d := range stats {
		if d.TooMany() {
			t.Errorf("%s: too many differ: %s", key, d)
		}
		t.Logf("%s: %.4f %% of %d differ by %d", key, 100*float64(d.Count)/float64(d.Samples), d.Samples, d.Largest)
	}
}

// TestRecursiveThreads: results are bit-equal for any number of threads, and for a filter that has
// had another format in between.
func TestRecursiveThreads(t *testing.T) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 700, Height: 333, Matrix: pipeline.BT601}
	src, small := kerneltest.Frame(format), kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 64, Height: 70})
	kerneltest.Noise(src, rand.New(rand.NewPCG(33, 34)))
	p := DefaultRecursive()
	for _, isa := range isa.Names() {
		want := kerneltest.Frame(format)
		cpuRun(t, newCPU(t, 1, isa), want, src, p)
		for _, threads := range []int{2, 3, 7} {
			f, err := newCPU(t, threads, isa).Filter(p, nil)
			e2e.Must(t, err)
			for range 2 {
				got := kerneltest.Frame(format)
				e2e.Must(t, f.(*perFrame).run(context.Background(), got, src))
				if d := kerneltest.Compare(got, want); d.Count > 0 {
					t.Errorf("%s, %d threads: %s", isa, threads, d)
				}
				e2e.Must(t, f.(*perFrame).run(context.Background(), kerneltest.Frame(small.Format), small))
			}
		}
	}
}

// TestRecursiveCancel: a cancelled filter returns the context's cause.
func TestRecursiveCancel(t *testing.T) {
	f, err := newCPU(t, 2, "").Filter(DefaultRecursive(), nil)
	e2e.Must(t, err)
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV444P, Width: 300, Height: 300, Matrix: pipeline.BT709})
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if err := f.(*perFrame).run(ctx, kerneltest.Frame(src.Format), src); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
}

// TestRecursiveExtremes: at the ends of the sigmas' ranges the CPU matches the reference.
func TestRecursiveExtremes(t *testing.T) {
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.YUV444P, Width: 70, Height: 40, Matrix: pipeline.BT709})
	kerneltest.Scene(src, rand.New(rand.NewPCG(35, 36)))
	for _, s := range RecursiveSigma {
		for _, r := range RecursiveSigma {
			p := Recursive{SigmaS: s, SigmaR: r, Iterations: 3}
			want := reference(t, src, p)
			for _, isa := range isa.Names() {
				got := kerneltest.Frame(src.Format)
				cpuRun(t, newCPU(t, 1, isa), got, src, p)
				if d := kerneltest.Compare(got, want); d.Largest > 1 {
					t.Errorf("%s, sigmas %g and %g: %s", isa, s, r, d)
				}
			}
		}
	}
}

// BenchmarkRecursive filters a 1080p frame with the default options, on one thread.
func BenchmarkRecursive(b *testing.B) {
	for _, isa := range isa.Names() {
		for _, depth := range benchDepths {
			format := pipeline.Format{Layout: pipeline.YUV420P.At(depth), Width: 1920, Height: 1080, Matrix: pipeline.BT709}
			src, dst := kerneltest.Frame(format), kerneltest.Frame(format)
			kerneltest.Scene(src, rand.New(rand.NewPCG(37, 38)))
			b.Run(fmt.Sprintf("%s/%d", isa, depth), func(b *testing.B) {
				f, err := newCPU(b, 1, isa).Filter(DefaultRecursive(), nil)
				e2e.Must(b, err)
				for b.Loop() {
					e2e.Must(b, f.(*perFrame).run(context.Background(), dst, src))
				}
			})
		}
	}
}
