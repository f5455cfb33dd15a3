package cpu

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/enginetest"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
)

// TestStreams filters streams of every tier, layout, depth and kind of scan on every instruction
// set, and compares pictures in the middle and at the end with the reference's. These and the ones
// before them are filtered. Results have more bits in turn.
func TestStreams(t *testing.T) {
	var all, otherVectors atomic.Int32
	t.Cleanup(func() {
		if 10*otherVectors.Load() > all.Load() {
			t.Errorf("%d of %d frames have other vectors", otherVectors.Load(), all.Load())
		}
	})
	for name, tier := range tiers {
		for i, layout := range pipeline.Layouts() {
			info := layout.Info()
			odd := info.SemiPlanar || info.Depth == 9 || info.Depth == 14
			if odd && tier != denoise.Best { // once is enough
				continue
			}
			frames := 15 // more than a window
			if tier == denoise.Best {
				frames = 26 // and two runs of the past
			}
			for _, interlaced := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %v, fields %v", name, layout, interlaced), func(t *testing.T) {
					t.Parallel()
					s := stream{pipeline.Format{Layout: layout, Width: 64 - 3*(i%2), Height: 48 + i%3}, interlaced, frames}
					o := denoise.Options{Settings: denoise.Default(tier), Sigma: []float64{5, 18}[(i+int(tier))%2]}
					o.Grain = 0.1 * float64(i%2)
					o.Depth = deepened(i+int(tier), interlaced)
					bits := 10                              // exactness: of more, the last may differ
					if turn := i + int(tier); turn%4 == 1 { // each layout in some tier
						o.Luma, o.Chroma = []float64{0, 0, 1, 0.6}[i%4], []float64{1, 0.6, 0, 0}[i%4]
					} else if turn%4 == 2 {
						o.Settings = []denoise.Settings{o.TemporalOnly(), o.SpatialOnly()}[i/2%2]
						bits = 8 // patches with little weight count in few units
					}
					compared := []int{7, frames - 1}
					some := func(e denoise.Engine, numbers ...int) denoise.Engine {
						return inColour{&enginetest.Some{Engine: e, Numbers: numbers, Interlaced: s.interlaced}}
					}
					want := s.filter(t, some(denoise.Plain{}, compared...), o)
					for _, isa := range isa.Names() {
						got := s.filter(t, some(newEngine(t, isa, 1), 6, 7, frames-2, frames-1), o)
						for _, n := range compared {
							all.Add(1)
							if checkFrame(t, fmt.Sprint(isa, ", frame ", n), got[n], want[n], bits) {
								otherVectors.Add(1)
							}
							checkLeft(t, fmt.Sprint(isa, ", frame ", n), got[n], s.frame(n), o.Settings)
						}
					}
				})
			}
		}
	}
}

// deepened is how many bits results have at the least.
func deepened(turn int, interlaced bool) int {
	if interlaced {
		turn += 2
	}
	return []int{0, 10, 12, 16}[turn%4]
}

// stream is a video of noisy pictures.
type stream struct {
	format     pipeline.Format
	interlaced bool
	frames     int
}

// filter returns the frames that come out of a filter with an engine.
func (s stream) filter(t *testing.T, e denoise.Engine, o denoise.Options) []*pipeline.Frame {
	t.Helper()
	var in []*pipeline.Frame
	for n := range s.frames {
		in = append(in, s.frame(n))
	}
	return filtered(t, denoise.NewFilter(e, pipeline.NewPool(enginetest.Memory{}, s.frames), o), in)
}

// filtered returns the frames that come out of a filter. It takes copies.
func filtered(t *testing.T, f pipeline.Filter, in []*pipeline.Frame) (out []*pipeline.Frame) {
	t.Helper()
	emit := func(f *pipeline.Frame) error {
		out = append(out, f)
		return nil
	}
	for _, frame := range in {
		e2e.Must(t, f.Process(t.Context(), frame.Retain(), emit))
	}
	e2e.Must(t, f.Flush(t.Context(), emit))
	if len(out) != len(in) {
		t.Fatalf("%d frames of %d", len(out), len(in))
	}
	return out
}

func (s stream) frame(n int) *pipeline.Frame {
	f := newFrame(s.format)
	denoisetest.DrawFrame(f, n)
	f.PTS, f.Interlaced = int64(n), s.interlaced
	return f
}

// inColour has an engine take noise with a spectrum and a curve for white noise.
type inColour struct{ denoise.Engine }

func (c inColour) Denoise(ctx context.Context, j denoise.Job) (denoise.Wait, error) {
	j.Noise = coloured(j.Noise.Sigma[0])
	return c.Engine.Denoise(ctx, j)
}

// checkLeft: planes of strength 0 keep their bits.
func checkLeft(t *testing.T, what string, got, source *pipeline.Frame, s denoise.Settings) {
	t.Helper()
	info, was := got.Layout.Info(), source.Layout.Info()
	if info.RGB {
		return
	}
	for i, y := range got.Rows() {
		if strength := []float64{s.Luma, s.Chroma}[min(i, 1)]; strength != 0 {
			continue
		}
		g, w := got.Row(i, y), source.Row(i, y)
		for x := range len(w) / was.SampleBytes() {
			most := 1<<was.Depth - 1
			if min(kerneltest.Sample(info, g, x), 1<<info.Depth-1) != min(kerneltest.Sample(was, w, x), most)<<(info.Depth-was.Depth) {
				t.Fatalf("%s: row %d of plane %d is filtered", what, y, i)
			}
		}
	}
}

// checkFrame compares frames to a precision of bits. RGB adds up three differences. It reports
// whether some patches differ as if they had other vectors: where two cost nearly the same, the
// last bit of the pilot decides.
func checkFrame(t *testing.T, what string, got, want *pipeline.Frame, bits int) (otherVectors bool) {
	t.Helper()
	info := want.Layout.Info()
	level := 1 << max(info.Depth-bits, 0)
	if info.RGB {
		level *= 3
	}
	samples, apart, most := 0, 0, 0
	for i, y := range want.Rows() {
		g, w := got.Row(i, y), want.Row(i, y)
		for x := range len(w) / info.SampleBytes() {
			d := kerneltest.Sample(info, g, x) - kerneltest.Sample(info, w, x)
			d = max(d, -d)
			samples++
			most = max(most, d)
			if d > level {
				apart++
			}
		}
	}
	if most <= 2*level && apart <= samples/1000 {
		return false
	}
	const patches = 2 * 16 * 16
	if most > 6*level || apart > patches {
		t.Errorf("%s: %d of %d samples are more than %d apart, at most %d", what, apart, samples, level, most)
	}
	return true
}
