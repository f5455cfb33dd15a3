package main

import (
	"time"

	"vidfilter/gpu"
)

// result is what a job did, also when it failed, as far as it came.
type result struct {
	Frames               int64 // written
	OutDuration, Elapsed time.Duration
	InBytes, OutBytes    int64 // 0 when not known
	PSNR, SSIM           float64
	HasStats             bool             // PSNR (dB, +Inf for equal pictures) and SSIM are measured
	Damage               map[string]int64 // what was found damaged, in words for people, and how often
	Verified             bool             // the output was checked against the input
	Output               string           // the name it took; "" when nothing was kept
	Interrupted          bool             // a signal ended it before the input did
}

// snapshot is the state of a running job. All counts only grow.
type snapshot struct {
	Frames, Total                      int64         // written, and in all; Total 0 when not known
	OutTime, TotalTime                 time.Duration // the same in time; TotalTime 0 when not known
	Bytes                              int64         // written
	DecodeBusy, FilterBusy, EncodeBusy time.Duration // spent by each stage on all frames so far
	OnGPU                              bool
	GPU                                gpu.Stats // where OnGPU
}
