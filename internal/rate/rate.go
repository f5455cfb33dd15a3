// Package rate measures how fast work gets done, and estimates how long the rest will take.
package rate

import (
	"math"
	"time"
)

// Amounts are amounts of work in units that the caller chooses.
type Amounts [3]float64

// Periods over which speeds are measured.
const (
	longWindow  = 2 * time.Minute  // for the time left of a batch: several tasks long
	minObserved = 10 * time.Second // shorter periods give no Long speed
	sampleEvery = 500 * time.Millisecond
)

// Meter keeps the work of the last minutes. The zero Meter is ready for use.
type Meter struct {
	samples []moment
	from    time.Time // start of the period that Long measures
	base    Amounts   // work done by then
	working bool
}

type moment struct {
	at   time.Time
	seen Amounts
}

// Sample records the work done so far. now must not go back.
func (m *Meter) Sample(now time.Time, seen Amounts) {
	if n := len(m.samples); n > 0 && now.Sub(m.samples[n-1].at) < sampleEvery {
		if now.Equal(m.samples[n-1].at) {
			m.samples[n-1].seen = seen
		}
		return
	}
	if !m.working && seen == m.base { // no work is done yet
		m.from = now
	}
	m.working = m.working || seen != m.base
	m.samples = append(m.samples, moment{now, seen})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= longWindow {
		m.samples = m.samples[1:]
	}
}

// Restart begins a new period for Long.
func (m *Meter) Restart(now time.Time, seen Amounts) {
	m.from, m.base, m.working = now, seen, false
}

// Over returns the speed over the last span, in units per second.
func (m *Meter) Over(now time.Time, seen Amounts, span time.Duration) (speed Amounts) {
	if len(m.samples) == 0 {
		return speed
	}
	first := m.samples[0]
	for _, s := range m.samples {
		if now.Sub(s.at) < span {
			break
		}
		first = s
	}
	return first.until(now, seen)
}

func (s moment) until(now time.Time, seen Amounts) (speed Amounts) {
	if wall := now.Sub(s.at).Seconds(); wall > 0 {
		for i := range speed {
			speed[i] = (seen[i] - s.seen[i]) / wall
		}
	}
	return speed
}

// Long returns the speed over minutes, or 0 until enough was observed.
func (m *Meter) Long(now time.Time, seen Amounts) Amounts {
	if !m.working || now.Sub(m.from) < minObserved {
		return Amounts{}
	}
	if now.Sub(m.from) >= longWindow {
		return m.Over(now, seen, longWindow)
	}
	return moment{m.from, m.base}.until(now, seen)
}

// Left returns the seconds that the rest takes at a speed, or nil if that is unknown.
func Left(rest, speed float64) *float64 { return Plausible(max(0, rest) / speed) }

// Plausible returns a time left in seconds, or nil if it is no number or too long to show.
func Plausible(seconds float64) *float64 {
	const most = 1000 * 3600
	if seconds >= 0 && seconds <= most {
		return new(Rounded(seconds))
	}
	return nil
}

// Rounded keeps three decimals: more is noise.
func Rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
