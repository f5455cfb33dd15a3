package gpu

import (
	"fmt"
	"sync"
	"time"
)

// Stats are the times of a backend's work, measured by the devices. A stage's time includes its
// wait for other frames in the same stage.
type Stats struct {
	Frames                  int64         // results: of several filters in a row, each has one for a frame
	CopyIn, Kernel, CopyOut time.Duration // summed over all frames
	Busy                    time.Duration // with a frame on the device, summed over devices
}

// Overlap returns how many stages ran at a time, on average while any did: 1 if each waited for
// the one before. Without measurements it is 0.
func (s Stats) Overlap() float64 {
	if s.Busy <= 0 {
		return 0
	}
	return float64(s.CopyIn+s.Kernel+s.CopyOut) / float64(s.Busy)
}

// PerFrame returns the average times of the stages for a frame that a number of filters take in a
// row.
func (s Stats) PerFrame(filters int) (copyIn, kernel, copyOut time.Duration) {
	n := time.Duration(max(s.Frames/int64(max(filters, 1)), 1))
	return s.CopyIn / n, s.Kernel / n, s.CopyOut / n
}

// ColdStart is the time until the first frame was filtered, by phase.
type ColdStart struct {
	Driver  time.Duration // loading and initializing the driver
	Context time.Duration // opening the devices
	Module  time.Duration // compiling the kernel
	Buffers time.Duration // memory, streams and events
	First   time.Duration // from Open until the first frame came back, including other work
}

func (c ColdStart) String() string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("driver %.0f ms, context %.0f ms, kernel %.0f ms, buffers %.0f ms; first frame after %.0f ms",
		ms(c.Driver), ms(c.Context), ms(c.Module), ms(c.Buffers), ms(c.First))
}

// meter accumulates the measurements of a backend's filters.
type meter struct {
	mu    sync.Mutex
	stats Stats
	cold  ColdStart
}

func (m *meter) add(t times, frames int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stats.Frames += frames
	m.stats.CopyIn += t.in
	m.stats.Kernel += t.kernel
	m.stats.CopyOut += t.out
	m.stats.Busy += t.busy
}

// started records a phase of the start, only the first time.
func (m *meter) started(phase func(*ColdStart) *time.Duration, since time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := phase(&m.cold); *d == 0 {
		*d = time.Since(since)
	}
}

// Stats returns the times so far. It may be called at any time from any goroutine.
func (b *Backend) Stats() Stats {
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	return b.meter.stats
}

// ColdStart returns the phases of the start completed so far. The others are 0.
func (b *Backend) ColdStart() ColdStart {
	b.meter.mu.Lock()
	defer b.meter.mu.Unlock()
	c := b.meter.cold
	for _, u := range b.all {
		c.Module = max(c.Module, time.Duration(u.compiling.Load()))
	}
	return c
}
