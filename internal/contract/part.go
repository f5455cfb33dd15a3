package contract

import "fmt"

// Span is the number of frames with Start <= PTS < End, in the unit of the video stream.
type Span struct {
	Start  int64 `json:"start"`
	End    int64 `json:"end"`
	Frames int64 `json:"frames"`
}

// String is the form that --part takes.
func (s Span) String() string { return fmt.Sprintf("%d:%d:%d", s.Start, s.End, s.Frames) }

// Holds reports whether a frame with this PTS is in the span.
func (s Span) Holds(pts int64) bool { return pts >= s.Start && pts < s.End }

// Covers reports whether t lies in the span.
func (s Span) Covers(t Span) bool {
	return s.Start <= t.Start && s.End >= t.End && s.Frames >= t.Frames
}

// Range is a part of a video. Around is the part with its lead-in and lead-out: frames that a
// filter reads as the neighbours of others. A zero Around means no such
// frames.
type Range struct {
	Span
	Around Span `json:"around,omitzero"`
}

// String is the form that --part takes.
func (r Range) String() string {
	if r.Around == (Span{}) {
		return r.Span.String()
	}
	return r.Span.String() + ":" + r.Around.String()
}

// Read returns the span of all frames that are read.
func (r Range) Read() Span {
	if r.Around == (Span{}) {
		return r.Span
	}
	return r.Around
}
