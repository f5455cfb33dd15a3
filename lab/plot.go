package lab

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"io"
	"math"
	"regexp"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is what an experiment is drawn as: plots side by side, and beside them what their lines or bars are.
type figure struct {
	title         string
	plots         []*plot.Plot
	width, height vg.Length // of one plot
	legend        plot.Legend
}

const margin = 4 * vg.Millimeter

// WritePlot draws an experiment as SVG: lines over its axis, the papers' dashed, or bars where it has none. It is an error when nothing was timed.
func (e Experiment) WritePlot(w io.Writer) error {
	f := &figure{title: fmt.Sprintf("%s: %s", e.Paper, e.Title), legend: plot.NewLegend()}
	f.legend.Top, f.legend.Left = true, true
	f.legend.Padding = vg.Points(3)
	draw := e.lines
	if _, ok := axes[e.Axis]; !ok {
		draw = e.bars
	}
	if err := draw(f); err != nil {
		return fmt.Errorf("lab: draw %s: %w", e.ID, err)
	}
	return f.write(w)
}

// write draws a figure in a canvas as large as it needs.
func (f *figure) write(w io.Writer) error {
	head := f.legend.TextStyle
	head.Font.Size = 14
	top := 2*margin + head.Height(f.title)
	entries := f.legend.Rectangle(draw.Canvas{}).Size()
	plots := vg.Length(len(f.plots)) * (f.width + margin)
	canvas := vgsvg.New(plots+2*margin+entries.X, max(f.height, entries.Y+margin)+top)
	all := draw.New(canvas)
	all.SetColor(color.White)
	all.Fill(all.Path())
	all.FillText(head, vg.Point{X: margin, Y: all.Max.Y - margin - head.Height(f.title)}, f.title)
	body := draw.Crop(all, margin, -margin, margin, -top)
	for i, p := range f.plots {
		left := vg.Length(i) * (f.width + margin)
		p.Draw(draw.Crop(body, left, left+f.width-(body.Max.X-body.Min.X), 0, 0))
	}
	f.legend.Draw(draw.Crop(body, plots, 0, 0, 0))
	return writeSVG(w, canvas)
}

// texts are the texts of an SVG, with their size in points and what they say.
var texts = regexp.MustCompile(`<text ([^>]*font-family:)[^;]*(;[^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// writeSVG writes a canvas. Each text is given the length that it was measured to have, and another font that will do: where the first
// is missing, what comes in its place may be so much wider that texts would run into what is beside them.
func writeSVG(w io.Writer, c *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("lab: write a plot: %w", err)
	}
	style := plot.NewLegend().TextStyle
	all := texts.ReplaceAllStringFunc(b.String(), func(s string) string {
		m := texts.FindStringSubmatch(s)
		size, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return s
		}
		style.Font.Size = vg.Length(size)
		length := style.Width(html.UnescapeString(m[4])).Points()
		return fmt.Sprintf(`<text textLength="%.1f" lengthAdjust="spacingAndGlyphs" %sLiberation Serif,Times%s>%s</text>`, length, m[1], m[2], m[4])
	})
	if _, err := io.WriteString(w, all); err != nil {
		return fmt.Errorf("lab: write a plot: %w", err)
	}
	return nil
}

// small is the font of figures in a plot.
func small() font.Font { return font.From(plot.DefaultFont, 8) }

// palette has a colour for each version of a paper; this program's own is black.
var palette = []color.Color{
	color.RGBA{127, 127, 127, 255}, color.RGBA{214, 39, 40, 255}, color.RGBA{255, 127, 14, 255}, color.RGBA{188, 160, 20, 255},
	color.RGBA{44, 160, 44, 255}, color.RGBA{23, 190, 207, 255}, color.RGBA{31, 119, 180, 255}, color.RGBA{148, 103, 189, 255},
	color.RGBA{227, 119, 194, 255}, color.RGBA{140, 86, 75, 255},
}

// barColours are those of here and then.
var barColours = []color.Color{color.RGBA{31, 119, 180, 255}, color.RGBA{190, 190, 190, 255}}

const (
	rowHeight = 7.5 * vg.Millimeter
	barHeight = 2.8 * vg.Millimeter
)

// bars draws the logarithm of the time of each row beside the paper's, from the top down: a bar cannot begin at 0 on a logarithmic scale.
func (e Experiment) bars(f *figure) error {
	p := plot.New()
	p.X.Label.Text = "ms"
	here, then, names := e.barValues()
	if len(here) == 0 {
		return errNothing
	}
	floor := math.Floor(math.Log10(leastOver(0, append(append(plotter.Values{}, here...), then...))))
	f.plots, f.width, f.height = []*plot.Plot{p}, 17*vg.Centimeter, rowHeight*vg.Length(len(names)+3)
	grid := plotter.NewGrid()
	grid.Horizontal.Color = nil
	p.Add(grid)
	for i, values := range []plotter.Values{here, then} {
		if leastOver(0, values) == math.Inf(1) {
			continue // the papers have nothing
		}
		if err := f.addBars(i, values, floor); err != nil {
			return err
		}
	}
	p.NominalY(names...)
	p.X.Padding, p.X.Tick.Marker = 0, powers(floor)
	p.X.Min, p.X.Max = 0, p.X.Max+0.6 // room for the figures
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))-0.4
	return nil
}

// barValues returns the times of the rows here and then, 0 for none, and their names, the last row first.
func (e Experiment) barValues() (here, then plotter.Values, names []string) {
	for i := len(e.Rows) - 1; i >= 0; i-- {
		row := e.Rows[i]
		if row.counted() == 0 {
			continue
		}
		published := 0.0
		if row.Paper != nil {
			published = row.Paper.Ms
		}
		here, then, names = append(here, row.counted()), append(then, published), append(names, row.barName())
	}
	return here, then, names
}

// addBars draws the times of here (0) or then (1) with their figures.
func (f *figure) addBars(which int, values plotter.Values, floor float64) error {
	var lengths plotter.Values
	var figures plotter.XYLabels
	for i, v := range values {
		length := 0.0
		if v > 0 {
			length = math.Log10(v) - floor
		}
		lengths = append(lengths, length)
		figures.XYs = append(figures.XYs, plotter.XY{X: length, Y: float64(i)})
		figures.Labels = append(figures.Labels, Milliseconds(v))
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
		labels.TextStyle[i].Font, labels.TextStyle[i].YAlign = small(), draw.YCenter
	}
	f.plots[0].Add(bars, labels)
	f.legend.Add([]string{"here", "then"}[which], bars)
	return nil
}

func (r Row) barName() string {
	s := r.label("")
	if r.Radius > 0 {
		s += fmt.Sprintf(", r %d", r.Radius)
	}
	if r.Memory != "" {
		s += fmt.Sprintf(", %s, streams: %d", r.Memory, r.Streams)
	}
	return s
}

// leastOver returns the least of the values that are larger than a bound, +Inf where none is.
func leastOver(bound float64, values []float64) float64 {
	least := math.Inf(1)
	for _, v := range values {
		if v > bound {
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
