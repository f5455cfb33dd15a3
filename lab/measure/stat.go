// Package measure has the tools shared by bench and lab: times, the machine, the check
// against the reference, test pictures, and a filter kept busy.
package measure

import (
	"fmt"
	"slices"
	"time"
)

// Stat is a time measured several times, in milliseconds.
type Stat struct {
	Median float64 `json:"median_ms"`
	Least  float64 `json:"least_ms"`
	Most   float64 `json:"most_ms"`
	N      int     `json:"n"`
}

// Spread returns half the range of the times as a share of the median.
func (s Stat) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.Most - s.Least) / 2 / s.Median
}

// StatOf summarises at least one time.
func StatOf(times []time.Duration) Stat {
	ms := make([]float64, len(times))
	for i, t := range times {
		ms[i] = Milliseconds(t)
	}
	slices.Sort(ms)
	n := len(ms)
	return Stat{Median: (ms[(n-1)/2] + ms[n/2]) / 2, Least: ms[0], Most: ms[n-1], N: n}
}

// Milliseconds converts a duration for reports.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Size of a frame in luma samples.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

func (s Size) String() string { return fmt.Sprintf("%dx%d", s.Width, s.Height) }
