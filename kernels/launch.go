package kernels

// #include "cuda/args.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"vidfilter/pipeline"
)

// DevicePlanes says where the planes of a frame lie in a device's memory: the address of the first sample of each, and
// from one row to the next in bytes. Kernels are fastest where all of these divide by 16.
type DevicePlanes struct {
	Addr  [3]uint64
	Pitch [3]int
}

// Launch is one run of a kernel: sizes of grid and block, dynamic shared memory in bytes, and its only parameter, a struct of
// ArgsSize bytes, passed by value, that holds no Go pointers.
type Launch struct {
	Grid, Block [3]int
	Shared      int
	Args        unsafe.Pointer
	ArgsSize    uintptr
	Around      bool // brings the picture to the form that the paper's kernel takes, or back: its authors did not time that
}

// Plan is what the launches of one variant have in common for frames of one format; making one takes longer than a small frame.
type Plan struct {
	variant Variant
	lab     labForm // of the papers' kernels
	isLab   bool    // is one
	params  Params
	format  pipeline.Format
	args    C.vf_args // without the addresses
}

// Plan returns the plan for frames of a format.
func (v Variant) Plan(p Params, f pipeline.Format) (*Plan, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	switch {
	case !v.does(p):
		return nil, v.refuses(p)
	case v.FromPaper() && f.Layout != pipeline.RGBA:
		return nil, fmt.Errorf("kernels: %s filters RGBA, not %s", v.Name, f.Layout)
	}
	t, err := newTransform(f)
	if err != nil {
		return nil, err
	}
	if p.Filter == Recursive { // has no window, and beyond its ends a line stays as it is
		p.Radius, p.Border = 0, Clamp
	}
	plan := &Plan{variant: v, params: p, format: f}
	plan.lab, plan.isLab = v.Form.lab()
	if plan.lab.fits != nil {
		if err := plan.lab.fits(v, p, f); err != nil {
			return nil, err
		}
	}
	v.fill(&plan.args, p, f, t)
	return plan, nil
}

// Launches returns the runs that filter one frame from src to dst, which do not overlap, to be made in this order on one stream: one for
// each field, or as many as the variant has passes.
func (p *Plan) Launches(interlaced bool, src, dst DevicePlanes, memory DeviceMemory) (all []Launch) {
	rows, n := rowsOf(p.format, interlaced)
	for _, field := range rows[:n] {
		args := p.args
		place(&args, p.format, field, p.params.Radius, src, dst)
		for i, pass := range p.passes(field.height) {
			l := Launch{
				Grid: [3]int{pass.grid[0], pass.grid[1], 1}, Block: [3]int{pass.block[0], pass.block[1], 1}, Shared: pass.shared, Around: pass.around,
				Args: unsafe.Pointer(&args), ArgsSize: unsafe.Sizeof(args),
			}
			if p.isLab {
				l.Args, l.ArgsSize = p.labArgs(args, memory, i, pass.recursion)
			}
			all = append(all, l)
		}
	}
	return all
}

// passes returns the launches for a field of so many rows.
func (p *Plan) passes(height int) []pass {
	if p.lab.passes != nil {
		return p.lab.passes(p.variant, p.params, p.format.Width, height)
	}
	across, down, shared := p.variant.tile(p.params)
	return []pass{{grid: [2]int{blocks(p.format.Width, across), blocks(height, down)}, block: p.variant.threads, shared: shared}}
}

// does is takes without the device.
func (v Variant) does(p Params) bool {
	if v.Filter != Bilateral || p.Filter != Bilateral {
		return v.Filter == p.Filter
	}
	if v.Form == Tensor && (p.SigmaR < leastTensorSigma || p.SigmaR > mostTensorSigma) {
		return false
	}
	return v.TakesRadius(p.Radius) && v.Range == p.Range && v.Distance == p.Distance && (!v.FromPaper() || v.Border == p.Border)
}

// Beyond these sigma_r, halves hold the weights no longer, which fall too fast or too slowly.
const leastTensorSigma, mostTensorSigma = 4, 400

// refuses is the error of a variant that does not do p.
func (v Variant) refuses(p Params) error {
	if v.Filter != p.Filter {
		return fmt.Errorf("kernels: %s does not do the %s filter", v.Name, p.Filter)
	}
	return fmt.Errorf("kernels: %s does %s, not radius %d, sigma-r %g, %s, %s, border %s", v.Name, v.Does(), p.Radius, p.SigmaR, p.Range, p.Distance, p.Border)
}

func blocks(n, tile int) int { return (n + tile - 1) / tile }

