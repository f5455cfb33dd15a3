package kernels

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"vidfilter/pipeline"
)

func staalNamed(t *testing.T, name string) Variant {
	t.Helper()
	v, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func rgba(width, height int) pipeline.Format {
	return pipeline.Format{Layout: pipeline.RGBA, Width: width, Height: height, Matrix: pipeline.BT709}
}

// TestStaalLaunches: the paper's kernel runs once, version 7 once a channel with the texture of that, and its grids cover the picture.
func TestStaalLaunches(t *testing.T) {
	memory := DeviceMemory{Table: 1, Scratch: 512, Textures: [3]uint64{11, 12, 13}}
	for i, v := range staalVariants() {
		plan, err := v.Plan(paramsFor(v), rgba(1000, 501))
		if err != nil {
			t.Fatal(err)
		}
		all, kernels := plan.Launches(false, DevicePlanes{}, DevicePlanes{}, memory), 0
		for _, l := range all {
			if threads := l.Grid[0] * l.Grid[1] * l.Block[0] * l.Block[1]; threads < 1000*501 || threads > 1100*550 {
				t.Errorf("%s: grid %v of blocks %v", v.Name, l.Grid, l.Block)
			}
			if l.Around {
				continue
			}
			if first := textureOf(l); i == 6 && first != memory.Textures[kernels] {
				t.Errorf("%s: launch %d has the texture %d", v.Name, kernels, first)
			}
			kernels++
		}
		want := 1
		if i == 6 {
			want = 3
		}
		if kernels != want || !all[0].Around || !all[len(all)-1].Around {
			t.Errorf("%s: %d launches of the kernel, %d in all", v.Name, kernels, len(all))
		}
		if n := len(plan.Textures()); n != []int{0, 0, 0, 1, 1, 3, 3, 1}[i] {
			t.Errorf("%s: %d textures", v.Name, n)
		}
		for _, x := range plan.Textures() {
			if x.Offset%TextureAlign != 0 || x.Offset+x.Size > plan.Scratch()/2 {
				t.Errorf("%s: texture %+v of a picture of %d bytes", v.Name, x, plan.Scratch()/2)
			}
		}
	}
}

// textureOf returns the first texture that a launch is told.
func textureOf(l Launch) uint64 { return uint64((*labArgs)(l.Args).texture) }

// TestStaalTable: the map is the paper's Gaussian, which the host gives from version 2 on.
func TestStaalTable(t *testing.T) {
	p := staalNamed(t, "staal_v1_naive").Adapt(DefaultParams(2))
	p.SigmaS = 1.5
	for _, v := range staalVariants() {
		plan, err := v.Plan(p, rgba(64, 48))
		if err != nil {
			t.Fatal(err)
		}
		table := plan.Table()
		if v.Version == "1" {
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

// TestStaalRefuses: pictures that a mirror would have to fold twice, and those that are no texture.
func TestStaalRefuses(t *testing.T) {
	for _, c := range []struct {
		name          string
		radius        int
		width, height int
		why           string // "" where it is taken
	}{
		{"staal_v1_naive", 3, 4, 8, ""},
		{"staal_v1_naive", 3, 3, 8, "mirrors once"},
		{"staal_v8_blocks2d", 3, 4, 7, "mirrors once"},
		{"staal_v1_naive", 0, 1, 2, ""},
		{"staal_v3_hardware_exp", 1, 8192, 8192, ""},
		{"staal_v5_registers", 1, 8192, 8192, "texture"},
		{"staal_v7_channels", 1, 8192, 8192, ""},
	} {
		v := staalNamed(t, c.name)
		_, err := v.Plan(v.Adapt(DefaultParams(c.radius)), rgba(c.width, c.height))
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why) || !strings.Contains(err.Error(), c.name)) {
			t.Errorf("%s at radius %d, %dx%d: %v", c.name, c.radius, c.width, c.height, err)
		}
	}
}

// TestStaalSigmas: what the kernels divide by is never 0 nor infinite.
func TestStaalSigmas(t *testing.T) {
	v := staalNamed(t, "staal_v5_registers")
	for _, sigma := range []float64{math.SmallestNonzeroFloat64, 1e-3, 20, 1e30, math.MaxFloat64} {
		p := v.Adapt(DefaultParams(1))
		p.SigmaS, p.SigmaR = sigma, sigma
		plan, err := v.Plan(p, rgba(64, 48))
		if err != nil {
			t.Fatal(err)
		}
		args := staalArgsOf((*labArgs)(plan.Launches(false, DevicePlanes{}, DevicePlanes{}, DeviceMemory{})[1].Args))
		for _, x := range []float32{float32(args.sigma_s), float32(args.sigma_r), float32(args.variance), float32(args.sqrt_pi_variance)} {
			if !(x > 0) || x*x > 1e15 || x*x == 0 {
				t.Errorf("sigma %g: the kernel gets %+v", sigma, *args)
			}
		}
	}
}
