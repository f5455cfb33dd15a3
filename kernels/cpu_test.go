package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

var (
	testLayouts  = []pipeline.Layout{pipeline.YUV420P, pipeline.YUV422P, pipeline.YUV444P, pipeline.NV12, pipeline.RGBA}
	testMatrices = []pipeline.Matrix{pipeline.BT601, pipeline.BT709, pipeline.BT2020}
	testSizes    = [][2]int{{1, 1}, {2, 2}, {7, 5}, {63, 17}, {3, 200}, {161, 81}, {801, 67}}
)

// conformCase is one call of a filter.
type conformCase struct {
	format     pipeline.Format
	interlaced bool
	p          Planned
}

func (c conformCase) String() string {
	return fmt.Sprintf("%s %s full=%v interlaced=%v %+v", c.format, c.format.Matrix, c.format.FullRange, c.interlaced, c.p)
}

// deepLayouts are layouts of more than 8 bits to test, and the ones of 8 bits that share their
// code with others.
var deepLayouts = []pipeline.Layout{
	pipeline.YUV420P.At(10), pipeline.NV12.At(10), pipeline.YUV422P.At(12), pipeline.YUV444P.At(9), pipeline.NV16,
	pipeline.NV24.At(12), pipeline.YUV420P.At(16), pipeline.NV12.At(16), pipeline.NV24, pipeline.YUV444P.At(14), pipeline.NV16.At(10),
	pipeline.GRAY, pipeline.GRAY.At(10), pipeline.GRAY.At(16), pipeline.GBRP, pipeline.GBRP.At(12), pipeline.GBRP.At(16),
}

// deeper returns every third of some cases of planes, with one of deepLayouts each.
func deeper(cases []conformCase) (deep []conformCase) {
	for i, c := range cases {
		if i%3 == i/9%3 && c.format.Layout != pipeline.RGBA {
			c.format.Layout = deepLayouts[len(deep)%len(deepLayouts)]
			deep = append(deep, c)
		}
	}
	return deep
}

// conformCases returns the cases that every instruction set is tested with. Each combination of
// layout, size, range weight and border appears; radii, matrices, ranges, field orders and sigmas
// cycle at steps that make each meet each, which TestPairs verifies.
func conformCases() (cases []conformCase) {
	i := 0
	for _, size := range testSizes {
		for _, l := range testLayouts {
			for n := range 16 {
				if !skipCase(size, i) {
					cases = append(cases, oneCase(i, size, l, RangeWeight(n/2%2), Border(n%2)))
				}
				i++
			}
		}
	}
	return cases
}

// skipCase thins out the large sizes, whose reference is slow. The last size crosses tiles both
// ways.
func skipCase(size [2]int, i int) bool {
	return size[0] > 100 && i%7 != 0 || size[0] > 500 && i%3 != 0
}

func oneCase(i int, size [2]int, l pipeline.Layout, rw RangeWeight, b Border) conformCase {
	p := DefaultBilateral((i*7 + i/32) % (MaxRadius + 1))
	if size[0] > 100 {
		p = DefaultBilateral((i/7 + i/32) % 9) // larger windows are met at the smaller sizes
	}
	p.SigmaR = []float64{DefaultSigmaR, 5, 60}[i/2%3]
	p.Range, p.Border = rw, b
	return conformCase{
		format:     pipeline.Format{Layout: l, Width: size[0], Height: size[1], Matrix: testMatrices[i%3], FullRange: i/3%2 == 1},
		interlaced: i%5 == 4,
		p:          p,
	}
}

// TestConform compares every instruction set with the reference: at most 1 level apart, and equal
// in 99 % of the samples of each combination of range weight and border. Other depths have the
// bounds of kerneltest. -short leaves one case in eight.
func TestConform(t *testing.T) {
	isas := isa.Names()
	cpus := make([]*CPU, len(isas))
	for i, isa := range isas {
		cpus[i] = newCPU(t, 2, isa)
	}
	stats := map[string]*kerneltest.Difference{}
	rng := rand.New(rand.NewPCG(1, 2))
	for i, c := range append(conformCases(), deeper(conformCases())...) {
		if testing.Short() && i%8 != 0 {
			continue
		}
		src := kerneltest.Frame(c.format)
		src.Interlaced = c.interlaced
		[]func(*pipeline.Frame, *rand.Rand){kerneltest.Scene, kerneltest.Noise}[(i/4+i/64)%2](src, rng)
		want := kerneltest.Frame(c.format)
		e2e.Must(t, Reference(want, src, c.p))
		for k, cpu := range cpus {
			conform(t, stats, isas[k], cpu, c, src, want)
		}
	}
	for name, d := range stats {
		if d.TooMany() {
			t.Errorf("%s: too many differ: %s", name, d)
		}
		t.Logf("%s: %.4f %% of %d differ by %d", name, 100*float64(d.Count)/float64(d.Samples), d.Samples, d.Largest)
	}
}

func conform(t *testing.T, stats map[string]*kerneltest.Difference, isa string, cpu *CPU, c conformCase, src, want *pipeline.Frame) {
	got := kerneltest.Frame(c.format)
	cpuRun(t, cpu, got, src, c.p)
	kerneltest.CheckCanaries(t, "output", got)
	kerneltest.CheckCanaries(t, "input", src)
	d := kerneltest.Compare(got, want)
	if d.Largest > d.Bound() {
		t.Errorf("%s: %s: %s", isa, c, d)
	}
	p, _ := c.p.(Bilateral)
	key := fmt.Sprintf("%s %s %s", isa, p.Range, p.Border)
	if depth := c.format.Layout.Info().Depth; depth > 8 {
		key = fmt.Sprintf("%s, %d bits", isa, depth)
	}
	if stats[key] == nil {
		stats[key] = new(kerneltest.Difference)
	}
	stats[key].Merge(d)
}

// TestPairs checks that conformCases combines each value of each option with each value of every
// other.
func TestPairs(t *testing.T) {
	seen := map[[4]int]bool{}
	for _, c := range conformCases() {
		v := c.values()
		for i := range v {
			for k := range v {
				seen[[4]int{i, v[i], k, v[k]}] = true
			}
		}
	}
	counts := []int{len(testLayouts), len(testMatrices), 2, 2, MaxRadius + 1, len(rangeNames), len(borderNames)}
	want := 0
	for i := range counts {
		for k := range counts {
			if i == k {
				want += counts[i]
			} else {
				want += counts[i] * counts[k]
			}
		}
	}
	if len(seen) != want {
		t.Errorf("%d pairs of options appear, of %d", len(seen), want)
	}
}

// values numbers the options of a case.
func (c conformCase) values() []int {
	flag, p := map[bool]int{true: 1}, c.p.(Bilateral)
	return []int{int(c.format.Layout), int(c.format.Matrix), flag[c.format.FullRange], flag[c.interlaced],
		p.Radius, int(p.Range), int(p.Border)}
}
