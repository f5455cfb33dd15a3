package kernels

import (
	"context"

	"vidfilter/pipeline"
)

// runner filters in into out, which has the same format.
type runner interface {
	run(ctx context.Context, out, in *pipeline.Frame) error
}

// Filter returns a filter that holds no frame between calls. Its Process fails with the context's cause
// when that ends, at the next tile or strip.
func (c *CPU) Filter(p Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return &hostFilter{pool, c.runner(p).run}, nil
}

func (c *CPU) runner(p Params) runner {
	if p.Filter == Recursive {
		return newCPURecursive(c, p)
	}
	return newCPUBilateral(c, p)
}
