package kernels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// BenchmarkCPU reports the time of a 1080p frame on one thread, planes to planes, and per tap, by
// depth. Bytes count the planes of 8 bits, in and out.
func BenchmarkCPU(b *testing.B) {
	for _, isa := range isa.Names() {
		for _, r := range []int{0, 1, 2, 3, 5, 10, 15} {
			for _, depth := range benchDepths {
				b.Run(fmt.Sprintf("%s/r=%d/%d", isa, r, depth), func(b *testing.B) { benchmarkCPU(b, isa, depth, DefaultBilateral(r)) })
			}
		}
	}
}

// BenchmarkOptions covers the range weights.
func BenchmarkOptions(b *testing.B) {
	for rw := range rangeNames {
		p := DefaultBilateral(3)
		p.Range = RangeWeight(rw)
		b.Run(p.Range.String(), func(b *testing.B) { benchmarkCPU(b, "", 8, p) })
	}
}

const benchW, benchH = 1920, 1080

var benchDepths = []int{8, 10}

func benchmarkCPU(b *testing.B, isa string, depth int, p Bilateral) {
	cpu := newCPU(b, 1, isa)
	format := pipeline.Format{Layout: pipeline.YUV420P.At(depth), Width: benchW, Height: benchH, Matrix: pipeline.BT709}
	src, dst := kerneltest.Frame(format), kerneltest.Frame(format)
	kerneltest.Scene(src, rand.New(rand.NewPCG(3, 4)))
	b.SetBytes(benchW * benchH * 3)
	f, err := cpu.Filter(p, nil)
	e2e.Must(b, err)
	for b.Loop() {
		e2e.Must(b, f.(*perFrame).run(context.Background(), dst, src))
	}
	taps := float64((2*p.Radius + 1) * (2*p.Radius + 1))
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(benchW*benchH*taps), "ns/tap")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/frame")
}
