package cli

import (
	"maps"
	"math"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

func progressObject(s progress) contract.Progress {
	p := contract.Progress{
		Type: contract.TypeProgress, Frame: s.Frames, FPS: rounded(s.FPS), Speed: rounded(s.Speed),
		OutTime: s.OutTime.Seconds(), Size: s.Bytes, Stages: stageTimes(s.Snapshot),
	}
	if s.Total > 0 {
		p.Total = &s.Total
	}
	if s.GPU != nil {
		p.GPU = gpuObject(*s.GPU)
	}
	if s.Left >= 0 {
		p.ETA = new(rounded(s.Left.Seconds()))
	}
	return p
}

func stageTimes(s Snapshot) contract.Stages {
	perFrame := func(busy time.Duration) float64 {
		return rounded(busy.Seconds() * 1000 / float64(max(1, s.Frames)))
	}
	return contract.Stages{Decode: perFrame(s.DecodeBusy), Filter: perFrame(s.FilterBusy), Encode: perFrame(s.EncodeBusy)}
}

func gpuObject(g GPUTimes) *contract.GPU {
	ms := func(d time.Duration) float64 { return rounded(d.Seconds() * 1000) }
	return &contract.GPU{CopyIn: ms(g.CopyIn), Kernel: ms(g.Kernel), CopyOut: ms(g.CopyOut), Overlap: rounded(g.Overlap)}
}

func doneObject(r Result, err error, warnings []string) contract.Done {
	d := contract.Done{
		Type: contract.TypeDone, ExitCode: contract.ExitCode(err), Cause: contract.CauseOf(err), Frame: r.Frames, OutTime: r.OutDuration.Seconds(),
		Elapsed: rounded(r.Elapsed.Seconds()), InSize: r.InBytes, Size: r.OutBytes, Output: contract.Name(r.Output),
		Spared: contract.Name(r.Spared), Verified: r.Verified, Unverified: r.Unverified, Interrupted: r.Interrupted,
		Warnings: append([]string{}, warnings...), Damage: map[string]int64{}, NotKept: r.NotKept, Noise: r.Noise,
		Differences: r.Differences,
	}
	maps.Copy(d.Damage, r.Damage)
	if r.Elapsed > 0 {
		d.FPS = rounded(float64(r.Frames) / r.Elapsed.Seconds())
	}
	if err != nil {
		d.Error, d.Hint = err.Error(), hint.Of(err)
	}
	if r.HasStats {
		d.PSNR, d.SSIM = new(contract.Number(r.PSNR)), new(contract.Number(r.SSIM))
	}
	return d
}

// rounded keeps three decimals: more is noise.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
