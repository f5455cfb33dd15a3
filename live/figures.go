package live

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Figures measures how well a session keeps up.
type Figures struct {
	SourceFPS, FPS float64 // pictures taken, and filtered, in the last second

	// Pictures that made room for newer ones, since the start: at the source, and on the way to
	// the filter.
	DroppedSource, DroppedFilter int64

	Filter                  time.Duration // latency of the filter, median of the last second
	GPU                     bool
	CopyIn, Kernel, CopyOut time.Duration // GPU: a picture's stages, mean of the last second
}

type figures struct {
	droppedSource, droppedFilter atomic.Int64

	mu      sync.Mutex
	shots   Window
	results Window
	count   int64
	times   func() Times
	marks   []mark // of the GPU's times, one a picture
}

type mark struct {
	at    time.Time
	times Times
}

func (f *figures) take(s Shot) {
	f.droppedSource.Add(s.Skipped)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.shots.Add(time.Now(), 0)
}

// taken returns how many pictures there were.
func (f *figures) taken() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *figures) filtered(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.results.Add(now, float64(d))
	if f.times != nil {
		f.marks = append(f.marks, mark{now, f.times()})
		f.marks = slices.DeleteFunc(f.marks, func(m mark) bool { return now.Sub(m.at) > time.Second })
	}
}

// Figures returns how the session does.
func (s *Session) Figures() Figures {
	f := &s.figures
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	all := Figures{
		SourceFPS: f.shots.Rate(now), FPS: f.results.Rate(now), DroppedSource: f.droppedSource.Load(), DroppedFilter: f.droppedFilter.Load(),
		Filter: time.Duration(f.results.Median(now)), GPU: f.times != nil,
	}
	if n := len(f.marks); n > 1 {
		a, b := f.marks[0].times, f.marks[n-1].times
		if frames := time.Duration(b.Frames - a.Frames); frames > 0 {
			all.CopyIn, all.Kernel, all.CopyOut = (b.CopyIn-a.CopyIn)/frames, (b.Kernel-a.Kernel)/frames, (b.CopyOut-a.CopyOut)/frames
		}
	}
	return all
}

// Window holds the measurements of the last second. It is not safe for concurrent use.
type Window struct {
	at     []time.Time
	values []float64
}

// Add notes a value.
func (w *Window) Add(now time.Time, value float64) {
	w.trim(now)
	w.at, w.values = append(w.at, now), append(w.values, value)
}

func (w *Window) trim(now time.Time) {
	old := 0
	for old < len(w.at) && now.Sub(w.at[old]) > time.Second {
		old++
	}
	w.at, w.values = slices.Delete(w.at, 0, old), slices.Delete(w.values, 0, old)
}

// Rate returns how many values there were in the last second.
func (w *Window) Rate(now time.Time) float64 {
	w.trim(now)
	if len(w.at) < 2 {
		return float64(len(w.at))
	}
	return float64(len(w.at)-1) / w.at[len(w.at)-1].Sub(w.at[0]).Seconds()
}

// Sum returns the sum of the values.
func (w *Window) Sum(now time.Time) (sum float64) {
	w.trim(now)
	for _, v := range w.values {
		sum += v
	}
	return sum
}

// Median returns the median of the values, or 0.
func (w *Window) Median(now time.Time) float64 {
	w.trim(now)
	if len(w.values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(w.values))
	return sorted[len(sorted)/2]
}
