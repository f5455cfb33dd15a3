package lab

import (
	"fmt"
	"io"
	"strings"

	"vidfilter/lab/plot"
	"vidfilter/lab/report"
)

// WritePlot draws an experiment as SVG: lines over its axis, the papers' dashed, or bars if it has
// no axis. The error is plot.ErrNothing if nothing was timed.
func (e Experiment) WritePlot(w io.Writer) error {
	c := plot.Chart{Title: fmt.Sprintf("%s: %s", e.Paper, e.Title)}
	if a, ok := axes[e.Axis]; ok {
		for _, p := range a.panels {
			c.Panels = append(c.Panels, e.panel(a, p))
		}
	} else {
		c.Bars = e.bars()
	}
	return c.WriteSVG(w)
}

func (e Experiment) panel(a axis, p panel) plot.Panel {
	drawn := plot.Panel{XLabel: a.label, XLog: a.doubles, YLabel: p.label, YLog: p.log}
	add := func(row Row, published bool, y float64) {
		if y == 0 {
			return
		}
		line := plot.Line{Name: row.label(e.Axis), Colour: row.colour(), Shape: row.variant(e.Axis), Published: published}
		drawn.AddPoint(line, a.x(row), y)
	}
	for _, row := range e.Rows {
		add(row, false, p.here(row))
	}
	for _, row := range e.Rows {
		if row.Paper != nil && p.then != nil {
			add(row, true, p.then(*row.Paper))
		}
	}
	return drawn
}

func (e Experiment) bars() *plot.Bars {
	b := &plot.Bars{Unit: "ms", Format: report.Milliseconds}
	for _, row := range e.Rows {
		if row.counted() == 0 {
			continue
		}
		bar := plot.Bar{Name: row.barName(), Here: row.counted()}
		if row.Paper != nil {
			bar.Then = row.Paper.Ms
		}
		b.Rows = append(b.Rows, bar)
	}
	return b
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

// axis is the quantity rows are drawn over, and the panels that show them.
type axis struct {
	label   string
	doubles bool // values double from one to the next
	x       func(Row) float64
	panels  []panel
}

// panel is a quantity of each row; 0 is not drawn.
type panel struct {
	label string
	log   bool
	here  func(Row) float64
	then  func(Published) float64
}

// The time panel omits variations on a paper's plain version, whose lines would coincide; the
// speed-up panels show them. Speed-up panels omit this program's own filter, which is far above
// the others.
var (
	timePanel = panel{"ms", true, func(r Row) float64 {
		if r.Kind != "" {
			return 0
		}
		return r.counted()
	}, func(p Published) float64 { return p.Ms }}
	shortTimePanel = panel{"ms", false, Row.counted, nil} // for times close together
	errorPanel     = panel{"MSE against A", true, func(r Row) float64 {
		if r.MSE == nil {
			return 0
		}
		return max(*r.MSE, leastMSE)
	}, nil}
)

// leastMSE stands for no error on a logarithmic axis.
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

const ownLabel = "ours"

// colour is the key of a row's colour: its version, and the number of blocks of algorithm C.
func (r Row) colour() string {
	if r.Own {
		return plot.Black
	}
	if r.Blocks > 0 {
		return fmt.Sprintf("%s, %d blocks", r.Version, r.Blocks)
	}
	return r.Version
}

// variant distinguishes a row's line from others of its version.
func (r Row) variant(axis string) string {
	if axis == "side" || axis == "kappa" {
		return fmt.Sprintf("%g/%g", r.SigmaS, r.SigmaR)
	}
	return r.Kind
}

// label names a row by everything that distinguishes it from others except the axis.
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

// words are the version and its title, without repetition.
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
