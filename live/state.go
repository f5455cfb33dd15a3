package live

import "errors"

// Status is how a source does.
type Status string

// The statuses.
const (
	Starting Status = "starting"
	Live     Status = "live"
	Waiting  Status = "waiting" // for a camera
	Ended    Status = "ended"   // a video
	Failed   Status = "failed"
)

// State is what there is to say of a session beside its pictures.
type State struct {
	Status        Status
	Message, Hint string // for people, may be empty

	Width, Height int
	FrameRate     float64 // 0 unknown

	Frozen bool
	Filter Filter
}

// State returns how the session is, and a channel that is closed when that changes.
func (s *Session) State() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Frozen, st.Filter = s.frozen, s.filter
	return st, s.changed
}

func (s *Session) isFrozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen
}

// announce tells of a change; s.mu is held.
func (s *Session) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Session) setState(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.state
	change(&s.state)
	if s.state != old {
		s.announce()
	}
}

func (s *Session) setStatus(status Status, message, hint string) {
	s.setState(func(st *State) { st.Status, st.Message, st.Hint = status, message, hint })
}

func (s *Session) setError(status Status, err error) {
	var h interface{ Hint() string }
	hint := ""
	if errors.As(err, &h) {
		hint = h.Hint()
	}
	s.setStatus(status, err.Error(), hint)
}

// setFormat notes what comes, and that it comes.
func (s *Session) setFormat(shot Shot, rate float64) {
	s.setState(func(st *State) {
		st.Status, st.Message, st.Hint = Live, "", ""
		st.Width, st.Height, st.FrameRate = shot.Frame.Width, shot.Frame.Height, rate
	})
}
