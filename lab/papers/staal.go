package papers

// #include "cuda/paper_args.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"math"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// staalForm is Staal (004): cuda/staal.cu.
var staalForm = &kernels.Form{Name: "staal", Filter: kernels.Bilateral{}.Filter(), Layouts: rgba, Variants: staalVariants, Work: kernels.WorkOf(staalWork)}

// The versions of the paper that change more than the kernel's code.
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

func staalVariants() (list []kernels.Variant) {
	for i, s := range staalVersions {
		n := i + 1
		list = append(list, kernels.Variant{
			Name: fmt.Sprintf("staal_v%d_%s", n, s.name), Radii: [2]int{0, kernels.MaxRadius},
			Range: kernels.Gaussian, Compute: 61, Threads: s.threads,
			Defines: []string{kernels.Define("VERSION", n), kernels.Define("THREADS", s.threads[0]*s.threads[1]), kernels.DefineRange(kernels.Gaussian)},
			Details: Details{Paper: "004", Version: fmt.Sprint(n), Title: s.title, Semantics: Semantics{Channel, Reflect}},
		})
	}
	return list
}

// staalVersion is the number of a variant's version, 1 to 8.
func staalVersion(v kernels.Variant) int { return int(Of(v).Version[0] - '0') }

// mostTexels is the largest linear texture, in texels, that every GPU supports.
const mostTexels = 1 << 27

// staalWork is the paper's kernel, launched once or once for each channel, between the passes that
// convert to and from floats. A hosted picture needs no such passes.
func staalWork(v kernels.Variant, p kernels.Bilateral, f pipeline.Format, _ kernels.Limits) (kernels.Work, error) {
	s := staalLayout{version: staalVersion(v), format: f, hosted: len(Of(v).hosted)}
	if err := s.check(v, p); err != nil {
		return kernels.Work{}, err
	}
	w := kernels.Work{
		Table:   append(Of(v).hosted[:s.hosted:s.hosted], staalMapOf(s.version, p)...),
		Scratch: 2 * s.picture(),
		Launches: launches(newArgs(p), func(field kernels.Field) []pass {
			return s.passes(v, p, field)
		}),
	}
	if n := s.textures(); n > 0 {
		w.Prepare = func(m kernels.DeviceMemory) ([]uint64, func(), error) {
			return newTextures(s.pictureIn(m), n, 4*s.plane(), s.textureSize())
		}
	}
	return w, nil
}

// staalLayout is the memory layout of a picture's floats.
type staalLayout struct {
	version int
	format  pipeline.Format
	hosted  int // bytes of the picture in the table
}

// check rejects pictures too small for the kernels' mirror or too large for a texture.
func (s staalLayout) check(v kernels.Variant, p kernels.Bilateral) error {
	if s.format.Width <= p.Radius || s.format.Height/2 <= p.Radius {
		return fmt.Errorf("papers: %s mirrors once at each edge, so that a field must be larger than the radius: not %dx%d at radius %d",
			v.Name, s.format.Width, s.format.Height/2, p.Radius)
	}
	if n := s.textureSize() / 4; s.textures() > 0 && n > mostTexels {
		return fmt.Errorf("papers: %s reads the picture as a texture of at most %d floats: %dx%d has %d", v.Name, mostTexels, s.format.Width, s.format.Height, n)
	}
	return nil
}

// split reports whether a picture is three planes.
func (s staalLayout) split() bool { return s.version == staalSplit || s.version == staalChannel }

func (s staalLayout) textures() int {
	switch {
	case s.version < staalTexture:
		return 0
	case s.split():
		return 3
	}
	return 1
}

func (s staalLayout) textureSize() int {
	if s.split() {
		return 4 * s.format.Width * s.format.Height
	}
	return 3 * 4 * s.format.Width * s.format.Height
}

// plane is the distance between channels in floats, rounded up so that a texture may begin there.
func (s staalLayout) plane() int {
	return kernels.Blocks(s.format.Width*s.format.Height, kernels.MemoryAlign/4) * kernels.MemoryAlign / 4
}

// picture is the size of a picture's floats in bytes.
func (s staalLayout) picture() int { return 3 * 4 * s.plane() }

// pictureIn returns the address of the picture's floats.
func (s staalLayout) pictureIn(m kernels.DeviceMemory) uint64 {
	if s.hosted > 0 {
		return m.Table
	}
	return m.Scratch
}

func (s staalLayout) passes(v kernels.Variant, p kernels.Bilateral, f kernels.Field) []pass {
	one := pass{grid: [2]int{kernels.Blocks(f.Width*f.Height, v.Threads[0]), 1}, block: v.Threads}
	if s.version == staalBlocks {
		one.grid = [2]int{kernels.Blocks(f.Width, v.Threads[0]), kernels.Blocks(f.Height, v.Threads[1])}
	}
	all := numbered(one, one, one)
	if s.version == staalChannel {
		all = numbered(one, one, one, one, one)
	}
	for i := range all {
		all[i].set = func(a *args, m kernels.DeviceMemory) { s.fill(a, p, m, i) }
	}
	if s.hosted > 0 {
		return all[1 : len(all)-1]
	}
	return all
}

func (s staalLayout) fill(a *args, p kernels.Bilateral, m kernels.DeviceMemory, pass int) {
	sigmaR := staalSigma(p.SigmaR) / 255
	variance := sigmaR * sigmaR
	a.sigma_s, a.sigma_r = C.float(staalSigma(p.SigmaS)), C.float(sigmaR)
	a.variance, a.sqrt_pi_variance = C.float(variance), C.float(math.Sqrt(2*math.Pi*variance))
	a.picture, a.table, a.scratch = C.uint64_t(s.pictureIn(m)), C.uint64_t(m.Table)+C.uint64_t(s.hosted), C.uint64_t(m.Scratch)
	a.plane = C.int32_t(s.plane())
	for i, t := range m.Handles {
		a.texture[i] = C.uint64_t(t)
	}
	if s.version == staalChannel && pass >= 1 && pass <= 3 { // each launch reads one texture
		a.texture[0] = a.texture[pass-1]
	}
}

// staalMapOf is the paper's map of the spatial weights, rows of floats.
func staalMapOf(version int, p kernels.Bilateral) (table []byte) {
	if version < staalMap {
		return nil
	}
	sigma := staalSigma(p.SigmaS)
	for dy := -p.Radius; dy <= p.Radius; dy++ {
		for dx := -p.Radius; dx <= p.Radius; dx++ {
			g := math.Exp(-float64(dx*dx+dy*dy)/(2*sigma*sigma)) / (2 * math.Pi * sigma * sigma)
			table = appendFloat(table, g)
		}
	}
	return table
}

func appendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(x)))
}

// staalSigma clamps a sigma so that its square and the quotients by it are finite floats. This
// changes no result: at smaller sigmas only the centre pixel counts, at larger ones all count
// alike.
func staalSigma(sigma float64) float64 { return min(max(sigma, 0.01), 1e6) }

// floats returns the picture in the layout of a version's kernel.
func floats(src *pipeline.Frame, version int) []byte {
	s := staalLayout{version: version, format: src.Format}
	all := make([]byte, s.picture())
	for y := range src.Height {
		row := src.Row(0, y)
		for x := range src.Width {
			for c := range 3 {
				at := 3*(y*src.Width+x) + c
				if s.split() {
					at = c*s.plane() + y*src.Width + x
				}
				binary.LittleEndian.PutUint32(all[4*at:], math.Float32bits(float32(row[4*x+c])/255))
			}
		}
	}
	return all
}
