package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"vidfilter/denoise"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// cpuTime returns the CPU time of the process.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	e2e.Must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// stage measures the CPU time of a stage per frame: the mean, and the minimum, which on a busy
// machine is closest to the cost of the work itself.
func stage(b *testing.B, e *Engine, name string, do func()) {
	b.Run(name, func(b *testing.B) {
		do()
		start := cpuTime(b)
		b.ResetTimer()
		least := time.Duration(math.MaxInt64)
		for range b.N {
			began := cpuTime(b)
			do()
			least = min(least, cpuTime(b)-began)
		}
		b.ReportMetric(float64(least)/1e6, "least-ms/frame")
		b.ReportMetric(float64(e.heap.held.Load()>>20), "MiB")
		b.ReportMetric(float64(cpuTime(b)-start)/float64(b.N)/1e6, "cpu-ms/frame")
	})
}

// moving draws noisy frames of patches of random brightness. All except the right third moves by 3
// and 1 samples a frame.
func moving(format pipeline.Format, frames int, sigma float64) (all []*pipeline.Frame) {
	r := rand.New(rand.NewPCG(1, 2))
	unit := 1 << (format.Layout.Info().Depth - 8)
	var cells [64][64]int
	for i := range cells {
		for k := range cells[i] {
			cells[i][k] = (30 + r.IntN(190)) * unit
		}
	}
	var grain [4096]int
	for i := range grain {
		grain[i] = int(math.Round(sigma * float64(unit) * r.NormFloat64()))
	}
	for t := range frames {
		f := newFrame(format)
		pic := plane.Of(f, plane.Whole)
		for _, p := range pic.Planes {
			for y := range p.Height {
				row := p.Row(y)
				for x := range row {
					px, py := x, y
					if x < p.Width*2/3 {
						px, py = x+3*(frames-t), y+frames-t
					}
					// bilinear between the corners of patches of 16x16
					cx, cy, fx, fy := px>>4, py>>4, px&15, py&15
					a, b := &cells[cy&63], &cells[(cy+1)&63]
					top := a[cx&63]*(16-fx) + a[(cx+1)&63]*fx
					bottom := b[cx&63]*(16-fx) + b[(cx+1)&63]*fx
					v := (top*(16-fy)+bottom*fy)>>8 + grain[r.Uint64()&4095]
					row[x] = uint16(min(max(v, 0), p.Max()))
				}
			}
		}
		pic.Into(f, plane.Whole)
		all = append(all, f)
	}
	return all
}

var benchSizes = map[string][2]int{"1080p": {1920, 1080}, "4K": {3840, 2160}}

// BenchmarkFilter times whole frames, as they come one after another: planes are made once for
// each frame.
func BenchmarkFilter(b *testing.B) {
	for size, wh := range benchSizes {
		for _, depth := range []int{8, 10} {
			b.Run(fmt.Sprint(size, "/", depth, "bit"), func(b *testing.B) {
				format := pipeline.Format{Layout: pipeline.YUV420P.At(depth), Width: wh[0], Height: wh[1]}
				frames, out := moving(format, 13, 10), newFrame(format)
				for _, isa := range isa.Names() {
					for name, tier := range tiers {
						benchmarkFilter(b, isa+"/"+name, isa, frames, out, denoise.Default(tier))
					}
				}
			})
		}
	}
}

func benchmarkFilter(b *testing.B, name, isa string, frames []*pipeline.Frame, out *pipeline.Frame, s denoise.Settings) {
	e := newEngine(b, isa, 1)
	before, after := s.Window()
	var window []*frame
	push := func() {
		f, err := e.prepare(frames[len(window)%len(frames)], plane.Whole)
		e2e.Must(b, err)
		window = append(window, f)
	}
	for range before + after + 1 {
		push()
	}
	stage(b, e, name, func() {
		e2e.Must(b, e.filter(out, window, before, noise.Flat(10), s))
		oldest := window[0]
		window = window[1:]
		f, err := e.prepare(frames[0], plane.Whole)
		e2e.Must(b, err)
		window = append(window, f)
		oldest.Release()
	})
	for _, f := range window {
		f.Release()
	}
}

// BenchmarkStages times the stages of a frame.
func BenchmarkStages(b *testing.B) {
	for _, depth := range []int{8, 10} {
		b.Run(fmt.Sprint(depth, "bit"), func(b *testing.B) { benchmarkStages(b, depth) })
	}
}

func benchmarkStages(b *testing.B, depth int) {
	const sigma = 10
	format := pipeline.Format{Layout: pipeline.YUV420P.At(depth), Width: 1920, Height: 1080}
	frames := moving(format, 7, sigma)
	for _, isa := range isa.Names() {
		e, err := newEngine(b, isa, 1), error(nil)
		must := func(err error) {
			e2e.Must(b, err)
		}
		stage(b, e, isa+"/planes", func() {
			f, err := e.prepare(frames[0], plane.Whole)
			must(err)
			_, err = f.forSearch(false)
			must(err)
			_, err = f.forPasses(denoise.Planes{true, true, true})
			must(err)
			f.Release()
		})
		var window []*frame
		for _, f := range frames {
			w, err := e.prepare(f, plane.Whole)
			must(err)
			window = append(window, w)
		}
		for name, tier := range map[string]denoise.Tier{"fast": denoise.Fast, "good": denoise.Good} {
			s := denoise.Default(tier)
			f := &filter{Settings: s, Engine: e, noise: noise.Flat(sigma), window: window, centre: 3, frame: window[3], filtered: denoise.Planes{true, true, true}, pilots: denoise.Planes{true, true, true}, sigma: sigma, depth: depth}
			f.search = motion.NewSearch(s.Motion, sigma)
			var near []*neighbour
			clean := func() { f.release(); f.blocks = nil }
			prepare := func() {
				f.result, err = f.newPlanes(denoise.Planes{true, true, true})
				must(err)
				if s.TwoPasses {
					must(f.preparePilot())
				}
				near, err = f.near()
				must(err)
			}
			stage(b, e, isa+"/"+name+"/search", func() { prepare(); clean() })
			prepare()
			stage(b, e, isa+"/"+name+"/first", func() { must(f.first(near)) })
			if s.TwoPasses {
				stage(b, e, isa+"/"+name+"/refine", func() { _, err := f.refined(near); must(err) })
				stage(b, e, isa+"/"+name+"/second", func() { must(f.second(near)) })
			}
			clean()
		}
		for _, w := range window {
			w.Release()
		}
		e.Idle()
	}
}
