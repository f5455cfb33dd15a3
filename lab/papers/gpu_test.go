package papers_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// onDriver runs the rest of a test in a process of its own with the test driver, or with
// VIDFILTER_TEST_GPU=1 on this machine's GPU. It returns true there, and false in the parent.
func onDriver(t *testing.T, options string) bool {
	t.Helper()
	return testdriver.OnDevice(t, options)
}

func open(t *testing.T, o gpu.Options) *gpu.Backend {
	t.Helper()
	b, err := gpu.Open(o)
	e2e.Must(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func named(t *testing.T, name string) kernels.Variant {
	t.Helper()
	v, err := papers.Library.Named(name)
	e2e.Must(t, err)
	return v
}

// ofPaper returns the variants of a paper.
func ofPaper(id string) []kernels.Variant {
	return slices.DeleteFunc(papers.Library.Variants(), func(v kernels.Variant) bool { return papers.Of(v).Paper != id })
}

func rgba(width, height int) *pipeline.Frame {
	return kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: width, Height: height})
}

func reference(t *testing.T, v kernels.Variant, src *pipeline.Frame, p kernels.Planned) *pipeline.Frame {
	t.Helper()
	want := kerneltest.Frame(src.Format)
	e2e.Must(t, papers.ReferenceOf(v, p)(want, src))
	return want
}

func clearAlpha(f *pipeline.Frame) {
	scene.EachSample(f, func(_, x, y int) byte {
		if x%4 == 3 {
			return 0
		}
		return f.Row(0, y)[x]
	})
}

var few = gpu.Repeat{Batches: 3, Runs: 2, Time: time.Hour}

// TestPapersRadii compares the papers' kernels with the reference at other radii, at sizes smaller
// than a window, and by fields. It tests the smallest radius of each and the largest, and the rest
// in turn.
func TestPapersRadii(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, gpu.Options{})
	rng := rand.New(rand.NewPCG(7, 8))
	sizes := [][2]int{{1, 1}, {9, 33}, {70, 37}}
	for i, v := range papers.Library.Variants() {
		if testing.Short() && i%7 > 0 {
			continue
		}
		for j, size := range sizes {
			p := v.Adapt(kernels.DefaultBilateral([]int{0, 1, 3, 5, 7, 11, 15}[(i+3*j)%7]))
			if b, window := p.(kernels.Bilateral); window {
				if papers.Of(v).Paper == "004" && min(size[0], size[1]/2) <= b.Radius {
					continue // these are refused
				}
				b.SigmaR = []float64{20, 3, 200}[i%3]
				p = b
			}
			src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: size[0], Height: size[1]})
			src.Interlaced = j == 1
			kerneltest.Scene(src, rng)
			clearAlpha(src)
			got := kerneltest.Frame(src.Format)
			e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
			kerneltest.CheckCanaries(t, v.Name, got)
			if d := kerneltest.Compare(got, reference(t, v, src, p)); d.Largest > 1 || d.Count*20 > d.Samples {
				t.Errorf("%s, %+v, %s: %s", v.Name, p, src.Format, d)
			}
		}
	}
}

// TestThesisAgrees: "there should be no differences between GPU solutions" (000, section 5.2).
func TestThesisAgrees(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, gpu.Options{})
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 67, Height: 45})
	kerneltest.Noise(src, rand.New(rand.NewPCG(9, 10)))
	var first []byte
	for _, v := range papers.Library.Variants() {
		p := v.Adapt(kernels.DefaultBilateral(3))
		if papers.Of(v).Paper != "000" || papers.Of(v).Distance == papers.Lab || papers.Of(v).Weight != "" {
			continue
		}
		got := kerneltest.Frame(src.Format)
		e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
		var pixels []byte
		for y := range got.Height {
			pixels = append(pixels, got.Row(0, y)...)
		}
		if first == nil {
			first = pixels
		}
		if !bytes.Equal(pixels, first) {
			t.Errorf("%s: other pixels than version 1", v.Name)
		}
	}
}

