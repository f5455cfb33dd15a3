package pipeline

// Ratio is a fraction. One with Den 0 is unknown.
type Ratio struct{ Num, Den int }

// Known reports whether both numbers are above 0.
func (r Ratio) Known() bool { return r.Num > 0 && r.Den > 0 }

// Float64 returns the value; 0 if it is unknown.
func (r Ratio) Float64() float64 {
	if r.Den == 0 {
		return 0
	}
	return float64(r.Num) / float64(r.Den)
}

// Video describes the frames of a source or filter, beside each frame's own data. The encoder and
// the container follow the description of the frames that reach them. It is read-only: frames share
// it, and a filter that changes a field gives its frames a description of its own. The time base is
// the same in all frames of a video.
type Video struct {
	TimeBase Ratio // seconds; the unit of PTS and Duration
	Rate     Ratio // frames a second, as they usually follow each other
	MeanRate Ratio // frames a second, on average
	Aspect   Ratio // width to height of a sample
	Alpha    bool  // the fourth sample of RGBA is alpha, rather than of no meaning

	// Matrix turns pictures for display, as the one of MP4 does. Zero leaves them as they are.
	Matrix [9]int32
}
