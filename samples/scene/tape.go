package scene

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
)

// Effects of a tape and its player on a line, in luma samples at 13.5 MHz.
const (
	tapeEdge    = 9        // black samples at each end of a line of 720
	lumaBlur    = 1.1      // standard deviation of a Gaussian: a resolution of about 240 lines
	chromaBlur  = 4.5      // a resolution of about 40 lines
	noiseBlur   = 0.8      // of luma noise
	colourBlur  = 3.4      // of chroma noise: 8 samples wide at half maximum
	chromaRight = 6.0      // offset of chroma to the right
	chromaDown  = 2        // offset of chroma downwards, in lines of a frame
	lineJitter  = 0.35     // standard deviation of a line's position
	switching   = 8        // lines of head switching at the bottom
	dropouts    = 2.5      // per field, on average
	tapeAspect  = 59. / 54 // sample aspect: a 4:3 picture is 702.9 samples wide
)

// WriteTape draws the lake as interlaced video from a VHS player: top field first, 4:2:2, 8 bits,
// as YUV4MPEG2. With noise, it also draws the faults of a worn tape. cfg.Noise applies to luma, and
// chroma gets 1.6 times as much.
func WriteTape(w io.Writer, cfg Config) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	if cfg.Width%2 > 0 || cfg.Width <= 4*tapeEdge {
		return fmt.Errorf("scene: a tape's lines of %d samples: want an even number above %d", cfg.Width, 4*tapeEdge)
	}
	out := bufio.NewWriterSize(w, 1<<20) // keeps its first error
	fmt.Fprintf(out, "YUV4MPEG2 W%d H%d F%d:%d It A59:54 C422 XCOLORRANGE=LIMITED\n", cfg.Width, cfg.Height, cfg.RateNum, cfg.RateDen)
	planes := [3][]byte{make([]byte, cfg.Width*cfg.Height), make([]byte, cfg.Width/2*cfg.Height), make([]byte, cfg.Width/2*cfg.Height)}
	for n := range cfg.Frames {
		var fields [2]Scene
		var lost [2]map[int][2]int
		for i := range fields {
			fields[i] = lake((float64(n) + float64(i)/2) * float64(cfg.RateDen) / float64(cfg.RateNum))
			lost[i] = cfg.dropouts(2*n + i)
		}
		parallel(cfg.Height, func(y int) {
			l := cfg.tapeLine(fields[y%2], n, y, lost[y%2][y])
			copy(planes[0][y*cfg.Width:], l[0])
			copy(planes[1][y*cfg.Width/2:], l[1])
			copy(planes[2][y*cfg.Width/2:], l[2])
		})
		out.WriteString("FRAME\n")
		for _, p := range planes {
			out.Write(p)
		}
	}
	return out.Flush()
}

// dropouts returns the lost parts of the lines of a field: first sample and end, by line of the
// frame.
func (c Config) dropouts(field int) map[int][2]int {
	r := rand.New(rand.NewPCG(c.Seed, uint64(field)<<32|1<<31))
	all := map[int][2]int{}
	for c.Noise > 0 && r.Float64() < dropouts/(1+dropouts) {
		from := r.IntN(c.Width)
		all[2*r.IntN(c.Height/2)+field%2] = [2]int{from, from + 20 + r.IntN(c.Width/4)}
	}
	return all
}

// tapeLine returns luma and chroma of line y of frame n. lost is a range of lost samples.
func (c Config) tapeLine(s Scene, n, y int, lost [2]int) (line [3][]byte) {
	const margin = 32
	scale := float64(c.Height) / viewHeight
	wide := c.Width + 2*margin
	var taken [3][]float64
	take := func(y int) (all [3][]float64) {
		for i := range all {
			all[i] = make([]float64, wide)
		}
		view := Scene(func(x, y float64) Colour { return s((x-float64(c.Width)/2)*tapeAspect/scale, y/scale) })
		for x := range wide {
			p := view.sample(float64(x-margin), float64(y), 2)
			all[0][x], all[1][x], all[2][x] = min(p.Y, 235), p.Cb, p.Cr
		}
		return all
	}
	taken = take(y)
	r := rand.New(rand.NewPCG(c.Seed, uint64(n)<<32|uint64(y)))
	sigma, shift, right := float64(c.Noise)/256, 0.0, 0.0
	if c.Noise > 0 {
		coloured := take(max(0, y-chromaDown))
		taken[1], taken[2] = coloured[1], coloured[2]
		shift, right = lineJitter*r.NormFloat64(), chromaRight
		if below := y - (c.Height - switching); below >= 0 {
			shift += 30 + 9*float64(below) + 8*r.NormFloat64()
		}
	}
	for i, blur := range [3]float64{lumaBlur, chromaBlur, chromaBlur} {
		taken[i] = blurredLine(taken[i], blur)
		grains, gain := make([]float64, wide), sigma
		for x := range grains {
			grains[x] = r.NormFloat64()
		}
		if i == 0 {
			grains = scaled(blurredLine(grains, noiseBlur), noiseBlur)
		} else {
			grains, gain = scaled(blurredLine(grains, colourBlur), colourBlur), 1.6*sigma
		}
		step := 1 + min(i, 1)
		line[i] = make([]byte, c.Width/step)
		for k := range line[i] {
			x := k * step
			at := float64(x+margin) - shift
			if i > 0 {
				at -= right
			}
			at = min(max(at, 0), float64(wide-2))
			whole := int(at)
			v := mix(taken[i][whole], taken[i][whole+1], at-float64(whole))
			level := [3]float64{16, 128, 128}[i]
			switch {
			case x < tapeEdge || x >= c.Width-tapeEdge:
				v = level
			case x >= lost[0] && x < lost[1] && i == 0:
				v = 205 + 6*gain*grains[x+margin]
			case x >= lost[0] && x < lost[1]:
				v = level
			}
			line[i][k] = byte(min(max(v+gain*grains[x+margin], 1), 254) + 0.5)
		}
	}
	return line
}

// blurredLine returns a line blurred by a Gaussian with this standard deviation.
func blurredLine(line []float64, deviation float64) []float64 {
	reach := int(3*deviation + 1)
	weights, sum := make([]float64, 2*reach+1), 0.0
	for k := range weights {
		weights[k] = math.Exp(-sq(float64(k-reach)/deviation) / 2)
		sum += weights[k]
	}
	out := make([]float64, len(line))
	for x := range line {
		for k, w := range weights {
			out[x] += w / sum * line[min(max(x+k-reach, 0), len(line)-1)]
		}
	}
	return out
}

// scaled restores the standard deviation of white noise after blurredLine.
func scaled(line []float64, deviation float64) []float64 {
	gain := math.Sqrt(2 * math.SqrtPi * deviation)
	for x := range line {
		line[x] *= gain
	}
	return line
}
