package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of the picture.
const (
	plotWidth  = 20 * vg.Centimeter
	plotHeight = 13 * vg.Centimeter
)

// series is a line of the plot: milliseconds by radius.
type series struct {
	name   string
	points plotter.XYs
}

// WritePlot draws the times of the kernels and of the CPU by radius, on a logarithmic scale, as SVG. It shows one size: 4K
// where that was measured, else the first.
func (r *Report) WritePlot(w io.Writer) error {
	size, ok := r.plotSize()
	if !ok {
		return fmt.Errorf("bench: draw a plot: neither kernels nor the CPU were measured")
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Bilateral filter, a frame of %s", size)
	p.X.Label.Text, p.Y.Label.Text = "radius", "ms"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	all := r.series(size)
	for i, s := range all {
		line, points, err := plotter.NewLinePoints(s.points)
		if err != nil {
			return fmt.Errorf("bench: draw %s: %w", s.name, err)
		}
		line.Color, points.Color = plotutil.Color(i), plotutil.Color(i)
		points.Shape = plotutil.Shape(i)
		p.Add(line, points)
		p.Legend.Add(s.name, line, points)
	}
	p.Y.Min, p.Y.Max = decades(all) // wider than the data, which Add went by
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("bench: write the plot: %w", err)
	}
	return nil
}

// decades returns the powers of ten around all times: a logarithmic axis can neither be empty nor begin at 0.
func decades(all []series) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, s := range all {
		for _, p := range s.points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Floor(math.Log10(high))+1)
}

// plotSize returns the size to show, false when there is none.
func (r *Report) plotSize() (Size, bool) {
	var sizes []Size
	if r.Kernel != nil {
		for _, row := range r.Kernel.Rows {
			sizes = append(sizes, row.Size)
		}
	}
	if r.CPU != nil {
		for _, row := range r.CPU.Rows {
			sizes = append(sizes, row.Size)
		}
	}
	switch {
	case len(sizes) == 0:
		return Size{}, false
	case slices.Contains(sizes, size4K):
		return size4K, true
	}
	return sizes[0], true
}

// series returns the lines in the order of the report: RGBA by form, the planes by layout, the CPU.
func (r *Report) series(size Size) (all []series) {
	add := func(name string, radius int, ms float64) {
		i := slices.IndexFunc(all, func(s series) bool { return s.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, series{name: name})
		}
		all[i].points = append(all[i].points, plotter.XY{X: float64(radius), Y: ms})
	}
	if r.Kernel != nil {
		for _, row := range r.Kernel.Rows {
			if row.Size == size {
				add(row.seriesName(), row.Radius, row.Time.Median)
			}
		}
	}
	if r.CPU != nil {
		for _, row := range r.CPU.Rows {
			if row.Size == size {
				add("CPU, yuv420p", row.Radius, row.CPU.Median)
			}
		}
	}
	return all
}

// seriesName is the variant's name without its radius; what the filter takes for planes is one line, whatever form it has.
func (r KernelRow) seriesName() string {
	if r.Layout != "rgba" && r.Chosen {
		return "chosen, " + r.Layout
	}
	return strings.TrimSuffix(r.Variant, fmt.Sprintf("_r%d", r.Radius)) + ", " + r.Layout
}
