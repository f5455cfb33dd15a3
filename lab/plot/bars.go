package plot

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars are times measured here beside published ones, top down on a logarithmic scale.
type Bars struct {
	Unit   string
	Format func(float64) string // formats the figure beside a bar
	Rows   []Bar
}

// Bar is a pair of bars; a time of 0 has none.
type Bar struct {
	Name       string
	Here, Then float64
}

var barColours = []color.Color{color.RGBA{31, 119, 180, 255}, color.RGBA{190, 190, 190, 255}}

const (
	rowHeight = 7.5 * vg.Millimeter
	barHeight = 2.8 * vg.Millimeter
)

func (f *figure) addBars(b Bars) error {
	var here, then plotter.Values
	var names []string
	for _, row := range slices.Backward(b.Rows) { // the axis grows upwards
		here, then, names = append(here, row.Here), append(then, row.Then), append(names, row.Name)
	}
	floor := math.Floor(math.Log10(leastAboveZero(slices.Concat(here, then))))
	if math.IsInf(floor, 1) {
		return ErrNothing
	}
	p := plot.New()
	p.X.Label.Text = b.Unit
	f.plots, f.width, f.height = []*plot.Plot{p}, 17*vg.Centimeter, rowHeight*vg.Length(len(names)+3)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = nil
	p.Add(grid)
	for i, values := range []plotter.Values{here, then} {
		if math.IsInf(leastAboveZero(values), 1) {
			continue
		}
		if err := f.addSeries(i, values, floor, b.Format); err != nil {
			return err
		}
	}
	p.NominalY(names...)
	p.X.Padding, p.X.Tick.Marker = 0, powers(floor)
	p.X.Min, p.X.Max = 0, p.X.Max+0.6 // room for the figures
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	return nil
}

// addSeries draws the times measured here (0) or published then (1). A bar's length is the
// logarithm of the time over floor, since a bar cannot begin at 0 on a logarithmic axis.
func (f *figure) addSeries(which int, values plotter.Values, floor float64, format func(float64) string) error {
	var lengths plotter.Values
	var figures plotter.XYLabels
	for i, v := range values {
		length := 0.0
		if v > 0 {
			length = math.Log10(v) - floor
		}
		lengths = append(lengths, length)
		figures.XYs = append(figures.XYs, plotter.XY{X: length, Y: float64(i)})
		figures.Labels = append(figures.Labels, format(v))
	}
	bars, err := plotter.NewBarChart(lengths, barHeight)
	if err != nil {
		return err
	}
	labels, err := plotter.NewLabels(figures)
	if err != nil {
		return err
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, barColours[which], 0
	bars.Offset = barHeight * (0.5 - vg.Length(which))
	labels.Offset = vg.Point{X: vg.Points(2), Y: bars.Offset}
	for i := range labels.TextStyle {
		labels.TextStyle[i].Font, labels.TextStyle[i].YAlign = font.From(plot.DefaultFont, 8), draw.YCenter
	}
	f.plots[0].Add(bars, labels)
	f.legend.Add([]string{"here", "then"}[which], bars)
	return nil
}

// leastAboveZero returns the least positive value, or +Inf if there is none.
func leastAboveZero(values []float64) float64 {
	least := math.Inf(1)
	for _, v := range values {
		if v > 0 {
			least = min(least, v)
		}
	}
	return least
}

// powers labels an axis of logarithms.
type powers float64

func (f powers) Ticks(low, high float64) (all []plot.Tick) {
	for k := math.Ceil(low); k <= high; k++ {
		all = append(all, plot.Tick{Value: k, Label: fmt.Sprintf("%g", math.Pow(10, k+float64(f)))})
	}
	return all
}
