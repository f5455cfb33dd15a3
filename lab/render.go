package lab

import (
	"context"
	"fmt"
	"log/slog"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	coding "vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// System is one system of the papers, or one kernel of the program.
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

// Filter is the kind of filter that the system does.
func (s System) Filter() *kernels.FilterType { return s.filter() }

// OnGPU reports whether the system needs a GPU.
func (s System) OnGPU() bool { return s.gpu != nil }

// Threads returns the most threads on the CPU; 0 is any number.
func (s System) Threads() int {
	if s.cpu != nil {
		return s.cpu.Threads
	}
	return 0
}

// Rendering is a video or picture to filter by one system.
type Rendering struct {
	System  System
	Params  kernels.Planned
	Threads int   // of a system of the CPU; 0: as many as it can use
	Indexes []int // the GPU to use, at most one; empty: the first usable one

	Input  string
	Output *target.File   // prepared; Render commits it
	Format formats.Format // of the output
	Enter  func() error   // called once the device is open, before the input is read

	Log *slog.Logger
}

// inFlight is the number of frames between two stages.
const inFlight = 2

// Render filters a file and returns the number of its frames. A video keeps its other streams, and
// is encoded by the default codec of its container.
func Render(ctx context.Context, r Rendering) (frames int64, err error) {
	b, filtering, err := r.open()
	if err != nil {
		return 0, err
	}
	defer b.Close()
	if err := r.Enter(); err != nil {
		return 0, err
	}
	decoded, results := pipeline.NewPool(b.Input(), 1), pipeline.NewPool(b, 2*inFlight+b.Held(r.Params))
	defer decoded.Close()
	defer results.Close()
	in, err := decode.Open(ctx, r.Input, decoded, r.DecodeOptions())
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := r.create(in)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	in.OnPacket(out.WritePacket)
	filtered := results
	if r.converts() {
		filtered = pipeline.NewPool(b, 1+b.Held(r.Params))
		defer filtered.Close()
	}
	f, err := filtering(filtered)
	if err != nil {
		return 0, err
	}
	if r.converts() {
		words := pipeline.NewPool(b.Input(), 1)
		defer words.Close()
		f = papers.InRGBA(f, words, results, func(from pipeline.Format) {
			r.Log.Info(fmt.Sprintf("%s filters RGBA: frames are converted from %s and back", r.System.name, from.Layout))
		})
	}
	var meters pipeline.Meters
	err = pipeline.Run(ctx, in, []pipeline.Filter{f}, out, pipeline.Options{Depth: inFlight, Meters: &meters})
	if err == nil && r.Format.Video() && !r.Output.Direct() {
		err = out.Verify()
	}
	if err != nil {
		return 0, r.Output.Explain(err)
	}
	return meters.Encode.Frames(), r.Output.Commit()
}

// DecodeOptions returns the options by which Render reads the input.
func (r Rendering) DecodeOptions() decode.Options {
	return decode.Options{MaxPixels: decode.DefaultMaxPixels(0), MaxErrorRate: 1, Log: r.Log}
}

// converts reports whether the system takes RGBA alone.
func (r Rendering) converts() bool { return r.System.cpu != nil || r.System.gpu.Form.Layouts != nil }

// open returns a backend for frames, and a function that makes the system's filter.
func (r Rendering) open() (kernels.Backend, func(results *pipeline.Pool) (pipeline.Filter, error), error) {
	if v := r.System.cpu; v != nil {
		b, err := kernels.NewCPU(1, "")
		return b, func(results *pipeline.Pool) (pipeline.Filter, error) { return v.Filter(r.Params, r.Threads, results) }, err
	}
	b, err := gpu.Open(gpu.Options{Indexes: r.Indexes, Log: r.Log})
	return b, func(results *pipeline.Pool) (pipeline.Filter, error) {
		return b.FilterBy(r.System.gpu.Planner(r.Params), results), nil
	}, err
}

func (r Rendering) create(in *decode.Input) (*encode.Output, error) {
	if err := r.Output.Open(); err != nil {
		return nil, err
	}
	to := encode.Options{Format: r.Format.Name, Log: r.Log}
	if r.Format.Video() {
		codec := coding.DefaultFor(r.Format)
		to.Encoder, to.CRF, to.Preset = codec.Name, codec.CRF, codec.Preset
	}
	return encode.Create(r.Output.URL(), encode.TemplateOf(in), to)
}
