package terminal

import (
	"fmt"
	"time"

	"vidfilter/internal/contract"
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
