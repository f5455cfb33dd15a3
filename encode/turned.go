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
func (s *common) describe(f *pipeline.Frame) error {
	if s.shown != nil {
		return nil
	}
	if f.Video == nil || !f.Video.TimeBase.Known() {
		return errors.New("encode: the first frame has no description of its video: a fault of vidfilter; please report it")
	}
	s.shown, s.unit, s.pace = f.Video, fraction(f.Video.TimeBase), 1
	if s.in.Look == nil {
		return nil
	}
	from, to := s.in.Look(), fidelity.LookOf(f)
	s.turned, s.pace = from.Turned(to), from.Pace(to)
	for _, key := range s.turned {
		s.told.Add(fidelity.Video, "", key)
	}
	if s.has("field_order") && !f.Interlaced {
		s.opts.Interlaced = false // the option was for the input
	}
	if s.in.Allow == nil {
		return nil
	}
	return s.in.Allow(f, s.turned)
}

// has reports whether filters have changed one of some properties.
func (s *common) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(s.turned, k) })
}

// untrue lists the kinds of units that are not true of the pictures any more: an active format of
// another shape, levels of light of another transfer function.
func (s *common) untrue() (kinds []units.Kind) {
	if s.has("size", "sample_aspect", "rotation") {
		kinds = append(kinds, units.AFD)
	}
	if s.has("transfer") {
		kinds = append(kinds, units.MasteringDisplay, units.ContentLight, units.AmbientViewing, units.AlternativeTransfer, units.HDR10Plus)
	}
	return kinds
}

// sourceRate returns the rate of the input's video, 0/1 if it is unknown.
func (s *common) sourceRate() C.AVRational {
	return C.av_guess_frame_rate(s.source(), inputStream(s.in.Video), nil)
}
