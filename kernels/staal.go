package kernels

// #include "cuda/args.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"vidfilter/pipeline"
)

// staalForm is Staal (004): see cuda/staal.cu.
var staalForm = labForm{
	form: Staal, list: staalVariants, fits: staalFits,
	passes: staalPasses, table: staalTable, scratch: staalScratch, textures: staalTextures, fill: staalFill,
}

// The versions of the paper that differ in more than their code.
const (
	staalMap     = 2 // the first with a table
	staalTexture = 4 // the first with a texture
	staalSplit   = 6 // three textures
	staalChannel = 7 // three textures, and a launch for each
	staalBlocks  = 8 // blocks of two dimensions
)

// staalVersions are the names, titles and blocks of figure 4.
var staalVersions = []struct {
	name, title string
	threads     [2]int
}{
	{"naive", "naive float3", [2]int{512, 1}},
	{"map", "precomputed map", [2]int{512, 1}},
	{"hardware_exp", "hardware exp", [2]int{512, 1}},
	{"texture", "texture", [2]int{512, 1}},
	{"registers", "register-lean", [2]int{192, 1}},
	{"split", "split channels", [2]int{256, 1}},
	{"channels", "one thread a channel", [2]int{192, 1}},
	{"blocks2d", "2-D blocks", [2]int{16, 12}},
}

func staalVariants() (list []Variant) {
	for i, s := range staalVersions {
		n := i + 1
		list = append(list, Variant{
			Name: fmt.Sprintf("staal_v%d_%s", n, s.name), Form: Staal, Radius: AnyRadius, Range: Gaussian, Distance: Channel, Border: Reflect, Compute: 61,
			Paper: "004", Version: fmt.Sprint(n), Title: s.title,
			threads: s.threads, flags: []string{define("VERSION", n), define("THREADS", s.threads[0]*s.threads[1]), rangeFlag(Gaussian)},
		})
	}
	return list
}

// staalVersion is the number of a variant's version, 1 to 8.
func staalVersion(v Variant) int { return int(v.Version[0] - '0') }

// mostTexels is how many texels of linear memory a texture has on every GPU.
const mostTexels = 1 << 27

// staalFits refuses what the kernels' mirror does not reach, and pictures that no texture holds.
func staalFits(v Variant, p Params, f pipeline.Format) error {
	if f.Width <= p.Radius || f.Height/2 <= p.Radius {
		return fmt.Errorf("kernels: %s mirrors once at each edge, so that a field must be larger than the radius: not %dx%d at radius %d",
			v.Name, f.Width, f.Height/2, p.Radius)
	}
	for _, t := range staalTextures(v, f) {
		if t.Size/4 > mostTexels {
			return fmt.Errorf("kernels: %s reads the picture as a texture of at most %d floats: %dx%d has %d", v.Name, mostTexels, f.Width, f.Height, t.Size/4)
		}
	}
	return nil
}

// staalPasses are the paper's kernel, once or once for each channel, between the passes that make floats and words.
func staalPasses(v Variant, _ Params, width, height int) []pass {
	one := pass{grid: [2]int{blocks(width*height, v.threads[0]), 1}, block: v.threads}
	if staalVersion(v) == staalBlocks {
		one.grid = [2]int{blocks(width, v.threads[0]), blocks(height, v.threads[1])}
	}
	around := one
	around.around = true
	if staalVersion(v) == staalChannel {
		return []pass{around, one, one, one, around}
	}
	return []pass{around, one, around}
}

// staalTable is the paper's map of the spatial weights, rows of floats.
func staalTable(v Variant, p Params) (table []byte) {
	if staalVersion(v) < staalMap {
		return nil
	}
	sigma := staalSigma(p.SigmaS)
	for dy := -p.Radius; dy <= p.Radius; dy++ {
		for dx := -p.Radius; dx <= p.Radius; dx++ {
			g := math.Exp(-float64(dx*dx+dy*dy)/(2*sigma*sigma)) / (2 * math.Pi * sigma * sigma)
			table = binary.LittleEndian.AppendUint32(table, math.Float32bits(float32(g)))
		}
	}
	return table
}

// staalSigma keeps a sigma where its square and what is divided by that are floats. No result changes: of sigmas as small as that no
// pixel counts but the own one, of such large ones all count alike.
func staalSigma(sigma float64) float64 { return min(max(sigma, 0.01), 1e6) }

// staalPlane is how many floats of scratch memory are from one channel of a picture to the next: rounded up so that a texture may begin
// there.
func staalPlane(f pipeline.Format) int {
	return blocks(f.Width*f.Height, TextureAlign/4) * TextureAlign / 4
}

// staalScratch has room for the picture and the result as floats.
func staalScratch(_ Variant, _ Params, f pipeline.Format) int { return 2 * 3 * 4 * staalPlane(f) }

func staalTextures(v Variant, f pipeline.Format) []Texture {
	size := 4 * f.Width * f.Height
	switch n := staalVersion(v); {
	case n < staalTexture:
		return nil
	case n == staalSplit || n == staalChannel:
		plane := 4 * staalPlane(f)
		return []Texture{{0, size}, {plane, size}, {2 * plane, size}}
	}
	return []Texture{{0, 3 * size}}
}

// staalArgs are the kernels' own among what a launch is told.
type staalArgs = C.vf_staal_args

func staalArgsOf(a *labArgs) *staalArgs {
	var frame C.vf_args
	return (*staalArgs)(unsafe.Add(unsafe.Pointer(a), unsafe.Offsetof(frame.color)+unsafe.Offsetof(frame.color.linear)))
}

func staalFill(a *labArgs, plan *Plan, m DeviceMemory, pass int) {
	sigmaR := staalSigma(plan.params.SigmaR) / 255
	variance := sigmaR * sigmaR
	*staalArgsOf(a) = staalArgs{
		sigma_s: C.float(staalSigma(plan.params.SigmaS)), sigma_r: C.float(sigmaR),
		variance: C.float(variance), sqrt_pi_variance: C.float(math.Sqrt(2 * math.Pi * variance)),
		texture: [2]C.uint64_t{C.uint64_t(m.Textures[1]), C.uint64_t(m.Textures[2])},
		plane:   C.int32_t(staalPlane(plan.format)),
	}
	if staalVersion(plan.variant) == staalChannel && pass >= 1 && pass <= 3 {
		a.texture = C.uint64_t(m.Textures[pass-1])
	}
}
