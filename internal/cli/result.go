package cli

import (
	"fmt"
	"time"

	"vidfilter/internal/contract"
)

// Result is the outcome of a job, filled in as far as the job came.
type Result struct {
	Frames               int64 // written
	OutDuration, Elapsed time.Duration
	InBytes, OutBytes    int64 // 0 when not known
	Taken                bool  // a part of the input was asked for
	PSNR, SSIM           float64
	HasStats             bool             // PSNR (dB, +Inf if equal) and SSIM are measured
	Damage               map[string]int64 // descriptions of damage found, with counts
	NotKept              []string         // side data that the output lacks
	Verified             bool             // the output was checked against the input
	Unverified           bool             // the output failed that check
	Output               string           // the name it took; "" when nothing was kept
	Spared               string           // existing file kept; the output is short or damaged
	Noise                *contract.Noise  // of the frames; nil if it was not measured
	Interrupted          bool             // a signal ended the job early
	Kept                 bool             // there is an output, perhaps with an error
	Differences          []contract.Difference
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
}

// GPUTimes are averages for a frame.
type GPUTimes struct {
	CopyIn, Kernel, CopyOut time.Duration
	Overlap                 float64 // how many of the three ran at once
}
