package live

import "vidfilter/kernels"

// Side is one of two settings that are compared. Viewers see A left and B right.
type Side string

// The sides.
const (
	SideA Side = "a"
	SideB Side = "b"
)

// settings are the filters of a session.
type settings struct {
	filter FilterSettings // in force for recordings and outputs, and changed by Set; pictures of both sides are framed as by it
	side   Side           // that it is on; "" without a comparison
	other  FilterSettings // of the other side; zero without a comparison
}

// all returns the filters that pictures go through: the chosen side's first.
func (s settings) all() []FilterSettings {
	if s.side == "" {
		return []FilterSettings{s.filter}
	}
	return []FilterSettings{s.filter, s.other}
}

// Compare has viewers compare two settings instead of original and filtered picture, or ends that.
// At first both are the current ones, and B is chosen. At the end the chosen ones remain.
func (s *Session) Compare(on bool) {
	s.change(func(set *settings) {
		switch {
		case !on:
			*set = settings{filter: set.filter}
		case set.side == "":
			*set = settings{filter: set.filter, side: SideB, other: set.filter}
		}
	})
}

// Choose makes the settings of a side those that Set changes, and that recordings and outputs have.
// It has no effect without a comparison.
func (s *Session) Choose(side Side) {
	s.change(func(set *settings) {
		if set.side != "" && set.side != side {
			*set = settings{filter: set.other, side: side, other: set.filter}
		}
	})
}

// CopyToOther gives the other side the settings of the chosen one.
func (s *Session) CopyToOther() {
	s.change(func(set *settings) {
		if set.side != "" {
			set.other = set.filter
		}
	})
}

// framedAlike returns the settings with the same part and size of pictures on both sides.
func (s settings) framedAlike() settings {
	if s.side != "" {
		s.other.Follow(s.filter.Selection, kernels.Place.Frames)
	}
	return s
}

func (s *Session) change(to func(*settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set := s.set
	if to(&set); set != s.set {
		s.settle(set)
	}
}
