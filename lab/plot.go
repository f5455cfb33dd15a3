package lab

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Size of the pictures.
const (
	plotWidth  = 20 * vg.Centimeter
	plotHeight = 13 * vg.Centimeter
)

// axes are what rows are drawn over.
var axes = map[string]struct {
	label string
	x     func(Row) float64
}{
	"radius":  {"radius", func(r Row) float64 { return float64(r.Radius) }},
	"threads": {"threads", func(r Row) float64 { return float64(r.Threads) }},
	"side":    {"side of the picture", func(r Row) float64 { return float64(r.Size.Width) }},
	"block":   {"side of a block", func(r Row) float64 { return float64(r.Block) }},
	"factor":  {"tiles a block", func(r Row) float64 { return float64(r.Factor) }},
	"kappa": {"kappa", func(r Row) float64 {
		if r.Kappa == nil {
			return 0
		}
		return *r.Kappa
	}},
}

// series is a line of a plot.
type series struct {
	name   string
	paper  bool // the paper's figures
	points plotter.XYs
}

// WritePlot draws an experiment as SVG: lines over its axis, the papers' dashed, or bars where it has none.
func (e Experiment) WritePlot(w io.Writer) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: %s", e.Paper, e.Title)
	p.Y.Label.Text = "ms"
	p.Legend.Top = true
	draw := e.lines
	if _, ok := axes[e.Axis]; !ok {
		draw = e.bars
	}
	if err := draw(p); err != nil {
		return fmt.Errorf("lab: draw %s: %w", e.ID, err)
	}
	return writeSVG(p, w)
}

func writeSVG(p *plot.Plot, w io.Writer) error {
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("lab: write a plot: %w", err)
	}
	return nil
}

// lines draws times, or the error over kappa, on a logarithmic scale.
func (e Experiment) lines(p *plot.Plot) error {
	p.X.Label.Text = axes[e.Axis].label
	if e.Axis == "kappa" {
		p.Y.Label.Text = "MSE against algorithm A, squared levels"
	}
	all := e.series()
	if len(all) == 0 {
		return fmt.Errorf("there is nothing in it")
	}
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.Add(plotter.NewGrid())
	for i, s := range all {
		line, points, err := plotter.NewLinePoints(s.points)
		if err != nil {
			return err
		}
		line.Color, points.Color, points.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		if s.paper {
			line.Dashes = plotutil.Dashes(1)
		}
		p.Add(line, points)
		p.Legend.Add(s.name, line, points)
	}
	p.Y.Min, p.Y.Max = decades(all)
	p.X.Max += (p.X.Max - p.X.Min) * 0.6 // room for the legend
	return nil
}

// decades returns the powers of ten around all values: a logarithmic axis can neither be empty nor begin at 0.
func decades(all []series) (low, high float64) {
	low, high = math.Inf(1), 0
	for _, s := range all {
		for _, p := range s.points {
			low, high = min(low, p.Y), max(high, p.Y)
		}
	}
	return math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Floor(math.Log10(high))+1)
}

// leastMSE is drawn where there is no error at all.
const leastMSE = 1e-6

func (e Experiment) series() (all []series) {
	add := func(name string, paper bool, x, y float64) {
		i := slices.IndexFunc(all, func(s series) bool { return s.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, series{name: name, paper: paper})
		}
		all[i].points = append(all[i].points, plotter.XY{X: x, Y: y})
	}
	x := axes[e.Axis].x
	for _, row := range e.Rows {
		switch {
		case e.Axis == "kappa" && row.MSE != nil:
			add(row.label(e), false, x(row), max(*row.MSE, leastMSE))
		case e.Axis != "kappa" && row.counted() > 0:
			add(row.label(e), false, x(row), row.counted())
		}
	}
	for _, row := range e.Rows { // the papers' below those of here
		if row.Paper != nil && e.Axis != "kappa" {
			add(row.label(e)+", then", true, x(row), row.Paper.Ms)
		}
	}
	for i := range all {
		slices.SortFunc(all[i].points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	}
	return all
}

// label names a row's line: its version, and what else tells it from others but the axis.
func (r Row) label(e Experiment) string {
	s := r.versionCell()
	if r.Title != "" && !r.Own && r.Title != s {
		s += " " + r.Title
	}
	if e.Axis != "side" && e.Axis != "kappa" {
		return s
	}
	return s + ", " + fmt.Sprintf("%g/%g", r.SigmaS, r.SigmaR)
}

// bars draws the logarithm of the time of each row beside the paper's: a bar cannot begin at 0 on a logarithmic scale.
func (e Experiment) bars(p *plot.Plot) error {
	var here, then plotter.Values
	var names []string
	low := math.Inf(1)
	for _, row := range e.Rows {
		if row.counted() == 0 {
			continue
		}
		names = append(names, row.barName())
		here, then = append(here, row.counted()), append(then, 0)
		low = min(low, row.counted())
		if row.Paper != nil && row.Paper.Ms > 0 {
			then[len(then)-1] = row.Paper.Ms
			low = min(low, row.Paper.Ms)
		}
	}
	if len(here) == 0 {
		return fmt.Errorf("there is nothing in it")
	}
	floor := math.Floor(math.Log10(low))
	width := plotWidth / 3 / vg.Length(len(names)+1)
	for i, values := range []plotter.Values{here, then} {
		for k, v := range values {
			values[k] = 0
			if v > 0 {
				values[k] = math.Log10(v) - floor
			}
		}
		bars, err := plotter.NewBarChart(values, width)
		if err != nil {
			return err
		}
		bars.Color, bars.LineStyle.Width = plotutil.Color(i), 0
		bars.Offset = width * (vg.Length(i) - 0.5)
		p.Add(bars)
		p.Legend.Add([]string{"here", "then"}[i], bars)
	}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation, p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = math.Pi/4, draw.XRight, draw.YCenter
	p.Y.Tick.Marker = powers(floor)
	p.Y.Min = 0
	return nil
}

func (r Row) barName() string {
	s := r.versionCell()
	if r.Radius > 0 {
		s += fmt.Sprintf(", r %d", r.Radius)
	}
	if r.Memory != "" {
		s += fmt.Sprintf(", %s, %d", r.Memory, r.Streams)
	}
	return s
}

// powers labels an axis of logarithms.
type powers float64

func (f powers) Ticks(low, high float64) (all []plot.Tick) {
	for k := math.Ceil(low); k <= high+1; k++ {
		all = append(all, plot.Tick{Value: k, Label: fmt.Sprintf("%g", math.Pow(10, k+float64(f)))})
	}
	return all
}
