package main

import (
	"fmt"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// openBackend chooses where the filter runs. auto takes the CPU when there is no GPU that can do it, and says so.
func (o *options) openBackend(u *ui) (kernels.Backend, error) {
	if o.cpuForm() {
		b, err := kernels.NewCPUForm(o.Params.Kernel, o.Threads)
		if err == nil {
			u.verbose("filtering on %s", b.Name())
		}
		return b, err
	}
	if o.Join == "" && o.Device.Kind != "cpu" {
		b, err := o.openGPU(u)
		if err == nil {
			u.verbose("filtering on %s", b.Name())
			b.Warm(o.Params) // while the input is opened
			return b, nil
		}
		if o.Device.Kind == "cuda" || o.Params.Kernel != "" {
			return nil, o.otherwise(err)
		}
		u.info("no GPU (%v): filtering on the CPU", err)
	}
	cpu, err := kernels.NewCPU(o.Threads, "")
	if err != nil {
		return nil, err
	}
	u.verbose("filtering on %s", cpu.Name())
	return cpu, nil
}

// openGPU returns GPUs that can do what is asked for.
func (o *options) openGPU(u *ui) (*gpu.Backend, error) {
	b, err := gpu.Open(o.gpuOptions(u))
	if err != nil {
		return nil, err
	}
	if err := b.Can(o.Params); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

func (o *options) gpuOptions(u *ui) gpu.Options {
	return gpu.Options{Indexes: o.Device.Indexes, All: o.Device.All, Streams: o.Streams, Verbose: u.verbose}
}

// otherwise adds the way out to an error of a device in a job.
func (o *options) otherwise(err error) error {
	if o.Params.Kernel == "" {
		return onlyCPU(err)
	}
	hint := fmt.Sprintf("the kernel %s is for GPUs; without --kernel the CPU filters, too", o.Params.Kernel)
	if h := hintOf(err); h != "" {
		hint += "; " + h
	}
	return &hinted{err, hint}
}

// onlyCPU adds the way out to an error of a device.
func onlyCPU(err error) error {
	hint := "--device cpu filters on the CPU"
	if h := hintOf(err); h != "" {
		hint += "; " + h
	}
	return &hinted{err, hint}
}

// hinted gives an error of another package a hint.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }
func (h *hinted) Hint() string  { return h.hint }

// framesInFlight is how many frames may wait for the encoder: enough to even out the stages, little
// against what decoder and encoder hold themselves.
const framesInFlight = 4

// inFlight returns how many frames of a size may wait for the encoder. Unless the person says, they take no
// more than an eighth of the memory that is free.
func (o *options) inFlight(width, height int) int {
	if o.FramesInFlight > 0 {
		return o.FramesInFlight
	}
	const bytes = 3 // a pixel, at most
	room := pipeline.FreeMemory() / 8 / (bytes*int64(width)*int64(height) + 1)
	return int(min(max(room, 1), framesInFlight))
}

// gpuStats returns the times of the GPUs, or false for a job on the CPU.
func (j *job) gpuStats() (gpu.Stats, bool) {
	b, ok := j.backend.(*gpu.Backend)
	if !ok {
		return gpu.Stats{}, false
	}
	return b.Stats(), true
}

// tellGPU says how the GPUs did, to those who ask for details.
func (j *job) tellGPU() {
	s, ok := j.gpuStats()
	if !ok || s.Frames == 0 {
		return
	}
	in, kernel, out := s.PerFrame()
	j.ui.verbose("cold start: %v", j.backend.(*gpu.Backend).ColdStart())
	j.ui.verbose("a frame on the GPU: copy in %s, kernel %s, copy out %s; overlap %.2f",
		milliseconds(in), milliseconds(kernel), milliseconds(out), s.Overlap())
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}
