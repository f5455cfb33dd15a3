package lab

import (
	"fmt"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// System renders videos by one system of the papers, or by one kernel of the program.
type System interface {
	Name() string
	Does() string
	OnGPU() bool
	Threads() int // the most on the CPU; 0 is any number
	// Adapt returns p with the system's range weight, distance and other fixed options.
	Adapt(p kernels.Params) kernels.Params
	Refuses(p kernels.Params) error // the reason it does not support p, or nil

	// Open returns a backend with the system's filters, for frames of any format. threads is for
	// the CPU, 0 as many as the system can use. tell is called when frames have to be converted.
	Open(devices gpu.Options, threads int, tell func(format string, args ...any)) (kernels.Backend, error)
}

// SystemNamed returns the system of a name: the papers' (Names), or a kernel of the program.
func SystemNamed(name string) (System, error) {
	if v, err := papers.NamedCPU(name); err == nil {
		return cpuSystem{v}, nil
	}
	if v, err := papers.Library.Named(name); err == nil {
		return gpuSystem{v}, nil
	}
	v, err := kernels.Named(name)
	return gpuSystem{v}, err
}

type cpuSystem struct{ papers.CPUVariant }

func (s cpuSystem) Name() string { return s.CPUVariant.Name }
func (s cpuSystem) OnGPU() bool  { return false }
func (s cpuSystem) Threads() int { return s.CPUVariant.Threads }

func (s cpuSystem) Open(_ gpu.Options, most int, tell func(string, ...any)) (kernels.Backend, error) {
	threads, err := s.ThreadsFor(most)
	if err != nil {
		return nil, err
	}
	cpu, err := kernels.NewCPU(1, "") // for its memory
	if err != nil {
		return nil, err
	}
	unit := "threads"
	if threads == 1 {
		unit = "thread"
	}
	return &rendering{
		Backend: cpu, name: fmt.Sprintf("cpu (%s of %s, %d %s)", s.Name(), s.Paper, threads, unit), system: s.Name(), convert: true, tell: tell,
		filter: func(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
			return s.Filter(p, threads, pool)
		},
	}, nil
}

type gpuSystem struct{ kernels.Variant }

func (s gpuSystem) Name() string { return s.Variant.Name }
func (s gpuSystem) OnGPU() bool  { return true }
func (s gpuSystem) Threads() int { return 0 }

func (s gpuSystem) Open(devices gpu.Options, _ int, tell func(string, ...any)) (kernels.Backend, error) {
	b, err := gpu.Open(devices)
	if err != nil {
		return nil, err
	}
	return &rendering{
		Backend: b, name: fmt.Sprintf("%s by %s", b.Name(), s.Name()), system: s.Name(), convert: s.Form.Layouts != nil, tell: tell,
		filter: func(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
			return b.FilterBy(s.Planner(p), pool), nil
		},
	}, nil
}

// rendering is the backend of a system.
type rendering struct {
	kernels.Backend // where frames lie
	name, system    string
	convert         bool // via RGBA
	tell            func(format string, args ...any)
	filter          func(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error)
	pools           []*pipeline.Pool
}

func (r *rendering) Name() string { return r.name }

// Filter returns a filter by the system.
func (r *rendering) Filter(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if !r.convert {
		return r.filter(p, pool)
	}
	words := pipeline.NewPool(r.Input(), 1)     // never blocks: the filter holds few frames
	filtered := pipeline.NewPool(r, 1+r.Held()) // results are passed on at once
	r.pools = append(r.pools, words, filtered)
	f, err := r.filter(p, filtered)
	if err != nil {
		return nil, err
	}
	return papers.InRGBA(f, words, pool, func(from pipeline.Format) {
		r.tell("%s filters RGBA: frames are converted from %s and back", r.system, from.Layout)
	}), nil
}

// Close frees the system's resources.
func (r *rendering) Close() error {
	for _, p := range r.pools {
		p.Close()
	}
	r.pools = nil
	return r.Backend.Close()
}
