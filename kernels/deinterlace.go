package kernels

import (
	"context"

	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/interlace/cpu"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// Deinterlace makes progressive frames from fields: see package interlace. It has no options of its
// own, since another filter's option selects it.
type Deinterlace struct {
	Single      bool // one picture per interlaced frame instead of one per field
	Progressive bool // assume that no frame is interlaced, unless the first is
}

var deinterlaceFilter = &FilterType{Name: "deinterlace", Place: PlaceDeinterlace, Zero: Deinterlace{}}

func (Deinterlace) Filter() *FilterType          { return deinterlaceFilter }
func (Deinterlace) Takes(l pipeline.Layout) bool { return l.Valid() }
func (Deinterlace) Identity() bool               { return false }

func (d Deinterlace) options() interlace.Options {
	return interlace.Options{Single: d.Single, Progressive: d.Progressive}
}

// Window implements Stage.
func (d Deinterlace) Window() pipeline.Window { return d.options().Reads() }

// PixelMemory implements Keeper. It is the CPU engine's: up to 15 estimates of fields in 4:4:4.
func (Deinterlace) PixelMemory() int { return 280 }

// On returns the filter with an engine.
func (d Deinterlace) On(e interlace.Engine, pool *pipeline.Pool) pipeline.Filter {
	return interlace.NewFilter(e, pool, d.options())
}

// Reference returns the filter by its definition in Go: slow, to check others on small frames.
func (d Deinterlace) Reference(pool *pipeline.Pool) pipeline.Filter {
	return d.On(interlace.Plain{}, pool)
}

// OnCPU implements the interface OnCPU.
func (d Deinterlace) OnCPU(c *CPU, pool *pipeline.Pool) (pipeline.Filter, error) {
	return d.On(cpu.New(c.isa, func(ctx context.Context, n int, do func(i int)) {
		c.each(ctx, n, func(_, i int) { do(i) })
	}, c.Host), pool), nil
}

// OnHost implements the interface OnHost, for other backends.
func (d Deinterlace) OnHost(pool *pipeline.Pool, in Setting) (pipeline.Filter, error) {
	return d.On(cpu.New(isa.Fastest(), eachOf(in.Threads), Host{}), pool), nil
}

// eachOf returns a cpu.Each that starts threads goroutines, or GOMAXPROCS if threads is 0.
func eachOf(threads int) cpu.Each {
	return func(ctx context.Context, n int, do func(i int)) {
		plane.Each(threads, n, func(i int) {
			if ctx.Err() == nil {
				do(i)
			}
		})
	}
}
