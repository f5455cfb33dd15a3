package terminal

import (
	"time"

	"vidfilter/internal/rate"
)

// progress is a Snapshot with rates derived from it and earlier ones.
type progress struct {
	Snapshot
	FPS   float64
	Speed float64  // video time by wall time
	Part  *float64 // done, 0 to 1; nil if unknown
	Left  *float64 // seconds; nil if unknown
}

// rateWindow is short enough to follow a change, and long enough to be calm.
const rateWindow = 5 * time.Second

// observe returns the progress at a snapshot, which must be later than those before.
func observe(m *rate.Meter, now time.Time, s Snapshot) progress {
	seen := rate.Amounts{float64(s.Frames), s.OutTime.Seconds()}
	m.Sample(now, seen)
	speed := m.Over(now, seen, rateWindow)
	p := progress{Snapshot: s, FPS: speed[0], Speed: speed[1]}
	// durations in headers are more often wrong than counts of frames
	unit, total := 0, float64(s.Total)
	if s.Total == 0 {
		unit, total = 1, s.TotalTime.Seconds()
	}
	if total > 0 {
		p.Part = new(min(1, max(0, seen[unit]/total)))
		p.Left = rate.Left(total-seen[unit], speed[unit])
	}
	return p
}
