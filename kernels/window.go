package kernels

// #include "cuda/args.h"
import "C"

import (
	"math"
	"unsafe"

	"vidfilter/pipeline"
)

// The bilateral forms: one launch for each field, described by vf_args.

// windowWork is Form.Work of a form that filters a tile in each block. tap computes the constants
// of a tap, shared the size of a block's shared memory.
func windowWork(tap func(p Bilateral, gs float64) (a, b float64), shared func(v Variant, radius int) int) func(Variant, Stage, pipeline.Format, Limits) (Work, error) {
	return WorkOf(func(v Variant, p Bilateral, f pipeline.Format, _ Limits) (Work, error) {
		frame, err := frameArgs(p, f)
		if err != nil {
			return Work{}, err
		}
		tap := tap
		if v.deep() {
			tap = plainTap // its weights are of floats
		}
		fillWeights(frame, p.inLevels(f.Layout.Info().Depth), tap)
		return Work{Launches: func(field Field, _ DeviceMemory) []Launch {
			args := *frame
			place(&args, f, field)
			return []Launch{{
				Grid:  [2]int{Blocks(field.Width, v.Tile[0]), Blocks(field.Height, v.Tile[1])},
				Block: v.Threads, Shared: shared(v, p.Radius), Args: unsafe.Pointer(&args), ArgsSize: unsafe.Sizeof(args),
			}}
		}}, nil
	})
}

func ownShared(v Variant, _ int) int { return v.Shared }

// frameArgs sets the arguments that depend on neither addresses nor weights.
func frameArgs(p Bilateral, f pipeline.Format) (*C.vf_args, error) {
	t, err := newTransform(f)
	if err != nil {
		return nil, err
	}
	a := new(C.vf_args)
	sx, sy := f.ChromaShift()
	a.layout, a.sub_x, a.sub_y = C.int32_t(f.Layout), C.int32_t(sx), C.int32_t(sy)
	a.radius, a.border = C.int32_t(p.Radius), C.int32_t(p.Border)
	fillDeviceColour(&a.color, t)
	return a, nil
}

// fillDeviceColour is fillColour with changes of samples of 0 to 1, at any depth.
func fillDeviceColour(c *C.vf_color, t transform) {
	fillColour(c, t)
	for k := range c.y {
		c.y[k] /= C.float(t.most)
		c.u[k] /= C.float(t.most)
		c.v[k] /= C.float(t.most)
	}
}

// place sets the addresses, pitches and sizes of a field.
func place(a *C.vf_args, f pipeline.Format, field Field) {
	a.width, a.height = C.int32_t(field.Width), C.int32_t(field.Height)
	a.chroma_read, a.chroma_write = C.int32_t(field.ChromaRead), C.int32_t(field.ChromaWrite)
	var all uint64
	for i := range field.planes(f) {
		from, to, fromPitch, toPitch := field.Src.Addr[i], field.Dst.Addr[i], field.Src.Pitch[i], field.Dst.Pitch[i]
		a.src[i], a.dst[i] = C.uint64_t(from), C.uint64_t(to)
		a.src_pitch[i], a.dst_pitch[i] = C.int32_t(fromPitch), C.int32_t(toPitch)
		all |= from | to | uint64(fromPitch) | uint64(toPitch)
	}
	if all%16 == 0 {
		a.aligned = 1
	}
}

// fillWeights sets the constants of the weights.
func fillWeights(a *C.vf_args, p Bilateral, tap func(p Bilateral, gs float64) (a, b float64)) {
	spatial := SpatialWeights(p)
	for dy := range p.Radius + 1 {
		a.axis[dy] = C.float(axisWeight(p, spatial[p.Radius][p.Radius+dy]))
		for dx := range p.Radius + 1 {
			c0, c1 := tap(p, spatial[p.Radius+dy][p.Radius+dx])
			a.tap[dy][dx] = [2]C.float{C.float(clampFloat(c0)), C.float(clampFloat(c1))}
		}
	}
	a.two_var = C.float(max(clampFloat(twice(p.SigmaR)), 0x1p-100)) // kernels divide by it
	a.gauss = C.float(clampFloat(64 * math.Log2E / twice(p.SigmaR)))
}

// axisWeight returns the tensor form's constant for the spatial weight gs along one axis.
func axisWeight(p Bilateral, gs float64) float64 {
	if p.Range == Gaussian {
		return max(math.Log2(gs), -100)
	}
	return gs
}

// clampFloat limits x to values that float32 can hold and kernels can multiply. No result changes:
// weights that small vanish beside the pixel's own.
func clampFloat(x float64) float64 { return min(max(x, -0x1p110), 0x1p110) }

// weightExponent is the power of 2 by which the forms that read integers as denormal floats scale
// their weights: a sum of up to 961 of them fits a float32, and so does a weight times a byte read
// as a float.
const weightExponent = 110

// plainTap returns the constants a and b of a tap with the spatial weight gs; see vf_args.tap.
func plainTap(p Bilateral, gs float64) (a, b float64) {
	if p.Range == Gaussian {
		return -math.Log2E / twice(p.SigmaR), max(math.Log2(gs), -1e6)
	}
	gs = max(gs, 0x1p-90)
	return 1 / (twice(p.SigmaR) * gs), 1 / gs
}

// scaledTap is plainTap with weights scaled by weightExponent. Where R is Lorentzian and D^2 is an
// integer read as a float, a compensates for its 2^-149.
func scaledTap(p Bilateral, gs float64) (a, b float64) {
	a, b = plainTap(p, gs)
	if p.Range == Gaussian {
		return a, b + weightExponent
	}
	return math.Ldexp(a, 149-weightExponent), math.Ldexp(b, -weightExponent)
}
