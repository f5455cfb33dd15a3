package kernels

import (
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestModules compares the list with the compiled modules: each has exactly its variant's kernel,
// for its device, with the size of parameter that Launches passes and the number of threads that
// it launches.
func TestModules(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Variants() {
		if seen[v.Name] {
			t.Errorf("%s is listed twice", v.Name)
		}
		seen[v.Name] = true
		text, err := v.PTX()
		if err != nil {
			t.Error(err)
			continue
		}
		size := planFor(t, v).Frame(false, DevicePlanes{}, DevicePlanes{}, DeviceMemory{})[0].ArgsSize
		kerneltest.CheckModule(t, v.Name, text, v.Compute, v.Threads[0]*v.Threads[1], size)
	}
}

func planFor(t *testing.T, v Variant) *Plan {
	t.Helper()
	f := pipeline.Format{Layout: layoutFor(v, pipeline.NV12), Width: 1920, Height: 1080, Matrix: pipeline.BT709}
	plan, err := v.Planner(paramsFor(v))(f, limitsOf(v.Compute))
	e2e.Must(t, err)
	return plan
}

// layoutFor returns a layout as it is or at 10 bits, as a variant takes it.
func layoutFor(v Variant, l pipeline.Layout) pipeline.Layout {
	if v.GBR {
		l = pipeline.GBRP
	}
	if v.deep() {
		return l.At(10)
	}
	return l
}

// paramsFor returns options that a variant supports, the most expensive where it has a choice.
func paramsFor(v Variant) Planned { return v.Adapt(DefaultBilateral(v.Radii[1])) }

// limitsOf returns the limits of the smallest device of a compute capability.
func limitsOf(compute int) Limits {
	shared := 48 << 10
	switch {
	case compute >= 90 && compute < 110:
		shared = 227 << 10
	case compute >= 80:
		shared = 99 << 10
	}
	return Limits{Compute: compute, Multiprocessors: 16, SharedBlock: shared, SharedMultiprocessor: shared + 1<<10}
}

// TestChoose: there is a kernel for all options on every device since Pascal, and newer devices
// get faster ones.
func TestChoose(t *testing.T) {
	f := pipeline.Format{Layout: pipeline.YUV420P, Width: 640, Height: 360, Matrix: pipeline.BT709}
	for _, compute := range []int{61, 75, 80, 90, 120} {
		for radius := range MaxRadius + 1 {
			for i := range 2 * 2 {
				for _, sigma := range []float64{0.1, 5, 20, 1e6} {
					p := Bilateral{Radius: radius, SigmaS: 2, SigmaR: sigma, Range: RangeWeight(i % 2), Border: Border(i / 2)}
					v, err := Choose(p, f, limitsOf(compute))
					if err != nil {
						t.Fatalf("compute capability %d, %+v: %v", compute, p, err)
					}
					if v.Compute > compute || !v.does(p) {
						t.Fatalf("compute capability %d, %+v: got %s", compute, p, v.Name)
					}
				}
			}
		}
	}
	for _, c := range []struct {
		layout          pipeline.Layout
		radius, compute int
		form            *Form
	}{{pipeline.RGBA, 1, 61, slidingForm}, {pipeline.NV12, 1, 90, tileForm}, {pipeline.RGBA, 3, 90, tileForm}, {pipeline.NV12, 10, 61, tileForm}, {pipeline.NV12, 10, 80, tensorForm}} {
		f.Layout = c.layout
		if v, err := Choose(DefaultBilateral(c.radius), f, limitsOf(c.compute)); err != nil || v.Form != c.form {
			t.Errorf("%s, radius %d, compute capability %d: got %s (%v), not the form %s", c.layout, c.radius, c.compute, v.Name, err, c.form.Name)
		}
	}
	if v, err := Choose(DefaultBilateral(3), f, limitsOf(52)); err == nil {
		t.Errorf("compute capability 5.2 got %s", v.Name)
	}
	if _, err := Choose(DefaultBilateral(16), f, limitsOf(90)); err == nil {
		t.Error("radius 16 was taken")
	}
}

// TestLaunches: grids cover the picture, fields do not overlap, shared memory fits.
func TestLaunches(t *testing.T) {
	src := DevicePlanes{Addr: [3]uint64{1 << 20, 2 << 20, 3 << 20}, Pitch: [3]int{1024, 512, 512}}
	dst := DevicePlanes{Addr: [3]uint64{5 << 20, 6 << 20, 7 << 20}, Pitch: [3]int{1024, 512, 512}}
	f := pipeline.Format{Layout: pipeline.YUV420P, Width: 1000, Height: 501, Matrix: pipeline.BT601}
	for _, v := range Variants() {
		p, limits := paramsFor(v), limitsOf(v.Compute)
		f.Layout = layoutFor(v, pipeline.YUV420P)
		plan, err := v.Planner(p)(f, limits)
		e2e.Must(t, err)
		for _, interlaced := range []bool{false, true} {
			all := plan.Frame(interlaced, src, dst, DeviceMemory{})
			rows := 501
			if interlaced {
				rows = 251
			}
			for _, l := range all {
				width, height := v.Tile[0], v.Tile[1]
				covers := l.Grid[0]*width >= 1000 && (l.Grid[0]-1)*width < 1000 && l.Grid[1]*height >= rows-1 && (l.Grid[1]-1)*height < rows
				if v.Form != recursiveForm && !covers {
					t.Errorf("%s: grid %v of %d x %d pixels", v.Name, l.Grid, width, height)
				}
				if l.Shared > limits.SharedBlock {
					t.Errorf("%s: %d bytes of shared memory, where the smallest device has %d", v.Name, l.Shared, limits.SharedBlock)
				}
				if l.Block[0]*l.Block[1] > 1024 || l.ArgsSize > 4096 {
					t.Errorf("%s: block %v, %d bytes of parameters", v.Name, l.Block, l.ArgsSize)
				}
			}
			if v.Form == recursiveForm {
				continue
			}
			if n := len(all); n != 1 && !interlaced || n != 2 && interlaced {
				t.Fatalf("%s, interlaced %v: %d launches", v.Name, interlaced, n)
			}
			if interlaced {
				first, second := *(*[6]uint64)(all[0].Args), *(*[6]uint64)(all[1].Args)
				if want := [6]uint64{src.Addr[0] + 1024, src.Addr[1] + 512, src.Addr[2] + 512, dst.Addr[0] + 1024, dst.Addr[1] + 512, dst.Addr[2] + 512}; second != want {
					t.Errorf("%s: the second field is at %x, not %x (the first at %x)", v.Name, second, want, first)
				}
			}
		}
	}
}

// TestPlanRefuses: a variant refuses options that it does not support.
func TestPlanRefuses(t *testing.T) {
	v, err := Named("tile_lorentzian_r3")
	e2e.Must(t, err)
	good := pipeline.Format{Layout: pipeline.NV12, Width: 8, Height: 8, Matrix: pipeline.BT709}
	p := DefaultBilateral(3)
	if _, err := v.Planner(p)(good, limitsOf(61)); err != nil {
		t.Error(err)
	}
	for _, change := range []func(*Bilateral){
		func(p *Bilateral) { p.Radius = 4 }, func(p *Bilateral) { p.Range = Gaussian }, func(p *Bilateral) { p.SigmaR = 0 },
	} {
		q := p
		change(&q)
		if _, err := v.Planner(q)(good, limitsOf(61)); err == nil {
			t.Errorf("%s took %+v", v.Name, q)
		}
	}
	if _, err := v.Planner(p)(pipeline.Format{Layout: pipeline.NV12, Width: 8, Height: 8}, limitsOf(61)); err == nil {
		t.Error("a format without a matrix was taken")
	}
	if _, err := v.Planner(p)(good, limitsOf(52)); err == nil {
		t.Error("a device that is too old was taken")
	}
	if _, err := Named("none"); err == nil {
		t.Error("there is a kernel named none")
	}
}
