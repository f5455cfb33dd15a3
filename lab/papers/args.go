package papers

// #include "cuda/paper_args.h"
import "C"

import (
	"math"
	"unsafe"

	"vidfilter/kernels"
)

// args is the parameter of one launch.
type args C.paper_args

// pass is one launch of a form's kernel over a field.
type pass struct {
	number      int // the kernel's pass
	grid, block [2]int
	shared      int                                   // dynamic shared memory in bytes
	set         func(a *args, m kernels.DeviceMemory) // sets further arguments; may be nil
}

func numbered(passes ...pass) []pass {
	for i := range passes {
		passes[i].number = i
	}
	return passes
}

// launches returns Work.Launches for the passes over each field. base has the other arguments.
func launches(base *args, passes func(f kernels.Field) []pass) func(kernels.Field, kernels.DeviceMemory) []kernels.Launch {
	return func(f kernels.Field, m kernels.DeviceMemory) (all []kernels.Launch) {
		for _, pass := range passes(f) {
			a := *base
			a.pass = C.int32_t(pass.number)
			a.place(f, m)
			if pass.set != nil {
				pass.set(&a, m)
			}
			all = append(all, kernels.Launch{
				Grid: pass.grid, Block: pass.block, Shared: pass.shared, Args: unsafe.Pointer(&a), ArgsSize: unsafe.Sizeof(a),
			})
		}
		return all
	}
}

// newArgs returns the arguments of the bilateral filter.
func newArgs(p kernels.Bilateral) *args {
	a := new(args)
	a.radius = C.int32_t(p.Radius)
	twice := max(2*p.SigmaR*p.SigmaR, 1e-300)
	a.two_var = C.float(min(max(twice, 0x1p-100), 0x1p110)) // kernels divide by it
	for dy, row := range kernels.SpatialWeights(p)[p.Radius:] {
		for dx, gs := range row[p.Radius:] {
			a.tap[dy][dx] = C.float(gs)
		}
	}
	for i := range a._range {
		a._range[i] = C.float(math.Exp(-float64(i*i) / twice))
	}
	a.fillLab()
	return a
}

func (a *args) fillLab() {
	linear, xyz := labTables()
	for i, x := range linear {
		a.linear[i] = C.float(x)
	}
	for i, row := range xyz {
		for k, x := range row {
			a.xyz[3*i+k] = C.float(x)
		}
	}
}

// place sets the addresses of a field and of the plan's memory.
func (a *args) place(f kernels.Field, m kernels.DeviceMemory) {
	a.src, a.dst = C.uint64_t(f.Src.Addr[0]), C.uint64_t(f.Dst.Addr[0])
	a.src_pitch, a.dst_pitch = C.int32_t(f.Src.Pitch[0]), C.int32_t(f.Dst.Pitch[0])
	a.width, a.height = C.int32_t(f.Width), C.int32_t(f.Height)
	a.table, a.scratch = C.uint64_t(m.Table), C.uint64_t(m.Scratch)
}
