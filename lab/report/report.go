// Package report writes measurements as text and Markdown: a heading with the machine, then
// sections with a table each.
package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"vidfilter/internal/text"
	"vidfilter/lab/measure"
)

// Header begins every report.
type Header struct {
	Version string          `json:"version"`
	Date    time.Time       `json:"date"`
	Quick   bool            `json:"quick"`
	Shrink  int             `json:"shrink,omitempty"` // divisor of the sides of all pictures
	Machine measure.Machine `json:"machine"`
	NoGPU   string          `json:"no_gpu"` // why no GPU was measured; "" if one was
}

// NewHeader returns a header with the current time.
func NewHeader(version string, quick bool) Header {
	return Header{Version: version, Date: time.Now().UTC().Truncate(time.Second), Quick: quick}
}

// Document is a report as text and tables.
type Document struct {
	Header   Header
	Summary  *Section // first in Markdown; omitted on the terminal
	Sections []Section
	Legend   string // explains the columns on the terminal
}

// Section is a table with its title and notes.
type Section struct {
	Title string
	Table *text.Table
	Notes []string
}

const width = 100 // columns of the text

// WriteText writes the document for a terminal.
func (d Document) WriteText(w io.Writer) error {
	var b strings.Builder
	d.Header.text(&b)
	for _, s := range d.Sections {
		b.WriteString("\n" + text.Wrap(s.Title, width) + s.Table.String())
		for _, note := range s.Notes {
			b.WriteString(text.Wrap(note, width))
		}
	}
	if d.Legend != "" {
		b.WriteString("\n" + text.Wrap(d.Legend, width))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the document as Markdown.
func (d Document) WriteMarkdown(w io.Writer) error {
	sections := d.Sections
	if d.Summary != nil {
		sections = append([]Section{*d.Summary}, sections...)
	}
	var b strings.Builder
	h := d.Header
	fmt.Fprintf(&b, "Measured %s with vidfilter %s on %s\n", h.Date.Format("2006-01-02"), h.Version, h.machine())
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s", s.Title, s.Table.Markdown())
		if len(s.Notes) > 0 {
			b.WriteString("\n" + strings.Join(s.Notes, " ") + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (h Header) text(b *strings.Builder) {
	m := h.Machine
	fmt.Fprintf(b, "vidfilter %s, %s\n", h.Version, h.Date.Format("2006-01-02 15:04 MST"))
	fmt.Fprintf(b, "%s, cores: %d\n%s\n", text.OneLine(m.CPU), m.Cores, m.Filter)
	if g := m.GPU; g != nil {
		fmt.Fprintf(b, "%s, compute capability %d.%d, driver: CUDA %s\n", text.OneLine(g.Name), g.Compute/10, g.Compute%10, g.Driver)
		fmt.Fprintf(b, "%d multiprocessors at %.2f GHz, L2 cache %s\n", g.Multiprocessors, g.Clock/1e9, text.Size(int64(g.Cache)))
	}
	if h.NoGPU != "" {
		fmt.Fprintf(b, "no GPU part: %s\n", text.OneLine(h.NoGPU))
	}
	if h.Shrink > 1 {
		fmt.Fprintf(b, "sides divided by %d: the papers' figures are left out\n", h.Shrink)
	}
}

func (h Header) machine() string {
	s := fmt.Sprintf("%s, cores: %d", text.OneLine(h.Machine.CPU), h.Machine.Cores)
	if g := h.Machine.GPU; g != nil {
		return text.OneLine(g.Name) + "; " + s
	}
	return s + "; no GPU: " + text.OneLine(h.NoGPU)
}
