package papers

import (
	"fmt"
	"math"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Distance is the colour distance D of a paper's weights.
type Distance uint8

// The distances.
const (
	RGB     Distance = iota // joint: D^2 = dR^2 + dG^2 + dB^2
	Channel                 // each channel weighted by its own difference (000, 003, 004)
	Lab                     // Euclidean in CIE-Lab (000, section 2.3.1)
)

// Border is a paper's treatment of pixels outside the frame.
type Border uint8

// The borders.
const (
	Reflect Border = iota // 101: dcb|abcd|cba
	Zero                  // black, with their weight (001)
	Skip                  // pixels whose window leaves the frame stay as they are (000, 003)
)

// Semantics is the part of a paper's bilateral filter that kernels.Bilateral lacks.
type Semantics struct {
	Distance Distance
	Border   Border
}

// String returns the semantics as in "channel, border skip".
func (s Semantics) String() string {
	return []string{"rgb", "channel", "lab"}[s.Distance] + ", border " + []string{"reflect", "zero", "skip"}[s.Border]
}

// ReferenceOf returns the definition of a variant's filter, of a paper or of the program.
func ReferenceOf(v kernels.Variant, p kernels.Planned) func(dst, src *pipeline.Frame) error {
	d := Of(v)
	return func(dst, src *pipeline.Frame) error {
		switch own := p.(type) {
		case kernels.Recursive:
			if d.Paper != "" {
				return RecursiveApprox(dst, src, own, d.Approximation)
			}
		case kernels.Bilateral:
			if d.Paper != "" {
				return Reference(dst, src, own, d.Semantics)
			}
		}
		return kernels.Reference(dst, src, p)
	}
}

// Reference is kernels.Reference for RGBA with a paper's distance and border; p.Border is ignored.
// With the distance lab, sigma_r is in its units.
func Reference(dst, src *pipeline.Frame, p kernels.Bilateral, s Semantics) error {
	if src.Layout != pipeline.RGBA || dst.Format != src.Format {
		return fmt.Errorf("papers: no reference from %s to %s", src.Format, dst.Format)
	}
	if err := kernels.Validate(p); err != nil {
		return err
	}
	for first, step := 0, fields(src); first < step; first++ {
		newReference(src, p, s, first, step).filter(dst, src, first, step)
	}
	return nil
}

// pixel is the colour of a pixel, and the coordinates in which its distance is measured.
type pixel struct{ rgb, at [3]float64 }

type reference struct {
	kernels.Bilateral
	Semantics
	width, height int
	pixels        []pixel
	black         pixel
	spatial       [][]float64
}

func newReference(src *pipeline.Frame, p kernels.Bilateral, s Semantics, first, step int) *reference {
	r := &reference{Bilateral: p, Semantics: s, width: src.Width, height: (src.Height - first + step - 1) / step, spatial: kernels.SpatialWeights(p)}
	linear, xyz := labTables()
	read := func(w []byte) pixel {
		p := pixel{rgb: [3]float64{float64(w[0]), float64(w[1]), float64(w[2])}}
		if p.at = p.rgb; s.Distance == Lab {
			p.at = cieLab(&xyz, linear[w[0]], linear[w[1]], linear[w[2]])
		}
		return p
	}
	r.black = read(make([]byte, 3))
	for y := range r.height {
		row := src.Row(0, first+y*step)
		for x := range r.width {
			r.pixels = append(r.pixels, read(row[4*x:]))
		}
	}
	return r
}

func (r *reference) filter(dst, src *pipeline.Frame, first, step int) {
	n := r.Radius
	for y := range r.height {
		from, to := src.Row(0, first+y*step), dst.Row(0, first+y*step)
		for x := range r.width {
			copy(to[4*x:4*x+4], from[4*x:])
			if r.Semantics.Border == Skip && (x < n || y < n || x+n >= r.width || y+n >= r.height) {
				continue
			}
			for c, mean := range r.mean(x, y) {
				to[4*x+c] = byte(mean + 0.5 + 1.0/16384) // ties round up, despite rounding errors
			}
		}
	}
}

// mean returns the weighted mean of each channel over the window of x, y.
func (r *reference) mean(x, y int) (sum [3]float64) {
	var weights [3]float64
	centre := r.pixel(x, y)
	for dy := -r.Radius; dy <= r.Radius; dy++ {
		for dx := -r.Radius; dx <= r.Radius; dx++ {
			q := r.pixel(x+dx, y+dy)
			gs := r.spatial[dy+r.Radius][dx+r.Radius]
			for c, weight := range r.weights(centre, q) {
				sum[c] += gs * weight * q.rgb[c]
				weights[c] += gs * weight
			}
		}
	}
	for c := range sum {
		sum[c] /= weights[c]
	}
	return sum
}

// pixel returns the pixel at x, y, which may lie outside.
func (r *reference) pixel(x, y int) *pixel {
	if r.Semantics.Border == Zero && (x < 0 || y < 0 || x >= r.width || y >= r.height) {
		return &r.black
	}
	return &r.pixels[mirrored(y, r.height)*r.width+mirrored(x, r.width)]
}

func mirrored(i, n int) int {
	for n > 1 && (i < 0 || i >= n) {
		if i = -i; i < 0 {
			i += 2 * (n - 1)
		}
	}
	return min(max(i, 0), n-1)
}

// weights returns R(D) for each channel. They differ only with the distance channel.
func (r *reference) weights(p, q *pixel) (w [3]float64) {
	joint := 0.0
	for c := range w {
		d := p.at[c] - q.at[c]
		w[c], joint = r.weight(d*d), joint+d*d
	}
	if r.Distance != Channel {
		w[0] = r.weight(joint)
		w[1], w[2] = w[0], w[0]
	}
	return w
}

// weight is R as a function of D^2.
func (r *reference) weight(d2 float64) float64 {
	variance := max(2*r.SigmaR*r.SigmaR, 1e-300)
	if r.Range == kernels.Gaussian {
		return math.Exp(-d2 / variance)
	}
	return 1 / (1 + d2/variance)
}
