package motion

// Numbers are those that a form of the search for the CPU or the GPU needs, on the scale of the
// samples.
type Numbers struct {
	Coarse  bool  // smooth more
	Penalty int   // for a vector other than the parent cell's
	Length  []int // at the coarsest level: the penalty by the square of the length
	Refine  int   // for a vector other than the one to refine
	Misfit  int   // a frame whose cells differ by more on average does not fit
}

// Numbers returns those of a search.
func (s *Search) Numbers() Numbers {
	return Numbers{s.coarse, s.penalty, s.length, s.refine, s.misfit}
}

// Levels is the height of the pyramid of a plane.
func Levels(width, height int) int { return levels(width, height) }
