package papers

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

func named(t *testing.T, name string) kernels.Variant {
	t.Helper()
	v, err := Library.Named(name)
	e2e.Must(t, err)
	return v
}

func rgbaOf(width, height int) pipeline.Format {
	return pipeline.Format{Layout: pipeline.RGBA, Width: width, Height: height, Matrix: pipeline.BT709}
}

var limits = kernels.Limits{Compute: 90, Multiprocessors: 16, SharedBlock: 227 << 10, SharedMultiprocessor: 228 << 10}

// TestStaalLaunches: the paper's kernel runs once (version 7: once a channel, with that channel's
// texture) between the passes that convert to and from floats, which a hosted picture leaves out.
// Grids cover the picture.
func TestStaalLaunches(t *testing.T) {
	memory := kernels.DeviceMemory{Table: 1024, Scratch: 512, Handles: []uint64{11, 12, 13}}
	src := kerneltest.Frame(rgbaOf(1000, 501))
	for i, v := range staalVariants() {
		v.Form = staalForm
		p := v.Adapt(kernels.DefaultBilateral(kernels.MaxRadius)).(kernels.Bilateral)
		want := 1
		if i == 6 {
			want = 3
		}
		for _, hosted := range []bool{false, true} {
			planner, first := v.Planner(p), 1
			if hosted {
				planner, first = Timed(v, p, src), 0
			}
			plan, err := planner(src.Format, limits)
			e2e.Must(t, err)
			all := plan.Frame(false, kernels.DevicePlanes{}, kernels.DevicePlanes{}, memory)
			if len(all) != want+2*first {
				t.Fatalf("%s, hosted %v: %d launches", v.Name, hosted, len(all))
			}
			for _, l := range all {
				if threads := l.Grid[0] * l.Grid[1] * l.Block[0] * l.Block[1]; threads < 1000*501 || threads > 1100*550 {
					t.Errorf("%s: grid %v of blocks %v", v.Name, l.Grid, l.Block)
				}
			}
			for k, l := range all[first : first+want] {
				a := (*args)(l.Args)
				if i == 6 && uint64(a.texture[0]) != memory.Handles[k] {
					t.Errorf("%s: launch %d has the texture %d", v.Name, k, a.texture[0])
				}
				if picture := uint64(a.picture); picture != map[bool]uint64{false: memory.Scratch, true: memory.Table}[hosted] {
					t.Errorf("%s, hosted %v: the picture is at %d", v.Name, hosted, picture)
				}
			}
			if (plan.Prepare != nil) != (i >= 3) {
				t.Errorf("%s: prepares %v", v.Name, plan.Prepare != nil)
			}
		}
		s := staalLayout{version: i + 1, format: src.Format}
		if n := s.textures(); n != []int{0, 0, 0, 1, 1, 3, 3, 1}[i] {
			t.Errorf("%s: %d textures", v.Name, n)
		}
		if n := s.textures(); n > 0 && (4*s.plane()%kernels.MemoryAlign != 0 || 4*s.plane()*(n-1)+s.textureSize() > s.picture()) {
			t.Errorf("%s: %d textures of %d bytes in a picture of %d", v.Name, n, s.textureSize(), s.picture())
		}
	}
}

// TestStaalTable: from version 2 on the host provides the map, the paper's Gaussian.
func TestStaalTable(t *testing.T) {
	p := named(t, "staal_v1_naive").Adapt(kernels.DefaultBilateral(2)).(kernels.Bilateral)
	p.SigmaS = 1.5
	for i, v := range staalVariants() {
		v.Form = staalForm
		plan, err := v.Planner(p)(rgbaOf(64, 48), limits)
		e2e.Must(t, err)
		table := plan.Table
		if i == 0 {
			if len(table) > 0 {
				t.Errorf("%s has a table", v.Name)
			}
			continue
		}
		at := func(x, y int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(table[4*(5*y+x):])))
		}
		for _, c := range []struct {
			x, y int
			want float64
		}{{2, 2, 1 / (4.5 * math.Pi)}, {0, 2, math.Exp(-4/4.5) / (4.5 * math.Pi)}, {4, 3, math.Exp(-5/4.5) / (4.5 * math.Pi)}} {
			if math.Abs(at(c.x, c.y)/c.want-1) > 1e-6 {
				t.Errorf("%s: the weight at %d, %d is %g, not %g", v.Name, c.x, c.y, at(c.x, c.y), c.want)
			}
		}
	}
}

// TestStaalRefuses: pictures that would need to be mirrored twice are refused, and those too large
// for a texture.
func TestStaalRefuses(t *testing.T) {
	for _, c := range []struct {
		name          string
		radius        int
		width, height int
		why           string // "" if it is accepted
	}{
		{"staal_v1_naive", 3, 4, 8, ""},
		{"staal_v1_naive", 3, 3, 8, "mirrors once"},
		{"staal_v8_blocks2d", 3, 4, 7, "mirrors once"},
		{"staal_v1_naive", 0, 1, 2, ""},
		{"staal_v3_hardware_exp", 1, 8192, 8192, ""},
		{"staal_v5_registers", 1, 8192, 8192, "texture"},
		{"staal_v7_channels", 1, 8192, 8192, ""},
	} {
		v := named(t, c.name)
		_, err := v.Planner(v.Adapt(kernels.DefaultBilateral(c.radius)))(rgbaOf(c.width, c.height), limits)
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), c.name)) {
			t.Errorf("%s at radius %d, %dx%d: %v", c.name, c.radius, c.width, c.height, err)
		}
	}
}

// TestStaalSigmas: the kernels' divisors are never 0 nor infinite.
func TestStaalSigmas(t *testing.T) {
	v := named(t, "staal_v5_registers")
	for _, sigma := range []float64{math.SmallestNonzeroFloat64, 1e-3, 20, kernels.MaxSigma} {
		p := v.Adapt(kernels.DefaultBilateral(1)).(kernels.Bilateral)
		p.SigmaS, p.SigmaR = sigma, sigma
		plan, err := v.Planner(p)(rgbaOf(64, 48), limits)
		e2e.Must(t, err)
		a := (*args)(plan.Frame(false, kernels.DevicePlanes{}, kernels.DevicePlanes{}, kernels.DeviceMemory{})[1].Args)
		for _, x := range []float32{float32(a.sigma_s), float32(a.sigma_r), float32(a.variance), float32(a.sqrt_pi_variance)} {
			if !(x > 0) || x*x > 1e15 || x*x == 0 {
				t.Errorf("sigma %g: the kernel gets %g", sigma, x)
			}
		}
	}
}
