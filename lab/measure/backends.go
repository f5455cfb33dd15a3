package measure

import (
	"errors"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
)

// Backends are the backends to measure. The caller closes them.
type Backends struct {
	CPU   *kernels.CPU
	GPU   *gpu.Backend // may be nil
	NoGPU string       // reason that GPU is nil

	Machine Machine // with both
}

// Open opens the CPU and, unless onlyCPU, the first GPU of indexes (of all, if empty). A missing
// GPU is an error only if needed. After an error the caller still closes the backends.
func Open(onlyCPU bool, indexes []int, needed bool) (p Backends, err error) {
	if p.CPU, err = kernels.NewCPU(0, ""); err != nil {
		return p, err
	}
	if onlyCPU {
		p.NoGPU = "only the CPU was asked for"
	} else if p.GPU, err = OpenGPU(indexes, 0); err != nil {
		if needed || !errors.Is(err, gpu.ErrDevice) {
			return p, err
		}
		p.NoGPU = err.Error()
	}
	p.Machine, err = describeMachine(p.CPU, p.GPU)
	return p, err
}

// patience allows for a batch of the slowest kernel: the paper's at its largest radius, on an old
// GPU.
const patience = 3 * time.Minute

// OpenGPU opens a GPU with patience for slow kernels; streams is as in gpu.Options. The caller
// closes it.
func OpenGPU(indexes []int, streams int) (*gpu.Backend, error) {
	return gpu.Open(gpu.Options{Indexes: indexes, Streams: streams, Patience: patience})
}

// Close closes the open backends.
func (p *Backends) Close() {
	if p.GPU != nil {
		_ = p.GPU.Close()
	}
	if p.CPU != nil {
		_ = p.CPU.Close()
	}
}
