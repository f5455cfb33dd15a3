package terminal

import (
	"fmt"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/rate"
)

// Result is the result of a job. UI.Finish adds the error, the warnings and the speed.
type Result struct {
	contract.Done
	Taken   bool   // only a part of the input was requested
	Kept    bool   // there is an output, perhaps with an error
	Slowest string // as in Snapshot
}

// located adds the output's name to an error if it is not the requested one.
func (r Result) located(err error) error {
	switch {
	case r.Output == "" || !r.Interrupted && r.Spared == "":
		return err
	case r.Spared == "":
		return fmt.Errorf("%w; %s holds the part done so far", err, r.Output)
	case r.Interrupted && !r.Unverified:
		return fmt.Errorf("%w; %s holds the part done so far, and %s is unchanged", err, r.Output, r.Spared)
	}
	return fmt.Errorf("%w; the output is in %s, and %s is unchanged", err, r.Output, r.Spared)
}

// Snapshot is the state of a running job. Counts only grow.
type Snapshot struct {
	Frames, Total                      int64         // written and expected; Total 0 if unknown
	OutTime, TotalTime                 time.Duration // the same as times; TotalTime 0 if unknown
	Bytes                              int64         // written
	DecodeBusy, FilterBusy, EncodeBusy time.Duration // by each stage, on all frames so far
	GPU                                *GPUTimes     // nil on the CPU
	Slowest                            string        // the stage that limits the speed, and advice; "" if unknown
}

// GPUTimes are averages for a frame.
type GPUTimes struct {
	CopyIn, Kernel, CopyOut time.Duration
	Overlap                 float64 // how many of the three ran at once
}

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