// fill sets what does not depend on where the frame lies.
func (v Variant) fill(a *C.vf_args, p Params, f pipeline.Format, t transform) {
	sx, sy := f.ChromaShift()
	a.layout, a.sub_x, a.sub_y = C.int32_t(f.Layout), C.int32_t(sx), C.int32_t(sy)
	a.radius, a.border = C.int32_t(p.Radius), C.int32_t(p.Border)
	if p.Filter == Bilateral {
		v.fillWeights(a, p)
	}
	fillDeviceColour(&a.color, t)
}

// fillDeviceColour is the CPU's, but for colours of 0 to 1 on the way in.
func fillDeviceColour(c *C.vf_color, t transform) {
	fillColour(c, t)
	for _, x := range []*C.float{&c.y_gain, &c.r_v, &c.g_u, &c.g_v, &c.b_u, &c.r_0, &c.g_0, &c.b_0} {
		*x /= 255
	}
}

// place tells where one field lies.
func place(a *C.vf_args, f pipeline.Format, rows fieldRows, radius int, src, dst DevicePlanes) {
	a.width, a.height = C.int32_t(f.Width), C.int32_t(rows.height)
	a.chroma_read, a.chroma_write = C.int32_t(rows.chromaRead), C.int32_t(rows.chromaWrite)
	var all uint64
	for i := range f.NumPlanes() {
		skip := uint64(rows.first[i])
		from, to := src.Addr[i]+skip*uint64(src.Pitch[i]), dst.Addr[i]+skip*uint64(dst.Pitch[i])
		a.src[i], a.dst[i] = C.uint64_t(from), C.uint64_t(to)
		a.src_pitch[i], a.dst_pitch[i] = C.int32_t(src.Pitch[i]*rows.step), C.int32_t(dst.Pitch[i]*rows.step)
		all |= from | to | uint64(src.Pitch[i]) | uint64(dst.Pitch[i])
	}
	if all%16 == 0 {
		a.aligned = 1
	}
	for i := range a.inner {
		sx, sy := 0, 0
		if i > 0 {
			sx, sy = f.ChromaShift()
		}
		x0, y0, x1, y1 := keptOutside(f.Width, rows.height, radius, sx, sy)
		a.inner[i] = [4]C.int32_t{C.int32_t(x0), C.int32_t(y0), C.int32_t(x1), C.int32_t(y1)}
	}
}

// fillWeights sets the constants of the weights.
func (v Variant) fillWeights(a *C.vf_args, p Params) {
	spatial := spatialWeights(p)
	for dy := range p.Radius + 1 {
		a.axis[dy] = C.float(axisWeight(p, spatial[p.Radius][p.Radius+dy]))
		for dx := range p.Radius + 1 {
			c0, c1 := v.tapWeight(p, spatial[p.Radius+dy][p.Radius+dx])
			a.tap[dy][dx] = [2]C.float{C.float(clampFloat(c0)), C.float(clampFloat(c1))}
		}
	}
	a.two_var = C.float(max(clampFloat(twice(p.SigmaR)), 0x1p-100)) // kernels divide by it
	a.gauss = C.float(clampFloat(64 * math.Log2E / twice(p.SigmaR)))
}

// axisWeight returns what the tensor form takes for the spatial weight gs along one axis.
func axisWeight(p Params, gs float64) float64 {
	if p.Range == Gaussian {
		return max(math.Log2(gs), -100)
	}
	return gs
}

// clampFloat keeps what float32 could not hold, nor a kernel multiply. No result changes: a weight that small is
// none, beside the one of the pixel itself.
func clampFloat(x float64) float64 { return min(max(x, -0x1p110), 0x1p110) }

// weightExponent is the power of 2 by which the forms that read integers as denormal floats scale their weights: a sum of up to 961 of
// them fits a float32, and so does a weight times a byte that is read as a float.
const weightExponent = 110

// tapWeight returns the constants a and b of a tap with the spatial weight gs; see vf_args.tap. Where R is Lorentzian and D^2 is an
// integer read as a float, a makes up for its 2^-149.
func (v Variant) tapWeight(p Params, gs float64) (a, b float64) {
	if v.FromPaper() {
		return gs, 0 // R is worked out apart
	}
	scaled := v.Form != General
	if p.Range == Gaussian {
		b = max(math.Log2(gs), -1e6)
		if scaled {
			b += weightExponent
		}
		return -math.Log2E / twice(p.SigmaR), b
	}
	gs = max(gs, 0x1p-90)
	a, b = 1/(twice(p.SigmaR)*gs), 1/gs
	if scaled {
		a, b = math.Ldexp(a, 149-weightExponent), math.Ldexp(b, -weightExponent)
	}
	return a, b
}
