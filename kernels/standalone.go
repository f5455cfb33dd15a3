package kernels

import "vidfilter/pipeline"

// Standalone is a filter on the CPU with threads and memory of its own.
type Standalone struct {
	pipeline.Filter                // for one stream of frames
	Input           *pipeline.Pool // for the source's frames

	cpu     *CPU
	results *pipeline.Pool
}

// NewStandalone starts a filter on all cores. The caller must close it after its last frame.
func NewStandalone(s Stage) (*Standalone, error) {
	cpu, err := NewCPU(0, "")
	if err != nil {
		return nil, err
	}
	const waiting = 4 // results, before and in an encoder
	a := &Standalone{Input: pipeline.NewPool(cpu.Input(), 1), cpu: cpu, results: pipeline.NewPool(cpu, cpu.Held(s)+waiting)}
	if a.Filter, err = cpu.Filter(s, a.results); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Discard implements pipeline.Discarder.
func (a *Standalone) Discard() { pipeline.Discard(a.Filter) }

// Close frees the filter. Frames of its pools stay valid until they are released.
func (a *Standalone) Close() {
	a.results.Close()
	a.Input.Close()
	_ = a.cpu.Close()
}
