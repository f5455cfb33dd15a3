package gpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

func pairVariants(t *testing.T) (list []kernels.Variant) {
	for _, v := range kernels.Variants() {
		if v.Form == kernels.Pair {
			list = append(list, v)
		}
	}
	if len(list) != 6 {
		t.Errorf("%d variants of 003", len(list))
	}
	return list
}

// TestPair holds the kernels of 003 to the reference where their tiles end: pictures smaller than a tile and of several, of which some have
// no pixel in some phase; radii that reach into the next tile, and beyond it.
func TestPair(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	rng := rand.New(rand.NewPCG(31, 32))
	i := 0
	for _, size := range [][2]int{{1, 1}, {7, 5}, {31, 33}, {33, 31}, {100, 9}, {64, 32}, {71, 67}} {
		for _, radius := range []int{0, 1, 4, 5, 8, 15} {
			for _, v := range pairVariants(t) {
				i++
				if size[0]*size[1]*radius > 5000 && i%5 > 0 || testing.Short() && i%4 > 0 {
					continue
				}
				src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: size[0], Height: size[1]})
				src.Interlaced = i%3 == 0
				kerneltest.Noise(src, rng)
				p := v.Adapt(kernels.DefaultParams(radius))
				p.SigmaR = []float64{kernels.DefaultSigmaR, 5, 100, 1e-9, 1e9}[i%5]
				got := kerneltest.Frame(src.Format)
				if err := b.RunKernel(context.Background(), v, p, got, src); err != nil {
					t.Fatal(err)
				}
				kerneltest.CheckCanaries(t, v.Name, got)
				if d := kerneltest.Compare(got, reference(t, src, p)); d.TooFar() {
					t.Errorf("%s, radius %d, %s, interlaced %v: %s", v.Name, radius, src.Format, src.Interlaced, d)
				}
			}
		}
	}
}

// TestPairSameBits: in whatever order threads run, the maps of the sums have the same bits, in which every addition shows.
func TestPairSameBits(t *testing.T) {
	if !onDriver(t, "order=7") {
		return
	}
	b := open(t, Options{})
	src := kerneltest.Frame(pipeline.Format{Layout: pipeline.RGBA, Width: 90, Height: 50})
	kerneltest.Noise(src, rand.New(rand.NewPCG(33, 34)))
	for _, v := range pairVariants(t) {
		if v.Version == "naive" {
			continue // it has no sums that threads share
		}
		p := v.Adapt(kernels.DefaultParams(5))
		p.SigmaR = 60
		first := pairMaps(t, b, v, p, src)
		for range 3 {
			if again := pairMaps(t, b, v, p, src); !slices.Equal(again, first) {
				t.Errorf("%s: the maps differ from run to run", v.Name)
			}
		}
	}
}

// pairMaps returns what a run leaves in its scratch memory.
func pairMaps(t *testing.T, b *Backend, v kernels.Variant, p kernels.Params, src *pipeline.Frame) []float32 {
	t.Helper()
	k, err := b.newKernelRun(v, p, src, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer k.close()
	if _, err := k.trial.batch(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	maps := make([]float32, k.plan.Scratch()/4)
	if err := k.unit.work.do(func() error {
		return cu.MemcpyDtoH(unsafe.Pointer(&maps[0]), k.memories[0].scratch.address, int64(4*len(maps)))
	}); err != nil {
		t.Fatal(err)
	}
	if least := slices.Min(maps); !(least >= 0) {
		t.Fatalf("%s: a sum is %g", v.Name, least)
	}
	return maps
}
