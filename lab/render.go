package lab

import (
	"fmt"
	"log/slog"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// System renders videos by one system of the papers, or by one kernel of the program.
type System struct{ contender }

// SystemNamed returns the system of a name: the papers' (Names), or a kernel of the program.
func SystemNamed(name string) (System, error) {
	if v, err := papers.NamedCPU(name); err == nil {
		return System{onCPU(v)}, nil
	}
	if v, err := papers.Library.Named(name); err == nil {
		return System{onGPU(v)}, nil
	}
	v, err := kernels.Named(name)
	return System{onGPU(v)}, err
}

// Name returns the variant's name.
func (s System) Name() string { return s.name }

// OnGPU reports whether the system needs a GPU.
func (s System) OnGPU() bool { return s.gpu != nil }

// Threads returns the most threads on the CPU; 0 is any number.
func (s System) Threads() int {
	if s.cpu != nil {
		return s.cpu.Threads
	}
	return 0
}

// Open returns a backend with the system's filters, for frames of any format. threads is for the
// CPU, 0 as many as the system can use. log gets a message when frames have to be converted.
func (s System) Open(devices gpu.Options, threads int, log *slog.Logger) (kernels.Backend, error) {
	r := &rendering{system: s.name, convert: s.cpu != nil || s.gpu.Form.Layouts != nil, log: log}
	if s.cpu != nil {
		return r, r.openCPU(*s.cpu, threads)
	}
	b, err := gpu.Open(devices)
	if err != nil {
		return nil, err
	}
	r.Backend, r.name = b, fmt.Sprintf("%s by %s", b.Name(), s.name)
	r.filter = func(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
		return b.FilterBy(s.gpu.Planner(p), pool), nil
	}
	return r, nil
}

// rendering is the backend of a system.
type rendering struct {
	kernels.Backend // where frames lie
	name, system    string
	convert         bool // via RGBA
	log             *slog.Logger
	filter          func(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error)
	pools           []*pipeline.Pool
}

// openCPU opens the program's CPU backend for its memory.
func (r *rendering) openCPU(v papers.CPUVariant, most int) error {
	threads, err := v.ThreadsFor(most)
	if err != nil {
		return err
	}
	if r.Backend, err = kernels.NewCPU(1, ""); err != nil {
		return err
	}
	unit := "threads"
	if threads == 1 {
		unit = "thread"
	}
	r.name = fmt.Sprintf("cpu (%s of %s, %d %s)", v.Name, v.Paper, threads, unit)
	r.filter = func(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
		return v.Filter(p, threads, pool)
	}
	return nil
}

func (r *rendering) Name() string { return r.name }

// Filter returns a filter by the system.
func (r *rendering) Filter(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if !r.convert {
		return r.filter(p, pool)
	}
	words := pipeline.NewPool(r.Input(), 1)      // never blocks: the filter holds few frames
	filtered := pipeline.NewPool(r, 1+r.Held(p)) // results are passed on at once
	r.pools = append(r.pools, words, filtered)
	f, err := r.filter(p, filtered)
	if err != nil {
		return nil, err
	}
	return papers.InRGBA(f, words, pool, func(from pipeline.Format) {
		r.log.Info(fmt.Sprintf("%s filters RGBA: frames are converted from %s and back", r.system, from.Layout))
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
