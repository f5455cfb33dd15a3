package quality

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"vidfilter/pipeline"
)

// Kind is a kind of noise.
type Kind struct {
	Name  string
	Title string
	sigma float64 // about, for the first strength that is tried
	add   func(r *rand.Rand, f *pipeline.Frame, bar int)
	crf   int // of x264, after the noise; 0: not coded by it

	coder []string // options of an ffmpeg program that codes it instead; nil: none
}

// Clean reports whether the pictures have no noise but a codec's.
func (k Kind) Clean() bool { return k.add == nil }

// Coded reports whether the noise has gone through a codec.
func (k Kind) Coded() bool { return (k.crf > 0 || k.coder != nil) && !k.Clean() }

// broad are the kinds of noise with which all others are measured. Elsewhere it is those of brief,
// unless a user names them: they decide nearly everything, and the rest takes most of the time.
var (
	broad = []string{"w10", "w25", "x23"}
	brief = []string{NLMeans, "hqdn3d"}
)

// measures reports whether a method is measured with this kind; glob is what a user wants.
func (k Kind) measures(method, glob string) bool {
	switch {
	case k.Title == pairKind:
		return method != "bilateral" && method != "recursive"
	case method == Untouched || strings.HasPrefix(method, "ours"), slices.Contains(broad, k.Name):
		return true
	}
	return matches(glob, method, brief)
}

// Kinds returns all kinds of noise.
func Kinds() []Kind {
	return []Kind{
		{Name: "w5", Title: "white, sigma 5", sigma: 5, add: white(5)},
		{Name: "w10", Title: "white, sigma 10", sigma: 10, add: white(10)},
		{Name: "w25", Title: "white, sigma 25", sigma: 25, add: white(25)},
		{Name: "pg15", Title: "Poisson-Gaussian, sigma 15 at mid-grey", sigma: 11, add: poisson(15)},
		{Name: "gr10", Title: "grain of about a sample, sigma 10", sigma: 12, add: grain(10)},
		{Name: "x18", Title: "white, sigma 10, coded by x264 at crf 18", sigma: 10, add: white(10), crf: 18},
		{Name: "x23", Title: "white, sigma 10, coded by x264 at crf 23", sigma: 9, add: white(10), crf: 23},
		{Name: "x28", Title: "white, sigma 10, coded by x264 at crf 28", sigma: 7, add: white(10), crf: 28},
		{Name: "clean", Title: "none", sigma: 0.5},
		{Name: "c23", Title: "none, coded by x264 at crf 23", sigma: 0.5, crf: 23},
		{Name: "xg", Title: "white, sigma 10, coded by x264 at crf 28, a key frame each 5", sigma: 7, add: white(10), coder: x264Groups},
		{Name: "xb", Title: "white, sigma 10, coded by x264 at a constant rate of 600 kb/s", sigma: 5, add: white(10), coder: x264Constant},
		{Name: "m2", Title: "white, sigma 10, coded as MPEG-2 of quantiser 6", sigma: 9, add: white(10), coder: mpeg2},
		{Name: "v9", Title: "white, sigma 10, coded by libvpx as VP9 at crf 36", sigma: 7, add: white(10), coder: vp9},
		{Name: "a1", Title: "white, sigma 10, coded by SVT-AV1 at crf 36", sigma: 7, add: white(10), coder: av1},
		{Name: "cm2", Title: "none, coded as MPEG-2 of quantiser 6", sigma: 0.5, coder: mpeg2},
		{Name: "cxb", Title: "none, coded by x264 at a constant rate of 150 kb/s", sigma: 0.5, coder: x264Starved},
		{Name: "cv9", Title: "none, coded by libvpx as VP9 at crf 36", sigma: 0.5, coder: vp9},
		{Name: "ca1", Title: "none, coded by SVT-AV1 at crf 36", sigma: 0.5, coder: av1},
	}
}

