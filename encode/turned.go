package encode

//#include "glue.h"
import "C"

import (
	"errors"
	"slices"

	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// describe takes the description of the video from its first frame, and notes what filters have
// changed on purpose.
func (e *coder) describe(f *pipeline.Frame) error {
	if e.shown != nil {
		return nil
	}
	if f.Video == nil || !f.Video.TimeBase.Known() {
		return errors.New("encode: the first frame has no description of its video: a fault of vidfilter; please report it")
	}
	e.shown, e.unit, e.pace = f.Video, fraction(f.Video.TimeBase), 1
	if e.in.Look == nil {
		return nil
	}
	from, to := e.in.Look(), fidelity.LookOf(f)
	e.turned, e.pace = from.Turned(to), from.Pace(to)
	for _, key := range e.turned {
		e.told.Add(fidelity.Video, "", key)
	}
	if e.has("field_order") && !f.Interlaced {
		e.opts.Interlaced = false // the option was for the input
	}
	if e.in.Allow == nil {
		return nil
	}
	return e.in.Allow(f, e.turned)
}

// has reports whether filters have changed one of some properties.
func (e *coder) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(e.turned, k) })
}

// Turned returns what filters have changed of the pictures, as Look.Turned; it is known once the
// first frame was put.
func (o *Output) Turned() []string { return o.turned }

// Pace returns how many frames are put for each of the input, by their rates; safe from any
// goroutine.
func (o *Output) Pace() float64 {
	if p := o.paced.Load(); p != nil {
		return *p
	}
	return 1
}

// untrue lists the kinds of units that are not true of the pictures any more: an active format of
// another shape, levels of light of another transfer function.
func (e *coder) untrue() (kinds []units.Kind) {
	if e.has("size", "sample_aspect", "rotation") {
		kinds = append(kinds, units.AFD)
	}
	if e.has("transfer") {
		kinds = append(kinds, units.MasteringDisplay, units.ContentLight, units.AmbientViewing, units.AlternativeTransfer, units.HDR10Plus)
	}
	return kinds
}

// sourceRate returns the rate of the input's video, 0/1 if it is unknown.
func (o *Output) sourceRate() C.AVRational {
	return C.av_guess_frame_rate(o.source(), inputStream(o.in.Video), nil)
}
