package cli

import "time"

// Progress is a Snapshot with rates derived from it and earlier ones.
type progress struct {
	Snapshot
	Elapsed time.Duration
	FPS     float64       // over rateWindow
	Speed   float64       // video time by wall time, over rateWindow
	Part    float64       // done, 0 to 1; -1 when not known
	Left    time.Duration // -1 when not known
}

// rateWindow is short enough to follow a change, and long enough to be calm.
const rateWindow = 5 * time.Second

// tracker turns snapshots into progress.
type tracker struct {
	start   time.Time
	samples []sample // of the last rateWindow, and one older
}

type sample struct {
	at time.Time
	Snapshot
}

func newTracker(now time.Time) *tracker {
	return &tracker{start: now, samples: []sample{{at: now}}}
}

// observe adds a snapshot, which must be later than those before.
func (t *tracker) observe(now time.Time, s Snapshot) progress {
	t.samples = append(t.samples, sample{now, s})
	for len(t.samples) > 2 && now.Sub(t.samples[1].at) >= rateWindow {
		t.samples = t.samples[1:]
	}
	first := t.samples[0]
	st := progress{Snapshot: s, Elapsed: now.Sub(t.start), Part: part(s), Left: -1}
	if wall := now.Sub(first.at).Seconds(); wall > 0 {
		st.FPS = float64(s.Frames-first.Frames) / wall
		st.Speed = (s.OutTime - first.OutTime).Seconds() / wall
	}
	st.Left = left(st)
	return st
}

// part prefers frames to time: durations in headers are more often wrong than counts.
func part(s Snapshot) float64 {
	switch {
	case s.Total > 0:
		return min(1, float64(s.Frames)/float64(s.Total))
	case s.TotalTime > 0:
		return min(1, max(0, s.OutTime.Seconds()/s.TotalTime.Seconds()))
	}
	return -1
}

func left(s progress) time.Duration {
	var seconds float64
	switch {
	case s.Total > 0 && s.FPS > 0:
		seconds = float64(s.Total-s.Frames) / s.FPS
	case s.Total == 0 && s.TotalTime > 0 && s.Speed > 0:
		seconds = (s.TotalTime - s.OutTime).Seconds() / s.Speed
	default:
		return -1
	}
	const forever = 1000 * 3600
	if seconds > forever {
		return -1
	}
	return time.Duration(max(0, seconds) * float64(time.Second))
}