// Options of ffmpeg. At a constant rate x264 makes another stream on every run unless it has one
// thread.
var (
	x264Groups   = []string{"-c:v", "libx264", "-crf", "28", "-g", "5"}
	x264Constant = []string{"-c:v", "libx264", "-b:v", "600k", "-maxrate", "600k", "-bufsize", "300k", "-threads", "1"}
	x264Starved  = []string{"-c:v", "libx264", "-b:v", "150k", "-maxrate", "150k", "-bufsize", "75k", "-threads", "1"}
	mpeg2        = []string{"-c:v", "mpeg2video", "-q:v", "6", "-bf", "2", "-g", "6"}
	vp9          = []string{"-c:v", "libvpx-vp9", "-crf", "36", "-b:v", "0", "-cpu-used", "4", "-row-mt", "0"}
	av1          = []string{"-c:v", "libsvtav1", "-crf", "36", "-preset", "8"}
)

// KindNames lists the kinds.
func KindNames() (names []string) {
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// noisy returns the frames with noise, before any coding. Pictures that are shown twice have the
// same noise, and black bars have none.
func (k Kind) noisy(clean []*pipeline.Frame, source func(int) int, bar int) []*pipeline.Frame {
	out := make([]*pipeline.Frame, len(clean))
	for t, f := range clean {
		out[t] = copyOf(f)
		if k.add != nil {
			k.add(rand.New(rand.NewPCG(uint64(source(t)), 77)), out[t], bar)
		}
	}
	return out
}

// copyOf returns the frame in Go's memory.
func copyOf(f *pipeline.Frame) *pipeline.Frame {
	out := pipeline.Blank(f.Format)
	out.CopySamples(f)
	out.PTS, out.Duration = f.PTS, f.Duration
	out.Interlaced, out.TopFieldFirst, out.Quantiser = f.Interlaced, f.TopFieldFirst, f.Quantiser
	return out
}

// each changes the samples of each plane outside of the bars.
func each(f *pipeline.Frame, bar int, change func(plane, x, y int, v float64) float64) {
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		black := bar * rows / f.Height
		for y := black; y < rows-black; y++ {
			row := f.Row(i, y)
			for x, v := range row {
				row[x] = byte(min(max(math.Floor(change(i, x, y, float64(v))+0.5), 0), 255))
			}
		}
	}
}

func white(sigma float64) func(*rand.Rand, *pipeline.Frame, int) {
	return func(r *rand.Rand, f *pipeline.Frame, bar int) {
		each(f, bar, func(_, _, _ int, v float64) float64 { return v + sigma*r.NormFloat64() })
	}
}

// poisson is noise whose variance rises with the brightness, as a sensor's does.
func poisson(sigma float64) func(*rand.Rand, *pipeline.Frame, int) {
	return func(r *rand.Rand, f *pipeline.Frame, bar int) {
		each(f, bar, func(_, _, _ int, v float64) float64 {
			return v + sigma*math.Sqrt(0.1225+0.8775*v/128)*r.NormFloat64()
		})
	}
}

// grain is white noise that was blurred.
func grain(sigma float64) func(*rand.Rand, *pipeline.Frame, int) {
	return func(r *rand.Rand, f *pipeline.Frame, bar int) {
		var fields [3][]float64
		for i := range fields {
			w, h := f.PlaneSize(i)
			blur := 1.0
			if i > 0 {
				blur = 0.6
			}
			fields[i] = blurred(r, w, h, blur)
		}
		each(f, bar, func(plane, x, y int, v float64) float64 {
			w, _ := f.PlaneSize(plane)
			return v + sigma*fields[plane][y*w+x]
		})
	}
}

// blurred returns noise of standard deviation 1, smoothed by a Gaussian.
func blurred(r *rand.Rand, w, h int, size float64) []float64 {
	const reach = 4
	var taps [2*reach + 1]float64
	squares := 0.0
	for i := range taps {
		d := float64(i-reach) / size
		taps[i] = math.Exp(-d * d / 2)
		squares += taps[i] * taps[i]
	}
	wide, high := w+2*reach, h+2*reach
	raw := make([]float64, wide*high)
	for i := range raw {
		raw[i] = r.NormFloat64()
	}
	across, out := make([]float64, w*high), make([]float64, w*h)
	for y := range high {
		for x := range w {
			for i, k := range taps {
				across[y*w+x] += k * raw[y*wide+x+i]
			}
		}
	}
	for y := range h {
		for x := range w {
			for i, k := range taps {
				out[y*w+x] += k * across[(y+i)*w+x] / squares
			}
		}
	}
	return out
}
