package plot

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panel is a plot of lines. The ticks of its x axis are the values of its points.
type Panel struct {
	XLabel, YLabel string
	XLog, YLog     bool
	Lines          []Line
}

// Line is a series of points. Lines of one name have one entry in the legend.
type Line struct {
	Name          string
	Colour, Shape string // keys: equal ones look the same
	Published     bool   // a paper's figures, drawn dashed
	Points        []Point
}

// Point of a line.
type Point = plotter.XY

// AddPoint adds a point to the line with the same name and origin, and creates the line if it is
// new.
func (p *Panel) AddPoint(line Line, x, y float64) {
	i := slices.IndexFunc(p.Lines, func(l Line) bool { return l.Name == line.Name && l.Published == line.Published })
	if i < 0 {
		i = len(p.Lines)
		p.Lines = append(p.Lines, line)
	}
	p.Lines[i].Points = append(p.Lines[i].Points, Point{X: x, Y: y})
}

const panelSide = 12 * vg.Centimeter

func (f *figure) addPanels(panels []Panel) error {
	f.width, f.height = panelSide, panelSide
	published := false
	for _, panel := range panels {
		if len(panel.Lines) == 0 {
			continue
		}
		p := plot.New()
		p.X.Label.Text, p.Y.Label.Text = panel.XLabel, panel.YLabel
		p.Add(plotter.NewGrid())
		for _, line := range panel.Lines {
			published = published || line.Published
			if err := f.addLine(p, line); err != nil {
				return err
			}
		}
		panel.scaleX(p)
		panel.scaleY(p)
		f.plots = append(f.plots, p)
	}
	if len(f.plots) == 0 {
		return ErrNothing
	}
	if published {
		f.legend.Add("then, in the version's colour", &plotter.Line{LineStyle: dashed(plotter.DefaultLineStyle)}, &plotter.Scatter{GlyphStyle: publishedGlyph})
	}
	return nil
}

// publishedGlyph marks a paper's points, even a single one.
var publishedGlyph = draw.GlyphStyle{Color: color.Black, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}

func dashed(s draw.LineStyle) draw.LineStyle {
	s.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	return s
}

func (f *figure) addLine(p *plot.Plot, line Line) error {
	slices.SortFunc(line.Points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	drawn, points, err := plotter.NewLinePoints(plotter.XYs(line.Points))
	if err != nil {
		return err
	}
	drawn.Color = f.colour(line.Colour)
	points.Color, points.Shape = drawn.Color, f.shape(line.Shape)
	drawn.Width = vg.Points(1.2)
	if line.Published {
		drawn.LineStyle, points.Shape = dashed(drawn.LineStyle), publishedGlyph.Shape
	}
	p.Add(drawn, points)
	if known := len(f.names); !line.Published && index(&f.names, line.Name) == known {
		f.legend.Add(line.Name, drawn, points)
	}
	return nil
}

// scaleX puts a tick at each value.
func (panel Panel) scaleX(p *plot.Plot) {
	var ticks plot.ConstantTicks
	for _, line := range panel.Lines {
		for _, at := range line.Points {
			if !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == at.X }) {
				ticks = append(ticks, plot.Tick{Value: at.X, Label: fmt.Sprintf("%g", at.X)})
			}
		}
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	low, high := ticks[0].Value, ticks[len(ticks)-1].Value
	p.X.Tick.Marker = ticks
	if panel.XLog {
		p.X.Scale, p.X.Min, p.X.Max = plot.LogScale{}, low/1.1, high*1.1
		return
	}
	room := max((high-low)/30, 0.1)
	p.X.Min, p.X.Max = low-room, high+room
}

// scaleY begins at 0. A logarithmic axis begins at a power of ten: it can be neither empty nor
// begin at 0.
func (panel Panel) scaleY(p *plot.Plot) {
	low, high := math.Inf(1), 0.0
	for _, line := range panel.Lines {
		for _, at := range line.Points {
			low, high = min(low, at.Y), max(high, at.Y)
		}
	}
	if !panel.YLog {
		p.Y.Min, p.Y.Max = 0, 1.05*high
		return
	}
	least, most := int(math.Floor(math.Log10(low))), int(math.Floor(math.Log10(high)))+1
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades(least, most)
	p.Y.Min, p.Y.Max = math.Pow10(least), math.Pow10(most)
}

// decades labels the powers of ten. plot.LogTicks omits the first or the last if rounding moves
// it.
func decades(least, most int) (ticks plot.ConstantTicks) {
	for k := least; k < most; k++ {
		ticks = append(ticks, plot.Tick{Value: math.Pow10(k), Label: fmt.Sprintf("%g", math.Pow10(k))})
		for i := 2; i < 10; i++ {
			ticks = append(ticks, plot.Tick{Value: float64(i) * math.Pow10(k)})
		}
	}
	return append(ticks, plot.Tick{Value: math.Pow10(most), Label: fmt.Sprintf("%g", math.Pow10(most))})
}
