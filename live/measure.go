package live

import (
	"vidfilter/pipeline"
	"vidfilter/pipeline/quality"
)

// Bars is the number of classes of a histogram.
const Bars = 64

// Measure is a comparison of the samples of both sides of a pair around a point: of the first
// plane, luma or, of RGB, green, unless said otherwise.
type Measure struct {
	Compared bool `json:"compared"` // the sides have two settings

	X    int `json:"x"` // of the point, in the picture as it is stored
	Y    int `json:"y"`
	Size int `json:"size"` // of the window around it, which is smaller at the border

	PSNR  float64 `json:"psnr"`  // dB of the window, between both sides; -1: they are equal
	Whole float64 `json:"whole"` // of the picture, the same

	Names []string     `json:"names"` // of the components
	Depth int          `json:"depth"` // bits of a sample
	Left  []int        `json:"left"`
	Right []int        `json:"right"`
	Bars  [2][Bars]int `json:"bars"` // histograms of the whole picture
}

// MeasureAt measures a pair at a point, given as parts of its width and height.
func MeasureAt(p *Pair, x, y float64, size int) Measure {
	f, right := p.Sides()
	m := Measure{Compared: p.Side != "", X: place(x, f.Width), Y: place(y, f.Height), Size: size}
	a, b := reader{f}, reader{right}
	m.Names, m.Depth = a.names(), f.Layout.Info().Depth
	m.Left, m.Right = a.at(m.X, m.Y), b.at(m.X, m.Y)
	if right.Width != f.Width || right.Height != f.Height || right.Layout != f.Layout {
		m.PSNR, m.Whole = -1, -1
		return m
	}
	half := size / 2
	m.PSNR = psnr(a, b, max(0, m.X-half), max(0, m.Y-half), min(f.Width, m.X+half), min(f.Height, m.Y+half))
	m.Whole = psnr(a, b, 0, 0, f.Width, f.Height)
	for i, r := range []reader{a, b} {
		r.count(&m.Bars[i])
	}
	return m
}

// place returns the sample at a part of n samples.
func place(part float64, n int) int {
	if !(part > 0) { // also NaN
		return 0
	}
	return min(n-1, int(min(part, 1)*float64(n)))
}

// reader reads samples of a frame of any layout.
type reader struct{ *pipeline.Frame }

// sample returns the nth sample of a row of a plane.
func (r reader) sample(plane, n, y int) int {
	i := r.Layout.Info()
	row := r.Planes[plane].Data[y*r.Planes[plane].Pitch:]
	if i.Depth <= 8 {
		return int(row[n])
	}
	return (int(row[2*n]) | int(row[2*n+1])<<8) >> i.Shift
}

// row reads the samples of luma or green from column x of a row on.
func (r reader) row(x, y int, to []int32) {
	i := r.Layout.Info()
	row := r.Planes[0].Data[y*r.Planes[0].Pitch:]
	step := max(1, i.Samples)
	if x *= step; step > 1 {
		x++ // green
	}
	if i.Depth <= 8 {
		for n := range to {
			to[n] = int32(row[x+n*step])
		}
		return
	}
	for n := range to {
		at := 2 * (x + n*step)
		to[n] = (int32(row[at]) | int32(row[at+1])<<8) >> i.Shift
	}
}

func (r reader) names() []string {
	switch i := r.Layout.Info(); {
	case i.RGB:
		return []string{"R", "G", "B"}
	case i.Planes == 1:
		return []string{"Y"}
	}
	return []string{"Y", "U", "V"}
}

// at returns all components of a pixel.
func (r reader) at(x, y int) []int {
	i := r.Layout.Info()
	cx, cy := x>>i.SubX, y>>i.SubY
	switch {
	case i.Samples > 1:
		return []int{r.sample(0, i.Samples*x, y), r.sample(0, i.Samples*x+1, y), r.sample(0, i.Samples*x+2, y)}
	case i.RGB: // planes of G, B and R
		return []int{r.sample(2, x, y), r.sample(0, x, y), r.sample(1, x, y)}
	case i.Planes == 1:
		return []int{r.sample(0, x, y)}
	case i.SemiPlanar:
		return []int{r.sample(0, x, y), r.sample(1, 2*cx, cy), r.sample(1, 2*cx+1, cy)}
	}
	return []int{r.sample(0, x, y), r.sample(1, cx, cy), r.sample(2, cx, cy)}
}

// psnr compares a part of two frames of one format.
func psnr(a, b reader, x0, y0, x1, y1 int) float64 {
	var sum int64
	rows := [2][]int32{make([]int32, x1-x0), make([]int32, x1-x0)}
	for y := y0; y < y1; y++ {
		a.row(x0, y, rows[0])
		b.row(x0, y, rows[1])
		for i, v := range rows[0] {
			d := int64(v - rows[1][i])
			sum += d * d
		}
	}
	if sum == 0 {
		return -1
	}
	step := 255 / float64(int(1)<<max(8, a.Layout.Info().Depth)-1)
	return quality.PSNR(float64(sum) * step * step / float64((x1-x0)*(y1-y0)))
}

// count adds the frame's samples to a histogram. Of large pictures it takes one in a few.
func (r reader) count(bars *[Bars]int) {
	const enough = 1 << 16
	shift := max(8, r.Layout.Info().Depth) - 6
	step := 1
	for r.Width/step*(r.Height/step) > enough {
		step++
	}
	row := make([]int32, r.Width)
	for y := 0; y < r.Height; y += step {
		r.row(0, y, row)
		for x := 0; x < r.Width; x += step {
			bars[min(Bars-1, int(row[x]>>shift))]++
		}
	}
}
