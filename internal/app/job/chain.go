package job

import (
	"slices"

	"vidfilter/decode"
	"vidfilter/encode/video"
	"vidfilter/internal/stages"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// filters are the job's filters, in order, without inactive ones.
func (o *Options) filters() []kernels.Stage {
	return slices.DeleteFunc(o.Stages(), kernels.Stage.Identity)
}

// passes reports whether frames are encoded as they are.
func (o *Options) passes() bool { return len(o.filters()) == 0 }

// takes reports whether the job's first filter takes frames of a layout.
func (o *Options) takes(l pipeline.Layout) bool {
	if l == pipeline.RGBA && (o.deepens() || max(o.depth(), o.leastDepth()) > 8) { // which has no more bits: its planes do
		return false
	}
	all := o.filters()
	return l.Basic() || l.Valid() && accept(all, l)
}

// accept reports whether filters, in order, take frames of a layout. FFmpeg's filters convert it.
func accept(all []kernels.Stage, l pipeline.Layout) bool {
	for _, s := range all {
		if _, converts := s.(stages.Stage); converts {
			return true
		} else if !s.Takes(l) {
			return false
		}
	}
	return true
}

// first returns the first of some filters that is of a type.
func first[T kernels.Stage](all []kernels.Stage) (found T, some bool) {
	for _, s := range all {
		if found, some = s.(T); some {
			break
		}
	}
	return found, some
}

// window returns how many frames of the source a result depends on.
func (o *Options) window() (w pipeline.Window) {
	for _, s := range o.filters() {
		w = w.Then(s.Window())
	}
	return w
}

// chainOf returns the chain of filters on a backend. Up to waiting frames may wait behind each one.
func (j *job) chainOf(b kernels.Backend, all []kernels.Stage, waiting int) *pipeline.Chain {
	var links []pipeline.Link
	for i, s := range all {
		l := j.link(b, s)
		l.Takes = func(l pipeline.Layout) bool { return accept(all[i:], l) }
		links = append(links, l)
	}
	return pipeline.NewChain(links, waiting)
}

// link describes a filter on a backend.
func (j *job) link(b kernels.Backend, s kernels.Stage) pipeline.Link {
	onDevice := onDevice(b, s)
	return pipeline.Link{
		Name: s.Filter().Name, Window: s.Window(), Results: b.Held(s), OnDevice: onDevice, InBoth: inBoth(b, s),
		Pool: func(limit int, next *pipeline.Link) *pipeline.Pool {
			results := pipeline.NewPool(b, limit)
			if onDevice {
				j.keepOnDevice(b, results, next)
			}
			return results
		},
		Open: func(results *pipeline.Pool, next *pipeline.Link, later int) (pipeline.Filter, error) {
			if d, is := s.(kernels.Deinterlace); is {
				d.Progressive = j.o.progressive(j.in)
				return b.Filter(d, results)
			}
			if h, ok := s.(kernels.OnHost); ok {
				f, err := h.OnHost(results, j.setting(next, later))
				j.flicker.watch(f)
				return f, err
			}
			d, denoises := s.(kernels.Denoise)
			if !denoises {
				return b.Filter(s, results)
			}
			d.Depth = video.ResultDepth(j.o.encodeOptions(nil), j.sourceDepth())
			f, err := b.Filter(d, results)
			if err != nil {
				return f, err
			}
			j.noise.watch(f)
			return j.measureGrain(f), nil
		},
	}
}

// onDevice reports whether a filter reads frames whose samples are in its device's memory alone.
func onDevice(b kernels.Backend, s kernels.Stage) bool {
	if _, planned := s.(kernels.Planned); planned {
		return true
	}
	_, deinterlaces := s.(kernels.Deinterlace)
	_, onGPU := b.(holder)
	return deinterlaces && onGPU
}

// inBoth reports whether a filter reads samples both on its device and on the CPU.
func inBoth(b kernels.Backend, s kernels.Stage) bool {
	_, denoises := s.(kernels.Denoise)
	_, onGPU := b.(holder)
	return denoises && onGPU
}

// setting describes the job around a stage on the host.
func (j *job) setting(next *pipeline.Link, later int) kernels.Setting {
	in := kernels.Setting{Later: later, Progressive: j.o.progressive(j.in), MaxPixels: j.o.MaxPixels, Threads: j.o.Threads, Trial: j.trial,
		Lost: func(name string) { j.lost.Store(&name) }, Repaired: j.repaired.add}
	if next != nil {
		in.Takes, in.ForDevice = next.Takes, next.OnDevice
	}
	return in
}

// progressive reports whether no frame of the input is interlaced.
func (o *Options) progressive(in *decode.Input) bool {
	return o.FieldOrder == "progressive" || !in.Interlaced() && !in.MayBeInterlaced()
}

// keepOnDevice leaves the results of a filter on its device if what reads them does so there: the
// next filter, or the encoder.
func (j *job) keepOnDevice(b kernels.Backend, results *pipeline.Pool, next *pipeline.Link) {
	h, ok := b.(holder)
	switch {
	case !ok || j.looksOnHost():
	case next == nil && j.encoding != nil && j.encoding.Beside(b):
		h.KeepResults(results)
	case next != nil && next.OnDevice && h.Devices() == 1:
		h.KeepBetween(results)
	case next != nil && next.InBoth && h.Devices() == 1:
		h.KeepBoth(results)
	}
}

// filter returns the job's filter for the video as one stream.
func (j *job) filter() (pipeline.Filter, error) {
	if j.chain != nil {
		j.chain.Close()
		j.halves.Close()
	}
	j.chain = j.chainOf(j.backend, j.o.filters(), j.inFlight)
	j.halves = pipeline.NewPool(j.backend, j.inFlight)
	f, err := j.chain.Open()
	if err != nil {
		return nil, err
	}
	switch j.o.Compare {
	case "side":
		return pipeline.Compare(f, pipeline.CompareSide, j.halves), nil
	case "split":
		return pipeline.Compare(f, pipeline.CompareSplit, j.halves), nil
	}
	return f, nil
}
