package cpu_test

import (
	"context"
	"fmt"
	"testing"

	"vidfilter/interlace"
	"vidfilter/interlace/cpu"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// BenchmarkFilter times one frame of 1080 rows, or two pictures, on one thread.
func BenchmarkFilter(b *testing.B) {
	for _, depth := range []int{8, 10} {
		in := noisy(pipeline.Format{Layout: pipeline.YUV420P.At(depth), Width: 1920, Height: 1080}, 2, true)
		for _, name := range isa.Names() {
			b.Run(fmt.Sprint(depth, "bit/", name), func(b *testing.B) {
				set, err := isa.Find(name)
				e2e.Must(b, err)
				pool := pipeline.NewPool(kernels.Host{}, 4)
				defer pool.Close()
				f := interlace.NewFilter(cpu.New(set, e2e.Workers(1), kernels.Host{}), pool, interlace.Options{})
				emit := func(r *pipeline.Frame) error {
					r.Release()
					return nil
				}
				for n := range b.N {
					e2e.Must(b, f.Process(context.Background(), in[n%2].Retain(), emit))
				}
				e2e.Must(b, f.Flush(context.Background(), emit))
			})
		}
	}
}
