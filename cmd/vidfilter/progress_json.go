package main

import (
	"encoding/json"
	"maps"
	"math"
	"time"

	"vidfilter/gpu"
)

// The objects of --progress json. Every line on stderr is one of them, and the last is a done.

type jsonMessage struct {
	Type    string `json:"type"` // warning, info, verbose
	Message string `json:"message"`
}

type jsonProgress struct {
	Type    string     `json:"type"` // progress
	Frame   int64      `json:"frame"`
	Total   *int64     `json:"total"` // null when not known
	FPS     float64    `json:"fps"`
	Speed   float64    `json:"speed"`
	OutTime float64    `json:"out_time"` // seconds
	ETA     *float64   `json:"eta"`      // seconds; null when not known
	Size    int64      `json:"size"`     // bytes
	Stages  jsonStages `json:"stages"`
	GPU     *jsonGPU   `json:"gpu,omitempty"` // where the filter runs on one
}

// jsonStages is the time that each stage worked, in milliseconds a frame.
type jsonStages struct {
	Decode float64 `json:"decode_ms"`
	Filter float64 `json:"filter_ms"`
	Encode float64 `json:"encode_ms"`
}

// jsonGPU is what the GPUs measured, in milliseconds a frame. Overlap is how many of the three ran at a time.
type jsonGPU struct {
	CopyIn  float64 `json:"copy_in_ms"`
	Kernel  float64 `json:"kernel_ms"`
	CopyOut float64 `json:"copy_out_ms"`
	Overlap float64 `json:"overlap"`
}

type jsonDone struct {
	Type        string           `json:"type"` // done
	ExitCode    int              `json:"exit_code"`
	Error       string           `json:"error,omitempty"`
	Hint        string           `json:"hint,omitempty"`
	Frame       int64            `json:"frame"`
	FPS         float64          `json:"fps"`
	OutTime     float64          `json:"out_time"`
	Elapsed     float64          `json:"elapsed"`
	InSize      int64            `json:"in_size"`
	Size        int64            `json:"size"`
	Output      string           `json:"output,omitempty"`
	Verified    bool             `json:"verified"`
	Interrupted bool             `json:"interrupted"`
	PSNR        *jsonNumber      `json:"psnr,omitempty"` // null when infinite: the pictures are equal
	SSIM        *jsonNumber      `json:"ssim,omitempty"`
	Warnings    []string         `json:"warnings"`
	Damage      map[string]int64 `json:"damage"`
}

// jsonNumber is null where JSON has no number.
type jsonNumber float64

func (n jsonNumber) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func progressObject(s status) jsonProgress {
	p := jsonProgress{
		Type: "progress", Frame: s.Frames, FPS: rounded(s.FPS), Speed: rounded(s.Speed),
		OutTime: s.OutTime.Seconds(), Size: s.Bytes, Stages: stageTimes(s.snapshot),
	}
	if s.Total > 0 {
		p.Total = &s.Total
	}
	if s.OnGPU {
		p.GPU = gpuTimes(s.GPU)
	}
	if s.Left >= 0 {
		p.ETA = new(rounded(s.Left.Seconds()))
	}
	return p
}

func stageTimes(s snapshot) jsonStages {
	perFrame := func(busy time.Duration) float64 {
		return rounded(busy.Seconds() * 1000 / float64(max(1, s.Frames)))
	}
	return jsonStages{perFrame(s.DecodeBusy), perFrame(s.FilterBusy), perFrame(s.EncodeBusy)}
}

func gpuTimes(s gpu.Stats) *jsonGPU {
	ms := func(d time.Duration) float64 { return rounded(d.Seconds() * 1000) }
	in, kernel, out := s.PerFrame()
	return &jsonGPU{ms(in), ms(kernel), ms(out), rounded(s.Overlap())}
}

func doneObject(r result, err error, code int, warnings []string) jsonDone {
	d := jsonDone{
		Type: "done", ExitCode: code, Frame: r.Frames, OutTime: r.OutDuration.Seconds(),
		Elapsed: rounded(r.Elapsed.Seconds()), InSize: r.InBytes, Size: r.OutBytes, Output: r.Output,
		Verified: r.Verified, Interrupted: r.Interrupted,
		Warnings: append([]string{}, warnings...), Damage: map[string]int64{},
	}
	maps.Copy(d.Damage, r.Damage)
	if r.Elapsed > 0 {
		d.FPS = rounded(float64(r.Frames) / r.Elapsed.Seconds())
	}
	if err != nil {
		d.Error, d.Hint = err.Error(), hintOf(err)
	}
	if r.HasStats {
		d.PSNR, d.SSIM = new(jsonNumber(r.PSNR)), new(jsonNumber(r.SSIM))
	}
	return d
}

// rounded keeps three decimals: more is noise.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }
