package status

import (
	"fmt"
	"time"

	"vidfilter/internal/rate"
	"vidfilter/internal/text"
)

// steps is the number of whole steps of a series.
const steps = 60

// series counts frames and jobs over time, in steps of the same length. It takes 1 kB.
type series struct {
	step   time.Duration
	newest int64           // number of the present step since 1970
	at     [steps + 1]sums // by number
}

// sums are the work of a step.
type sums struct{ frames, done int64 }

// add counts work at a time. Work that is older than the series, or in the future, is left out.
func (s *series) add(now, at time.Time, work sums) {
	s.advance(now)
	if n := s.number(at); n <= s.newest && n >= s.newest-steps {
		p := s.of(n)
		p.frames += work.frames
		p.done += work.done
	}
}

func (s *series) number(t time.Time) int64 { return t.Unix() / int64(s.step.Seconds()) }

func (s *series) of(n int64) *sums { return &s.at[n%int64(len(s.at))] }

// advance begins the step of now, and clears those that time has skipped. If the clock was put
// back, the steps that lie in the future are cleared.
func (s *series) advance(now time.Time) {
	n := s.number(now)
	for k := range min(int64(len(s.at)), max(n-s.newest, s.newest-n)) {
		*s.of(max(n, s.newest) - k) = sums{}
	}
	s.newest = n
}

// Series is a chart. The JSON names are stable.
type Series struct {
	Span  string    `json:"span"` // "hour" or "day"
	Step  int       `json:"step"` // seconds
	Until time.Time `json:"until"`
	// frames per second and finished jobs in each step, the earliest first; the last step ended at
	// Until
	FPS   []float64 `json:"fps"`
	Done  []int64   `json:"done"`
	Words [2]string `json:"words"` // of both, for people
}

func (s *series) view(now time.Time, span string) Series {
	s.advance(now)
	v := Series{Span: span, Step: int(s.step.Seconds()), Until: time.Unix(s.newest*int64(s.step.Seconds()), 0).UTC()}
	var frames, done int64
	var most float64
	for n := s.newest - steps; n < s.newest; n++ {
		p := s.of(n)
		fps := rate.Rounded(float64(p.frames) / s.step.Seconds())
		v.FPS, v.Done = append(v.FPS, fps), append(v.Done, p.done)
		frames, done, most = frames+p.frames, done+p.done, max(most, fps)
	}
	v.Words = [2]string{
		fmt.Sprintf("%s in the last %s, at most %.1f per second", text.Count(frames, "frame"), span, most),
		fmt.Sprintf("%s done in the last %s", text.Count(done, "job"), span),
	}
	return v
}

// history is the throughput of the last hour and day.
type history struct {
	frames    int64 // counted so far
	hour, day series
}

func newHistory() history {
	return history{hour: series{step: time.Minute}, day: series{step: 24 * time.Hour / steps}}
}

// add takes the count of all frames, and the time at which a job was done, or zero.
func (h *history) add(now time.Time, frames int64, done time.Time) {
	for _, s := range []*series{&h.hour, &h.day} {
		s.add(now, now, sums{frames: frames - h.frames})
		if !done.IsZero() {
			s.add(now, done, sums{done: 1})
		}
	}
	h.frames = frames
}

// History is the throughput of the last hour, by the minute, and of the last day. Frames are those
// observed since the program began.
type History struct {
	Hour Series `json:"hour"`
	Day  Series `json:"day"`
}

func (h *history) view(now time.Time) History {
	return History{h.hour.view(now, "hour"), h.day.view(now, "day")}
}
