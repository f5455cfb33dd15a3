// Package plot draws the charts of lab and bench as SVG: lines over an axis, or bars.
package plot

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/color"
	"io"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// ErrNothing is the error of a chart without a point or a bar.
var ErrNothing = errors.New("there is nothing to draw")

// Chart is one picture: panels of lines side by side, or bars, with one legend on the right.
type Chart struct {
	Title  string
	Panels []Panel
	Bars   *Bars // drawn instead of panels
}

// figure is a chart laid out: plots side by side and the legend.
type figure struct {
	title         string
	plots         []*plot.Plot
	width, height vg.Length // of one plot
	legend        plot.Legend

	colours, shapes, names []string // in the order of their first use
}

const margin = 4 * vg.Millimeter

// WriteSVG draws the chart.
func (c Chart) WriteSVG(w io.Writer) error {
	f := &figure{title: c.Title, legend: plot.NewLegend()}
	f.legend.Top, f.legend.Left = true, true
	f.legend.Padding = vg.Points(3)
	layOut := func() error { return f.addPanels(c.Panels) }
	if c.Bars != nil {
		layOut = func() error { return f.addBars(*c.Bars) }
	}
	if err := layOut(); err != nil {
		return fmt.Errorf("draw %q: %w", c.Title, err)
	}
	if err := f.write(w); err != nil {
		return fmt.Errorf("write the plot %q: %w", c.Title, err)
	}
	return nil
}

// write draws the figure on a canvas that fits it.
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

// texts matches the texts of an SVG, with their size in points and their content.
var texts = regexp.MustCompile(`<text ([^>]*font-family:)[^;]*(;[^>]*font-size:([0-9.]+)px[^>]*)>([^<]*)</text>`)

// writeSVG fixes the length of each text and adds a second font. Otherwise viewers without the
// first font may draw texts so wide that they overlap.
func writeSVG(w io.Writer, c *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return err
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
	_, err := io.WriteString(w, all)
	return err
}

var palette = []color.Color{
	color.RGBA{127, 127, 127, 255}, color.RGBA{214, 39, 40, 255}, color.RGBA{255, 127, 14, 255}, color.RGBA{188, 160, 20, 255},
	color.RGBA{44, 160, 44, 255}, color.RGBA{23, 190, 207, 255}, color.RGBA{31, 119, 180, 255}, color.RGBA{148, 103, 189, 255},
	color.RGBA{227, 119, 194, 255}, color.RGBA{140, 86, 75, 255},
}

// Black is the key of the colour black.
const Black = "black"

// colour returns the colour of a key. A number has the same colour in every chart; other keys get
// theirs in the order of first use.
func (f *figure) colour(key string) color.Color {
	if key == Black {
		return color.Black
	}
	if n, err := strconv.Atoi(key); err == nil {
		return palette[n%len(palette)]
	}
	return palette[index(&f.colours, key)%len(palette)]
}

func (f *figure) shape(key string) draw.GlyphDrawer { return plotutil.Shape(index(&f.shapes, key)) }

// index returns the position of a name in a list, and appends the name if it is new.
func index(list *[]string, name string) int {
	i := slices.Index(*list, name)
	if i < 0 {
		i = len(*list)
		*list = append(*list, name)
	}
	return i
}
