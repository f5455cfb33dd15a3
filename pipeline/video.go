package pipeline

// Ratio is a fraction. One with Den 0 is unknown.
type Ratio struct{ Num, Den int }

// Video describes what a source or filter emits, beside what each frame says itself. The encoder
// and the container follow the description of the frames that reach them. It is read-only: frames
// share it, and a filter that changes a field gives its frames a description of its own.
type Video struct {
	TimeBase Ratio // seconds; the unit of PTS and Duration
	Rate     Ratio // frames a second, as they usually follow each other
	MeanRate Ratio // frames a second, on average
	Aspect   Ratio // width to height of a sample

	// Matrix turns pictures for display, as the one of MP4 does. Zero leaves them as they are.
	Matrix [9]int32
}