// TestStaal checks the eight kernels of 004 against the reference with mirrored borders: by
// fields, with sigmas that flatten the picture or leave it unchanged, and with windows that nearly
// cover it. So versions 3 and 4 also smooth, contrary to the paper. Alpha is unchanged.
func TestStaal(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, gpu.Options{})
	for _, c := range []struct {
		width, height, radius int
		interlaced            bool
		sigmaS, sigmaR        float64
	}{
		{70, 37, 4, false, 2, 25.5}, // the paper's sigmas
		{9, 18, 8, true, 3, 60},
		{16, 33, 15, false, 30, 300},
		{33, 13, 2, false, 1, 1e-9},
		{13, 29, 1, true, 1e-9, 1e9},
		{5, 2, 0, true, 1, 20},
	} {
		for i, v := range ofPaper("004") {
			rng := rand.New(rand.NewPCG(11, uint64(i)))
			src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: c.width, Height: c.height})
			src.Interlaced = c.interlaced
			kerneltest.Noise(src, rng)
			if i%2 == 0 {
				kerneltest.Scene(src, rng)
			}
			p := kernels.Bilateral{Radius: c.radius, SigmaS: c.sigmaS, SigmaR: c.sigmaR, Range: kernels.Gaussian}
			got := kerneltest.Frame(src.Format)
			e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
			kerneltest.CheckCanaries(t, v.Name, got)
			if d := kerneltest.Compare(got, reference(t, v, src, p)); d.TooFar() {
				t.Errorf("%s, %+v: %s", v.Name, c, d)
			}
		}
	}
}

// TestStaalTimes: a kernel's time counts the paper's kernel without the passes that convert to and
// from floats; a step's time includes them. By the test driver's clock, launches of equal
// numbers of threads take equally long.
func TestStaalTimes(t *testing.T) {
	if !onDriver(t, "devices=1") {
		return
	}
	b, ctx := open(t, gpu.Options{}), context.Background()
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 96, Height: 64})
	var kernel, step []time.Duration
	for _, name := range []string{"staal_v5_registers", "staal_v7_channels"} {
		v := named(t, name)
		p := v.Adapt(kernels.DefaultBilateral(1))
		times, err := b.TimeKernel(ctx, papers.Timed(v, p, src), src, few)
		e2e.Must(t, err)
		kernel = append(kernel, times[0])
		if times, err = b.TimeStep(ctx, v.Planner(p), src, gpu.Copies{Streams: 1}, few); err != nil {
			t.Fatal(err)
		}
		step = append(step, times[0])
	}
	// Both times include the fixed cost of a run.
	if ratio := float64(kernel[1]) / float64(kernel[0]); ratio < 2.5 || ratio > 3.01 {
		t.Errorf("one launch takes %v, three %v", kernel[0], kernel[1])
	}
	for i := range step {
		if least := kernel[i] + 2*kernel[0]; step[i] < least {
			t.Errorf("a step takes %v, its launches alone %v", step[i], least)
		}
	}
}

// TestStaalMemory: without memory for a picture of floats, the error names it, all memory is freed,
// and the next run is right.
func TestStaalMemory(t *testing.T) {
	if !onDriver(t, "alloc=4") { // source, result, map, scratch
		return
	}
	b := open(t, gpu.Options{})
	v := named(t, "staal_v6_split")
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 40, Height: 30})
	kerneltest.Scene(src, rand.New(rand.NewPCG(1, 2)))
	p, got := v.Adapt(kernels.DefaultBilateral(2)), kerneltest.Frame(src.Format)
	if err := b.RunKernel(context.Background(), v.Planner(p), got, src); !errors.Is(err, gpu.ErrDevice) || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("got %v", err)
	}
	e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
	if d := kerneltest.Compare(got, reference(t, v, src, p)); d.Largest > 1 {
		t.Error(d)
	}
}

// TestPair compares the kernels of 003 with the reference at the ends of their tiles: pictures
// smaller than a tile, and of several tiles, where some phases have no pixel; radii that reach
// into the next tile, and beyond it.
func TestPair(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, gpu.Options{})
	rng := rand.New(rand.NewPCG(31, 32))
	i := 0
	for _, size := range [][2]int{{1, 1}, {7, 5}, {31, 33}, {33, 31}, {100, 9}, {64, 32}, {71, 67}} {
		for _, radius := range []int{0, 1, 4, 5, 8, 15} {
			for _, v := range ofPaper("003") {
				i++
				if size[0]*size[1]*radius > 5000 && i%5 > 0 || testing.Short() && i%4 > 0 {
					continue
				}
				src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: size[0], Height: size[1]})
				src.Interlaced = i%3 == 0
				kerneltest.Noise(src, rng)
				p := v.Adapt(kernels.DefaultBilateral(radius)).(kernels.Bilateral)
				p.SigmaR = []float64{kernels.DefaultSigmaR, 5, 100, 1e-9, 1e9}[i%5]
				got := kerneltest.Frame(src.Format)
				e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
				kerneltest.CheckCanaries(t, v.Name, got)
				if d := kerneltest.Compare(got, reference(t, v, src, p)); d.TooFar() {
					t.Errorf("%s, radius %d, %s, interlaced %v: %s", v.Name, radius, src.Format, src.Interlaced, d)
				}
			}
		}
	}
}

