package main

import (
	"fmt"
	"io"
	"strings"

	"vidfilter/internal/text"
	"vidfilter/lab"
)

// printLab writes a report for people.
func printLab(w io.Writer, r *lab.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "vidfilter %s, %s\n", r.Version, r.Date.Format("2006-01-02 15:04 MST"))
	printMachine(&b, r.Machine, r.NoGPU)
	if r.Shrink > 1 {
		fmt.Fprintf(&b, "sides divided by %d: the papers' figures are left out\n", r.Shrink)
	}
	for _, e := range r.Experiments {
		fmt.Fprintf(&b, "\n%s%s", wrapTo(e.Heading(), labWidth), columnsOf(e.Table()))
		for _, remark := range e.Remarks {
			b.WriteString(wrapTo(remark, labWidth))
		}
	}
	b.WriteString("\n" + wrapTo(labLegend, labWidth))
	_, err := io.WriteString(w, b.String())
	return err
}

const labWidth = 100

const labLegend = `ms: a picture's time, the median; +-%: half the range of the measurements. x seq., x naive: how many times as fast as the paper's
sequential form on one core, and as its naive kernel. by: levels that the result differs by at most from the Go reference of the same
semantics, on a small picture. part %: what takes too long is done on so much of the picture, and the time scaled to all of it.
floor: what a copy within the device's memory takes for the bytes of the picture, read and written once. "ours"
is what this program takes for the same radius: joint distance, borders reflected. What stands behind "paper:" is the paper's.`

func columnsOf(t lab.Table) string {
	return (&columns{left: t.Left, rows: t.Rows}).String()
}

// printLabMarkdown writes the tables for docs/lab.md.
func printLabMarkdown(w io.Writer, r *lab.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s with vidfilter %s on %s\n", r.Date.Format("2006-01-02"), r.Version, machineName(r))
	fmt.Fprintf(&b, "\n## Then and now\n\n%s", r.Summary().Markdown())
	for _, e := range r.Experiments {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s", e.Heading(), e.Table().Markdown(), strings.Join(e.Remarks, " "))
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func machineName(r *lab.Report) string {
	s := fmt.Sprintf("%s, cores: %d", text.OneLine(r.Machine.CPU), r.Machine.Cores)
	if g := r.Machine.GPU; g != nil {
		return text.OneLine(g.Name) + "; " + s
	}
	return s + "; no GPU: " + text.OneLine(r.NoGPU)
}

func printLabList(w io.Writer, all []lab.Entry, noGPU string) error {
	t := columns{left: 6}
	t.add("paper", "version", "name", "on", "title", "does", "runs")
	for _, e := range all {
		runs := "yes"
		if !e.Runs {
			runs = "no"
		}
		t.add(e.Paper, e.Version, e.Name, e.On, e.Title, e.Does, runs)
	}
	s := t.String()
	if noGPU != "" {
		s += "no GPU: " + text.OneLine(noGPU) + "\n"
	}
	_, err := io.WriteString(w, s)
	return err
}
