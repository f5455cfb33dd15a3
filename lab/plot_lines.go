package lab

import (
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var errNothing = errors.New("there is nothing in it")

// axis is what rows are drawn over, and the panels that stand side by side.
type axis struct {
	label   string
	doubles bool // the values are powers of two, about
	x       func(Row) float64
	panels  []panel
}

// panel is one thing that is drawn of each row. 0 is not drawn.
type panel struct {
	label string
	log   bool
	here  func(Row) float64
	then  func(Published) float64
}

// What is drawn of a row. Times of what a version does otherwise than the paper's plain one are left to the speed-ups, in which
// they can be told apart; there this program's own, which would stand far above, is left out.
var (
	timePanel = panel{"ms", true, func(r Row) float64 {
		if r.Kind != "" {
			return 0
		}
		return r.counted()
	}, func(p Published) float64 { return p.Ms }}
	shortTimePanel = panel{"ms", false, Row.counted, nil} // of times that are near to each other
	errorPanel     = panel{"MSE against A", true, func(r Row) float64 {
		if r.MSE == nil {
			return 0
		}
		return max(*r.MSE, leastMSE)
	}, nil}
)

// leastMSE is drawn where there is no error at all.
const leastMSE = 1e-6

func naivePanel(label string) panel {
	return panel{label, false, func(r Row) float64 {
		if r.Own {
			return 0
		}
		return r.Naive
	}, func(p Published) float64 { return p.Naive }}
}

var coresPanel = panel{"speed-up over naive on one core", false, func(r Row) float64 { return r.Sequential }, nil}

var axes = map[string]axis{
	"radius": {"radius", false, func(r Row) float64 { return float64(r.Radius) },
		[]panel{timePanel, naivePanel("speed-up over the naive kernel")}},
	"threads": {"threads", true, func(r Row) float64 { return float64(r.Threads) }, []panel{timePanel, coresPanel}},
	"side": {"side of the picture", true, func(r Row) float64 { return float64(r.Size.Width) },
		[]panel{timePanel, naivePanel("speed-up over algorithm A")}},
	"block":  {"side of a block", true, func(r Row) float64 { return float64(r.Block) }, []panel{shortTimePanel}},
	"factor": {"tiles a block", false, func(r Row) float64 { return float64(r.Factor) }, []panel{shortTimePanel}},
	"kappa": {"kappa", false, func(r Row) float64 {
		if r.Kappa == nil {
			return 0
		}
		return *r.Kappa
	}, []panel{errorPanel, shortTimePanel}},
}

// series is a line: a colour for the version, a shape for what else there is of it.
type series struct {
	name             string
	version, variant string
	paper            bool // the paper's figures
	points           plotter.XYs
}

// style knows the versions and variants in the order in which they came.
type style struct {
	versions, variants []string
	names              []string // in the legend
}

// index returns where a name is in a list, to which it adds it.
func index(list *[]string, name string) int {
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return i
}

func (s *style) colour(version string) color.Color {
	if version == ownLabel {
		return color.Black
	}
	if n, err := strconv.Atoi(version); err == nil {
		return palette[n%len(palette)] // the same in all plots of a paper that counts its versions
	}
	return palette[index(&s.versions, version)%len(palette)]
}

// lines draws what its axis has of an experiment.
func (e Experiment) lines(f *figure) error {
	f.width, f.height = 12*vg.Centimeter, 12*vg.Centimeter
	a, s, then := axes[e.Axis], new(style), false
	for _, c := range a.panels {
		all := e.series(a, c)
		if len(all) == 0 {
			continue
		}
		p := plot.New()
		p.X.Label.Text, p.Y.Label.Text = a.label, c.label
		p.Add(plotter.NewGrid())
		for _, line := range all {
			then = then || line.paper
			if err := f.addLine(p, s, line); err != nil {
				return err
			}
		}
		a.scale(p, all)
		c.scale(p, all)
		f.plots = append(f.plots, p)
	}
	if len(f.plots) == 0 {
		return errNothing
	}
	if then {
		f.legend.Add("then, in the version's colour", &plotter.Line{LineStyle: dashed(plotter.DefaultLineStyle)}, &plotter.Scatter{GlyphStyle: thenGlyph})
	}
	return nil
}

// thenGlyph tells the papers' points from those of here where one stands alone.
var thenGlyph = draw.GlyphStyle{Color: color.Black, Radius: vg.Points(2.5), Shape: draw.CircleGlyph{}}

func dashed(s draw.LineStyle) draw.LineStyle {
	s.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	return s
}

// addLine draws a line, and adds it to the legend when it is the first of its name.
func (f *figure) addLine(p *plot.Plot, s *style, line series) error {
	drawn, points, err := plotter.NewLinePoints(line.points)
	if err != nil {
		return err
	}
	drawn.Color = s.colour(line.version)
	points.Color, points.Shape = drawn.Color, plotutil.Shape(index(&s.variants, line.variant))
	drawn.Width = vg.Points(1.2)
	if line.paper {
		drawn.LineStyle, points.Shape = dashed(drawn.LineStyle), thenGlyph.Shape
	}
	p.Add(drawn, points)
	if known := len(s.names); !line.paper && index(&s.names, line.name) == known {
		f.legend.Add(line.name, drawn, points)
	}
	return nil
}

// scale marks the values that there are on the axis below.
func (a axis) scale(p *plot.Plot, all []series) {
	var ticks plot.ConstantTicks
	for _, s := range all {
		for _, at := range s.points {
			if !slices.ContainsFunc(ticks, func(t plot.Tick) bool { return t.Value == at.X }) {
				ticks = append(ticks, plot.Tick{Value: at.X, Label: fmt.Sprintf("%g", at.X)})
			}
		}
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	low, high := ticks[0].Value, ticks[len(ticks)-1].Value
	p.X.Tick.Marker = ticks
	if a.doubles {
		p.X.Scale, p.X.Min, p.X.Max = plot.LogScale{}, low/1.1, high*1.1
		return
	}
	room := max((high-low)/30, 0.1)
	p.X.Min, p.X.Max = low-room, high+room
}

// scale has powers of ten around all values, since a logarithmic axis can neither be empty nor begin at 0; an ordinary one begins there.
func (c panel) scale(p *plot.Plot, all []series) {
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		for _, at := range s.points {
			low, high = min(low, at.Y), max(high, at.Y)
		}
	}
	if !c.log {
		p.Y.Min, p.Y.Max = 0, 1.05*high
		return
	}
	least, most := int(math.Floor(math.Log10(low))), int(math.Floor(math.Log10(high)))+1
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades(least, most)
	p.Y.Min, p.Y.Max = math.Pow10(least), math.Pow10(most)
}

// decades labels the powers of ten and marks what is between. plot.LogTicks leaves the first or the last out where it is not exactly one.
func decades(least, most int) (ticks plot.ConstantTicks) {
	for k := least; k < most; k++ {
		ticks = append(ticks, plot.Tick{Value: math.Pow10(k), Label: fmt.Sprintf("%g", math.Pow10(k))})
		for i := 2; i < 10; i++ {
			ticks = append(ticks, plot.Tick{Value: float64(i) * math.Pow10(k)})
		}
	}
	return append(ticks, plot.Tick{Value: math.Pow10(most), Label: fmt.Sprintf("%g", math.Pow10(most))})
}

func (e Experiment) series(a axis, c panel) (all []series) {
	add := func(row Row, paper bool, y float64) {
		if y == 0 {
			return
		}
		name := row.label(e.Axis)
		i := slices.IndexFunc(all, func(s series) bool { return s.name == name && s.paper == paper })
		if i < 0 {
			i = len(all)
			all = append(all, series{name: name, version: row.colourName(), variant: row.variant(e.Axis), paper: paper})
		}
		all[i].points = append(all[i].points, plotter.XY{X: a.x(row), Y: y})
	}
	for _, row := range e.Rows {
		add(row, false, c.here(row))
	}
	for _, row := range e.Rows {
		if row.Paper != nil && c.then != nil {
			add(row, true, c.then(*row.Paper))
		}
	}
	for i := range all {
		slices.SortFunc(all[i].points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
	}
	return all
}

const ownLabel = "ours"

// colourName is what has a colour of its own: a version, and each number of algorithm C's blocks.
func (r Row) colourName() string {
	if r.Own {
		return ownLabel
	}
	if r.Blocks > 0 {
		return fmt.Sprintf("%s, %d blocks", r.Version, r.Blocks)
	}
	return r.Version
}

// variant is what else tells a row's line from others of its version.
func (r Row) variant(axis string) string {
	if axis == "side" || axis == "kappa" {
		return fmt.Sprintf("%g/%g", r.SigmaS, r.SigmaR)
	}
	return r.Kind
}

// label names a row: its version, and what else tells it from others but the axis.
func (r Row) label(axis string) string {
	s := r.words()
	switch {
	case axis == "side" && r.Blocks > 0:
		return fmt.Sprintf("%s, %d a line, %s", s, r.Blocks, r.variant(axis))
	case axis == "side" || axis == "kappa":
		return s + ", " + r.variant(axis)
	}
	return s
}

// words are the version and its title, without saying a word twice.
func (r Row) words() string {
	version, title := strings.ToLower(r.Version), strings.ToLower(r.Title)
	switch {
	case r.Own:
		return ownLabel
	case strings.HasSuffix(version, title):
		return r.Version
	case len(version) > 2 && strings.Contains(title, version):
		return r.Title
	}
	return r.Version + " " + r.Title
}