// TestPairSameBits: the order of threads does not change the bits of the result.
func TestPairSameBits(t *testing.T) {
	if !onDriver(t, "order=7") {
		return
	}
	b := open(t, gpu.Options{})
	src := rgba(90, 6*50)
	kerneltest.Noise(src, rand.New(rand.NewPCG(33, 34)))
	for _, v := range ofPaper("003") {
		if papers.Of(v).Version == "naive" {
			continue // its threads share no sums
		}
		p := v.Adapt(kernels.DefaultBilateral(5)).(kernels.Bilateral)
		p.SigmaR = 60
		var first *pipeline.Frame
		for range 4 {
			got := kerneltest.Frame(src.Format)
			e2e.Must(t, b.RunKernel(context.Background(), sums(v, p), got, src))
			if first == nil {
				first = got
			}
			if d := kerneltest.Compare(got, first); d.Count > 0 {
				t.Errorf("%s: the maps differ from run to run: %s", v.Name, d)
			}
		}
	}
}

// sums plans all launches but the last one, which divides, for a sixth of the picture: the maps,
// which show every addition, fill the place of the result.
func sums(v kernels.Variant, p kernels.Planned) kernels.Planner {
	return func(f pipeline.Format, l kernels.Limits) (*kernels.Plan, error) {
		plan, err := v.Planner(p)(f, l)
		if err != nil {
			return nil, err
		}
		launches := plan.Launches
		plan.Launches = func(field kernels.Field, m kernels.DeviceMemory) []kernels.Launch {
			m.Scratch, field.Height = field.Dst.Addr[0], field.Height/6
			all := launches(field, m)
			return all[:len(all)-1]
		}
		return plan, nil
	}
}

// TestRecursivePaper compares each algorithm of the authors with its reference, at several kappas
// and numbers of blocks.
func TestRecursivePaper(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, gpu.Options{})
	rng := rand.New(rand.NewPCG(35, 36))
	for _, c := range []struct {
		name   string
		approx papers.Approximation
	}{
		{"recursive_a", papers.Approximation{}},
		{"recursive_c", papers.Approximation{Algorithm: papers.AlgorithmC, Kappa: 2, Blocks: 4}},
		{"recursive_c", papers.Approximation{Algorithm: papers.AlgorithmC, Kappa: 0.5, Blocks: 6}},
		{"recursive_d", papers.Approximation{Algorithm: papers.AlgorithmD, Kappa: 0, Block: 24}},
		{"recursive_d", papers.Approximation{Algorithm: papers.AlgorithmD, Kappa: 1.5, Block: 24}},
	} {
		v := papers.WithApproximation(named(t, c.name), c.approx)
		for _, size := range [][2]int{{157, 131}, {5, 3}} {
			p := kernels.Recursive{SigmaS: 20, SigmaR: 40, Iterations: 2}
			src, got, want := rgba(size[0], size[1]), rgba(size[0], size[1]), rgba(size[0], size[1])
			kerneltest.Scene(src, rng)
			e2e.Must(t, b.RunKernel(context.Background(), v.Planner(p), got, src))
			e2e.Must(t, papers.RecursiveApprox(want, src, p, c.approx))
			if d := kerneltest.Compare(got, want); d.TooFar() {
				t.Errorf("%s, kappa %g: %s: %s", v.Name, c.approx.Kappa, src.Format, d)
			}
		}
	}
}

// TestRecursiveRefuses: the paper's algorithms refuse other formats than RGBA and other filters
// than the recursive one.
func TestRecursiveRefuses(t *testing.T) {
	v := named(t, "recursive_a")
	f := pipeline.Format{Layout: pipeline.NV12, Width: 8, Height: 8, Matrix: pipeline.BT709}
	limits := kernels.Limits{Compute: 90}
	if _, err := v.Planner(kernels.DefaultRecursive())(f, limits); err == nil || !strings.Contains(err.Error(), "filters rgba, not nv12") {
		t.Errorf("nv12: %v", err)
	}
	f.Layout = pipeline.RGBA
	if _, err := v.Planner(kernels.DefaultBilateral(1))(f, limits); err == nil || !strings.Contains(err.Error(), "does not do the bilateral filter") {
		t.Errorf("the bilateral filter: %v", err)
	}
}
