package terminal

import (
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/rate"
)

func progressObject(s progress) contract.Progress {
	p := contract.Progress{
		Type: contract.TypeProgress, Frame: s.Frames, FPS: rate.Rounded(s.FPS), Speed: rate.Rounded(s.Speed),
		OutTime: s.OutTime.Seconds(), Size: s.Bytes, ETA: s.Left, Stages: s.StageTimes(),
	}
	if s.Total > 0 {
		p.Total = &s.Total
	}
	if s.GPU != nil {
		p.GPU = gpuObject(*s.GPU)
	}
	return p
}

// StageTimes returns the times of the stages for a frame.
func (s Snapshot) StageTimes() contract.Stages {
	perFrame := func(busy time.Duration) float64 {
		return rate.Rounded(busy.Seconds() * 1000 / float64(max(1, s.Frames)))
	}
	return contract.Stages{Decode: perFrame(s.DecodeBusy), Filter: perFrame(s.FilterBusy), Encode: perFrame(s.EncodeBusy)}
}

func gpuObject(g GPUTimes) *contract.GPU {
	ms := func(d time.Duration) float64 { return rate.Rounded(d.Seconds() * 1000) }
	return &contract.GPU{CopyIn: ms(g.CopyIn), Kernel: ms(g.Kernel), CopyOut: ms(g.CopyOut), Overlap: rate.Rounded(g.Overlap)}
}

func doneObject(r Result, err error, warnings []string) contract.Done {
	d := r.Done
	d.Type, d.ExitCode, d.Cause, d.Warnings = contract.TypeDone, contract.ExitCode(err), contract.CauseOf(err), append([]string{}, warnings...)
	d.FPS, d.Elapsed = rate.Rounded(r.Outcome().FPS), rate.Rounded(r.Elapsed)
	if d.Damage == nil {
		d.Damage = map[string]int64{}
	}
	if err != nil {
		d.Error, d.Hint = err.Error(), hint.Of(err)
	}
	return d
}
