package encode_test

import (
	"reflect"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/pipeline"
)

// someGrain is one of several kinds of grain.
func someGrain(kind int) *pipeline.FilmGrain {
	const weights = 24
	g := &pipeline.FilmGrain{
		Luma: []pipeline.GrainPoint{{Value: 10, Scale: 40}, {Value: 200, Scale: uint8(60 + kind)}}, ScalingShift: 8 + kind%4,
		Lag: 3, LumaWeights: make([]int8, weights), WeightShift: 6 + kind%4, NoiseShift: kind % 4,
		ByLuma: [2]int{64, -3}, Own: [2]int{1, 2}, Offset: [2]int{-256, 255}, Overlap: kind%2 == 0, ClipLimited: kind%3 == 0,
	}
	for i := range g.LumaWeights {
		g.LumaWeights[i] = int8(i - kind)
	}
	for c := range g.Chroma {
		g.Chroma[c] = []pipeline.GrainPoint{{Value: 128, Scale: uint8(20 * (c + 1))}}
		g.ChromaWeights[c] = make([]int8, weights+1)
		g.ChromaWeights[c][weights] = int8(-128 + kind)
	}
	return g
}

// grains decodes a file and returns the grain and the seed of each frame.
func grains(t *testing.T, path string) (all []*pipeline.FilmGrain, seeds []uint16) {
	t.Helper()
	newRigWith(t, path, decode.Options{Threads: 2, Layouts: pipeline.Layout.Valid}).each(t, func(f *pipeline.Frame) {
		all, seeds = append(all, f.Grain), append(seeds, f.GrainSeed)
	})
	return all, seeds
}

// Each picture of AV1 has the grain of its frame, although the encoder codes them in another order.
// AV1 made of AV1 has it again. Other codecs name the loss.
func TestFilmGrain(t *testing.T) {
	const frames = 45
	of := func(n int) (*pipeline.FilmGrain, uint16) {
		if n/7%3 == 2 {
			return nil, 0
		}
		return someGrain(n / 7 % 5), pipeline.GrainSeed(int64(n))
	}
	for _, c := range []struct{ preset, format, depth string }{{"12", "matroska", "yuv420p"}, {"8", "mp4", "yuv420p10le"}, {"10", "webm", "yuv420p"}} {
		t.Run(c.format+" "+c.preset, func(t *testing.T) {
			o := encode.Options{Format: c.format, Encoder: "libsvtav1", Preset: c.preset, CRF: 50, PixelFormat: c.depth, GOP: 20, FilmGrain: true}
			path := grained(t, sample, frames, o, of)
			check(t, path, frames, of)
			o.FilmGrain = false
			again := grained(t, path, frames, o, nil)
			check(t, again, frames, of)
		})
	}
}

func check(t *testing.T, path string, frames int, of func(n int) (*pipeline.FilmGrain, uint16)) {
	t.Helper()
	got, seeds := grains(t, path)
	if len(got) != frames {
		t.Fatalf("%d frames", len(got))
	}
	for n, g := range got {
		want, seed := of(n)
		if !reflect.DeepEqual(g, want) || seeds[n] != seed {
			t.Errorf("frame %d: %+v, seed %d; want %+v, %d", n, g, seeds[n], want, seed)
		}
	}
}

// grained encodes frames with the given grain; nil keeps their own.
func grained(t *testing.T, input string, frames int64, o encode.Options, of func(n int) (*pipeline.FilmGrain, uint16)) string {
	t.Helper()
	r := newRigWith(t, input, decode.Options{Threads: 2, Frames: frames, Layouts: pipeline.Layout.Valid})
	out := r.changed(t, o, func(n int, f *pipeline.Frame) {
		if of != nil {
			f.Grain, f.GrainSeed = of(n)
		}
	})
	if lost := out.NotKept(r.in.Extras()); len(lost) > 0 {
		t.Errorf("not kept: %v", lost)
	}
	return r.path
}
