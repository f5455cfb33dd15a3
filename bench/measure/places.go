package measure

import (
	"errors"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
)

// Places are the backends that are measured. The caller closes them.
type Places struct {
	CPU   *kernels.CPU
	GPU   *gpu.Backend // nil when there is none
	NoGPU string       // why there is none; "" when there is one
}

// Open opens the CPU and, unless onlyCPU, the first of the GPUs with these indexes, of all where there are none. No GPU is an error
// where it is needed; after an error what was opened is in the places.
func Open(onlyCPU bool, indexes []int, needed bool) (p Places, err error) {
	if p.CPU, err = kernels.NewCPU(0, ""); err != nil {
		return p, err
	}
	if onlyCPU {
		p.NoGPU = "only the CPU was asked for"
		return p, nil
	}
	p.GPU, err = OpenGPU(indexes, 0)
	if err != nil && !needed && errors.Is(err, gpu.ErrDevice) {
		p.GPU, p.NoGPU = nil, err.Error()
		return p, nil
	}
	return p, err
}

// patience is how long one batch of the slowest kernel may take: the paper's at its largest radius, on an old GPU.
const patience = 3 * time.Minute

// OpenGPU opens a GPU that waits long for a kernel; streams is as in gpu.Options. The caller closes it.
func OpenGPU(indexes []int, streams int) (*gpu.Backend, error) {
	return gpu.Open(gpu.Options{Indexes: indexes, Streams: streams, Patience: patience})
}

// Close closes what is open.
func (p Places) Close() {
	if p.GPU != nil {
		_ = p.GPU.Close()
	}
	if p.CPU != nil {
		_ = p.CPU.Close()
	}
}
