package kernels

// #include "cpu.h"
import "C"

import (
	"context"
	"math"
	"runtime"
	"unsafe"

	"vidfilter/pipeline"
)

// cpuRecursive is the recursive filter on the CPU: in each iteration all rows, then all columns.
// Between passes a picture takes 6 bytes a pixel.
type cpuRecursive struct {
	cpu    *CPU
	params Recursive
	format pipeline.Format // that the other fields belong to

	jobs    *[2]C.vf_job  // one per field
	passes  *[2]C.vf_pass // one per field, for the sigma of one iteration
	between [2][]C.uint16_t
	lanes   [][]C.float // one per worker
	pinner  runtime.Pinner
}

func newCPURecursive(c *CPU, p Recursive) *cpuRecursive {
	return &cpuRecursive{cpu: c, params: p, jobs: new([2]C.vf_job), passes: new([2]C.vf_pass)}
}

func (f *cpuRecursive) run(ctx context.Context, out, in *pipeline.Frame) error {
	if f.format != in.Format {
		if err := f.configure(in.Format); err != nil {
			return err
		}
	}
	n := f.point(out, in)
	defer f.unpoint()
	sigmas, isa := f.params.sigmas(), C.int(f.cpu.isa)
	for i, sigma := range sigmas {
		for k := range n {
			fillPass(&f.passes[k], f.params, sigma)
		}
		f.pass(ctx, n, rowUnits, func(job *C.vf_job, pass *C.vf_pass, scratch, lanes unsafe.Pointer, at int) {
			C.vf_rows(isa, job, pass, scratch, lanes, C.int(at*C.VF_STRIP), flag(i == 0))
		})
		f.pass(ctx, n, columnUnits, func(job *C.vf_job, pass *C.vf_pass, scratch, lanes unsafe.Pointer, at int) {
			C.vf_columns(isa, job, pass, scratch, lanes, C.int(at*C.VF_UNIT), flag(i == len(sigmas)-1))
		})
	}
	return context.Cause(ctx)
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

func rowUnits(j *C.vf_job) int    { return padded(int(j.height)) / C.VF_STRIP }
func columnUnits(j *C.vf_job) int { return (int(j.width) + C.VF_UNIT - 1) / C.VF_UNIT }

// padded rounds a number of rows or columns up to whole strips.
func padded(n int) int { return (n + C.VF_STRIP - 1) / C.VF_STRIP * C.VF_STRIP }

// pass runs do for the units of n fields, until the context ends.
func (f *cpuRecursive) pass(ctx context.Context, n int, units func(*C.vf_job) int,
	do func(job *C.vf_job, pass *C.vf_pass, scratch, lanes unsafe.Pointer, at int)) {
	first, total := units(&f.jobs[0]), 0
	for k := range n {
		total += units(&f.jobs[k])
	}
	f.cpu.each(ctx, total, func(worker, at int) {
		k := 0
		if at >= first {
			k, at = 1, at-first
		}
		do(&f.jobs[k], &f.passes[k], f.cpu.scratch[worker], unsafe.Pointer(&f.lanes[worker][0]), at)
	})
}

// configure sets up the format's constants, and memory for both fields of an interlaced frame,
// which need no more than a progressive one.
func (f *cpuRecursive) configure(format pipeline.Format) error {
	t, err := newTransform(format)
	if err != nil {
		return err
	}
	for k := range f.jobs {
		fillJob(&f.jobs[k], format, Bilateral{SigmaS: 1, SigmaR: 1, Border: Clamp}, t)
		f.jobs[k].scale = 1
	}
	f.format, f.between = format, [2][]C.uint16_t{}
	size := C.vf_lanes_size(C.int(format.Width), C.int(format.Height)) / C.sizeof_float
	f.lanes = make([][]C.float, f.cpu.threads)
	for k := range f.lanes {
		f.lanes[k] = make([]C.float, size)
	}
	return nil
}

// point points the jobs at two frames and returns the number of fields.
func (f *cpuRecursive) point(out, in *pipeline.Frame) int {
	from, n := fieldsOf(in, in.Interlaced)
	to, _ := fieldsOf(out, in.Interlaced)
	for k := range n {
		pointJob(&f.jobs[k], to[k], from[k], &f.pinner)
		strip := padded(from[k].height) * 3 * C.VF_STRIP
		if size := strip * padded(from[k].width) / C.VF_STRIP; len(f.between[k]) < size {
			f.between[k] = make([]C.uint16_t, size)
		}
		f.pinner.Pin(&f.between[k][0])
		f.passes[k].between, f.passes[k].strip = &f.between[k][0], C.ptrdiff_t(strip)
	}
	return n
}

func (f *cpuRecursive) unpoint() {
	f.pinner.Unpin()
	unpointJobs(f.jobs)
	for k := range f.passes {
		f.passes[k].between = nil
	}
}

// fillPass sets the constants of a pass; see vf_pass. Distances beyond 40 halvings of the slower
// pole are as good as infinite.
func fillPass(p *C.vf_pass, params Recursive, sigma float64) {
	r := newRecursion(params, sigma)
	p.slope = C.float(r.Slope / (C.VF_STEPS * C.VF_STEPS))
	slowest := math.Inf(1)
	for i := range r.Rate {
		power := real(r.Rate[i]) * math.Log2E
		slowest = min(slowest, -power)
		p.power[i], p.turn[i] = C.float(power), C.float(imag(r.Rate[i])/(2*math.Pi))
		p.drive[i] = [2]C.float{C.float(real(r.Drive[i])), C.float(imag(r.Drive[i]))}
	}
	p.most = C.float(40 / slowest)
}
