package live

import (
	"vidfilter/decode"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// Status is the state of a source.
type Status string

// The statuses.
const (
	Starting Status = "starting"
	Live     Status = "live"
	Waiting  Status = "waiting" // for a camera
	Ended    Status = "ended"   // a video
	Failed   Status = "failed"
)

// State describes a session beside its pictures.
type State struct {
	Status  Status `json:"status"`
	Message string `json:"message"` // for people, may be empty
	Hint    string `json:"hint"`    // likewise

	Width            int     `json:"width"`
	Height           int     `json:"height"`
	FrameRate        float64 `json:"fps"` // 0 unknown
	pipeline.Display         // of results
	Shown            Size    `json:"shown"` // of results; 0 before the first
	Sound            bool    `json:"sound"` // there is some that can be heard

	// Of a file, in seconds: its length, 0 if it cannot be played from any place, and the part that
	// repeats, which may be empty.
	Length     float64 `json:"length"`
	RepeatFrom float64 `json:"repeat_from"`
	RepeatTo   float64 `json:"repeat_to"`

	Frozen  bool           `json:"frozen"`
	Filter  FilterSettings `json:"filter"`
	Touched bool           `json:"touched"` // somebody has set the filter
	Notice  string         `json:"notice"`  // why crop and scale are no longer set, or ""

	// While two settings are compared, the side whose settings Filter are, and the other side's; ""
	// and nil otherwise.
	Side  Side            `json:"side"`
	Other *FilterSettings `json:"other"`
}

// Size is the size of a picture as it is stored.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// State returns the current state, and a channel that is closed when it changes.
func (s *Session) State() (State, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Frozen, st.Filter, st.Side = s.frozen, s.set.filter, s.set.side
	st.Shown = Size{s.shape.width, s.shape.height}
	if s.shape.aspect > 0 {
		st.Aspect = s.shape.aspect
	}
	if other := s.set.other; st.Side != "" {
		st.Other = &other
	}
	return st, s.changed
}

func (s *Session) isFrozen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen
}

// announce reports a change; s.mu is held.
func (s *Session) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// setState changes the state. When the pictures end or change their size, it frees the memory of
// the old ones.
func (s *Session) setState(change func(*State)) {
	if s.changeState(change) {
		s.frames.Trim()
		s.results.Trim()
		decode.FreeMemory()
	}
}

// changeState reports whether the pictures have ended or changed their size.
func (s *Session) changeState(change func(*State)) (over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.state
	change(&s.state)
	if s.state != old {
		s.announce()
	}
	return old.Status == Live && (s.state.Status != Live || s.state.Width != old.Width || s.state.Height != old.Height)
}

func (s *Session) setStatus(status Status, message, hint string) {
	s.setState(func(st *State) { st.Status, st.Message, st.Hint = status, message, hint })
}

func (s *Session) setError(status Status, err error) {
	s.setStatus(status, err.Error(), hint.Of(err))
}

// setFormat records that pictures come, and their format.
func (s *Session) setFormat(shot Shot, src Source) {
	var display pipeline.Display
	if d, ok := src.(displayed); ok {
		display = d.Display()
	}
	rate := src.FrameRate()
	heard := false
	if l, ok := src.(listener); ok && l.Track() != nil {
		heard = l.Track().Decodable()
	}
	s.setState(func(st *State) {
		st.Status, st.Message, st.Hint = Live, "", ""
		st.Width, st.Height, st.FrameRate = shot.Frame.Width, shot.Frame.Height, rate
		st.Display, st.Sound = display, heard
		if can, ok := src.(seekable); ok {
			st.Length = can.Length().Seconds()
		}
	})
}
