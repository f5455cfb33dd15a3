package quality

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"vidfilter/pipeline"
)

// NoiseKind is a kind of noise.
type NoiseKind struct {
	Name  string
	Title string
	sigma float64                                           // about, for the first strength that is tried
	add   func(r *rand.Rand, f *pipeline.Frame, t, bar int) // to picture t
	crf   int                                               // of x264, after the noise; 0: not coded by it

	coder []string // options of an ffmpeg program that codes it instead, or nil
}

// broad are the kinds of noise with which all others are measured. Elsewhere it is brief's methods,
// unless a user names them: they decide nearly everything, and the rest takes most of the time.
var (
	broad = []string{"w10", "w25", "x23"}
	brief = []string{NLMeans, "hqdn3d"}
)

// measures reports whether a method is measured with this kind; glob is the user's choice.
func (k NoiseKind) measures(method, glob string) bool {
	switch {
	case k.Title == pairKind:
		return method != "bilateral" && method != "recursive"
	case method == Untouched || strings.HasPrefix(method, "ours"), slices.Contains(broad, k.Name):
		return true
	}
	return matches(glob, method, brief)
}

// Kinds returns all kinds of noise.
func Kinds() []NoiseKind {
	return []NoiseKind{
		{Name: "w5", Title: "white, sigma 5", sigma: 5, add: white(5)},
		{Name: "w10", Title: "white, sigma 10", sigma: 10, add: white(10)},
		{Name: "w25", Title: "white, sigma 25", sigma: 25, add: white(25)},
		{Name: "pg15", Title: "Poisson-Gaussian, sigma 15 at mid-grey", sigma: 11, add: poisson(15)},
		{Name: "gr10", Title: "grain of about a sample, sigma 10", sigma: 12, add: coarse(10, size{1, 1}, size{0.6, 0.6})},
		{Name: "b2", Title: "blotches: blurred by 2 samples, sigma 8", sigma: 10, add: coarse(8, size{2, 2}, size{2, 2})},
		{Name: "b4", Title: "blotches: blurred by 4 samples, sigma 8", sigma: 10, add: coarse(8, size{4, 4}, size{4, 4})},
		{Name: "vhs", Title: "of VHS, sigma 6: luma blurred across by 1.2 samples, chroma by 3.5", sigma: 6, add: coarse(6, size{1.2, 0}, size{3.5, 0.7})},
		{Name: "hum", Title: "white, sigma 5, and a hum bar", sigma: 5, add: onTape(5, hum)},
		{Name: "jit", Title: "white, sigma 5, and line jitter", sigma: 5, add: onTape(5, jitter)},
		{Name: "dot", Title: "white, sigma 5, and dot crawl", sigma: 5, add: onTape(5, dotCrawl)},
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
// same noise, and black bars are clean.
func (k NoiseKind) noisy(clean []*pipeline.Frame, source func(int) int, bar int) []*pipeline.Frame {
	out := make([]*pipeline.Frame, len(clean))
	for t, f := range clean {
		out[t] = copyOf(f)
		if k.add != nil {
			k.add(rand.New(rand.NewPCG(uint64(source(t)), 77)), out[t], source(t), bar)
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

func white(sigma float64) func(*rand.Rand, *pipeline.Frame, int, int) {
	return func(r *rand.Rand, f *pipeline.Frame, _, bar int) {
		each(f, bar, func(_, _, _ int, v float64) float64 { return v + sigma*r.NormFloat64() })
	}
}

// poisson is noise whose variance rises with the brightness, as a sensor's does.
func poisson(sigma float64) func(*rand.Rand, *pipeline.Frame, int, int) {
	return func(r *rand.Rand, f *pipeline.Frame, _, bar int) {
		each(f, bar, func(_, _, _ int, v float64) float64 {
			return v + sigma*math.Sqrt(0.1225+0.8775*v/128)*r.NormFloat64()
		})
	}
}

// size is how far noise is blurred, in samples of its plane; 0: not at all.
type size struct{ across, down float64 }

// coarse is white noise that was blurred.
func coarse(sigma float64, luma, chroma size) func(*rand.Rand, *pipeline.Frame, int, int) {
	return func(r *rand.Rand, f *pipeline.Frame, _, bar int) {
		var fields [3][]float64
		for i := range fields {
			w, h := f.PlaneSize(i)
			blur := luma
			if i > 0 {
				blur = chroma
			}
			fields[i] = blurred(r, w, h, blur)
		}
		each(f, bar, func(plane, x, y int, v float64) float64 {
			w, _ := f.PlaneSize(plane)
			return v + sigma*fields[plane][y*w+x]
		})
	}
}

// onTape is white noise with a fault of analogue tape or its wiring.
func onTape(sigma float64, fault func(r *rand.Rand, f *pipeline.Frame, t, bar int)) func(*rand.Rand, *pipeline.Frame, int, int) {
	return func(r *rand.Rand, f *pipeline.Frame, t, bar int) {
		fault(r, f, t, bar)
		white(sigma)(r, f, t, bar)
	}
}

// hum is a bar that wanders up the picture.
func hum(_ *rand.Rand, f *pipeline.Frame, t, bar int) {
	const amplitude, speed = 4, 0.4 // levels, and radians a picture
	each(f, bar, func(plane, _, y int, v float64) float64 {
		if plane > 0 {
			return v
		}
		return v + amplitude*math.Sin(2*math.Pi*float64(y)/float64(f.Height)+speed*float64(t))
	})
}

// jitter shifts each line of luma by about half a sample.
func jitter(r *rand.Rand, f *pipeline.Frame, _, bar int) {
	for y := bar; y < f.Height-bar; y++ {
		row := f.Row(0, y)
		line := slices.Clone(row)
		shift := 0.5 * r.NormFloat64()
		whole := math.Floor(shift)
		part := shift - whole
		for x := range row {
			at := func(x int) float64 { return float64(line[min(max(x, 0), len(line)-1)]) }
			row[x] = byte((1-part)*at(x+int(whole)) + part*at(x+int(whole)+1) + 0.5)
		}
	}
}

// dotCrawl is the carrier of colour in luma, whose sign changes with each line and picture.
func dotCrawl(_ *rand.Rand, f *pipeline.Frame, t, bar int) {
	const part = 0.15 // of the colour
	u, v := f.Planes[1], f.Planes[2]
	each(f, bar, func(plane, x, y int, s float64) float64 {
		if plane > 0 {
			return s
		}
		colour := math.Hypot(float64(u.Data[y/2*u.Pitch+x/2])-128, float64(v.Data[y/2*v.Pitch+x/2])-128)
		return s + part*colour*float64(1-2*((x/2+y+t)&1))
	})
}

// blurred returns noise of standard deviation 1, smoothed by a Gaussian.
func blurred(r *rand.Rand, w, h int, blur size) []float64 {
	left, top := reach(blur.across), reach(blur.down)
	wide, high := w+2*left, h+2*top
	raw := make([]float64, wide*high)
	for i := range raw {
		raw[i] = r.NormFloat64()
	}
	across, out := make([]float64, w*high), make([]float64, w*h)
	taps := gaussian(blur.across, left)
	for y := range high {
		for x := range w {
			for i, k := range taps {
				across[y*w+x] += k * raw[y*wide+x+i]
			}
		}
	}
	taps = gaussian(blur.down, top)
	for y := range h {
		for x := range w {
			for i, k := range taps {
				out[y*w+x] += k * across[(y+i)*w+x]
			}
		}
	}
	return out
}

func reach(size float64) int { return max(4, int(3*size)) }

// gaussian returns taps whose squares add up to 1.
func gaussian(size float64, reach int) []float64 {
	taps := make([]float64, 2*reach+1)
	squares := 0.0
	for i := range taps {
		d := float64(i-reach) / max(size, 1e-3)
		taps[i] = math.Exp(-d * d / 2)
		squares += taps[i] * taps[i]
	}
	for i := range taps {
		taps[i] /= math.Sqrt(squares)
	}
	return taps
}
