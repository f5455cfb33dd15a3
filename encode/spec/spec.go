// Package spec holds what the parts of an output share: its options, its input, and the description
// of the video by its first frame.
package spec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// Spec is shared by the encoder and the muxer of an output.
type Spec struct {
	Options
	In   Template
	Form formats.Format

	Shown    *pipeline.Video // of the first frame
	Unit     pipeline.Ratio  // of all times: seconds
	Pace     float64         // frames for one of the input
	Turned   []string        // properties that filters have changed, as Look.Turned
	Frames   int64           // put or, if encoded before, written
	Precoded bool            // the video was encoded before
	Told     fidelity.Told
	Lost     Losses
}

// New returns the specification of an output before its first frame. Encoder is then the name of
// the encoder in any case.
func New(in Template, o Options) *Spec {
	o.Encoder = o.encoder()
	return &Spec{Options: o, In: in, Form: formats.Of(o.Format)}
}

// Describe takes the description of the video from its first frame, and notes the filters' intended
// changes.
func (s *Spec) Describe(f *pipeline.Frame) error {
	if s.Shown != nil {
		return nil
	}
	if f.Video == nil || !f.Video.TimeBase.Known() {
		return errors.New("encode: the first frame has no description of its video: a fault of vidfilter; please report it")
	}
	s.Shown, s.Unit, s.Pace = f.Video, f.Video.TimeBase, 1
	if s.In.Look == nil {
		return nil
	}
	from, to := s.In.Look(), fidelity.LookOf(f)
	s.Turned, s.Pace = from.Turned(to), from.Pace(to)
	for _, key := range s.Turned {
		s.Told.Add(fidelity.Video, "", key)
	}
	if s.Has("field_order") && !f.Interlaced {
		s.Interlaced = false // the option was for the input
	}
	if s.In.Allow == nil {
		return nil
	}
	return s.In.Allow(f, s.Turned)
}

// Has reports whether filters have changed one of some properties.
func (s *Spec) Has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return slices.Contains(s.Turned, k) })
}

// MP4 reports whether the file is of the MP4 family.
func (s *Spec) MP4() bool { return s.Form.Family == formats.ISO }

// IsPicture reports whether the file is a single picture.
func (s *Spec) IsPicture() bool { return s.Form.Family == formats.Picture }

// Carries reports whether the format holds other streams than the video.
func (s *Spec) Carries() bool { return s.Form.Video() && !s.Form.Alone }

// Micros converts a time of a frame to microseconds.
func (s *Spec) Micros(t int64) int64 {
	return astiav.RescaleQ(t, astiav.NewRational(s.Unit.Num, s.Unit.Den), astiav.NewRational(1, 1000000))
}

// Warn shows the user a warning.
func (s *Spec) Warn(format string, args ...any) {
	if s.Log != nil {
		s.Log.Warn(fmt.Sprintf(format, args...))
	}
}

// Losses names properties of the input's pictures that the output lacks.
type Losses []string

// Add adds a name, once.
func (l *Losses) Add(name string) {
	if !slices.Contains(*l, name) {
		*l = append(*l, name)
	}
}
