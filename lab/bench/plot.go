package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"vidfilter/lab/plot"
)

// WritePlot draws the times of the kernels and of the CPU by radius as SVG. It shows one size: 4K
// if that was measured, else the first.
func (r *Report) WritePlot(w io.Writer) error {
	size, ok := r.plotSize()
	if !ok {
		return fmt.Errorf("bench: draw the kernels and the CPU: %w", plot.ErrNothing)
	}
	return plot.Chart{Title: fmt.Sprintf("Bilateral filter, a frame of %s", size), Panels: []plot.Panel{r.panel(size)}}.WriteSVG(w)
}

// plotSize returns the size to show, false if there is none.
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

// panel has the lines in the order of the report: RGBA by form, the planes by layout, the CPU.
func (r *Report) panel(size Size) plot.Panel {
	p := plot.Panel{XLabel: "radius", YLabel: "ms", YLog: true}
	add := func(name string, radius int, ms float64) {
		p.AddPoint(plot.Line{Name: name, Colour: name, Shape: name}, float64(radius), ms)
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
	return p
}

// seriesName is the variant's name without its radius. The filter's choice for planes is one line
// across forms.
func (r KernelRow) seriesName() string {
	if r.Layout != "rgba" && r.Chosen {
		return "chosen, " + r.Layout
	}
	return strings.TrimSuffix(r.Variant, fmt.Sprintf("_r%d", r.Radius)) + ", " + r.Layout
}
