package deflicker

import (
	"context"
	"testing"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

func BenchmarkFilter(b *testing.B) {
	format := pipeline.Format{Layout: pipeline.YUV420P, Width: 1920, Height: 1080, Matrix: pipeline.BT709}
	pool := pipeline.NewPool(kernels.Host{}, 4)
	defer pool.Close()
	var frames []*pipeline.Frame
	for t := range 8 {
		frames = append(frames, scene(format, 3*t, 1+0.05*float64(t%3)))
	}
	f := NewFilter(pool, 2)
	b.ResetTimer()
	for i := range b.N {
		if err := f.Process(context.Background(), frames[i%8].Retain(), func(out *pipeline.Frame) error { out.Release(); return nil }); err != nil {
			b.Fatal(err)
		}
	}
	f.Discard()
}
