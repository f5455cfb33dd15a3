package lab

import (
	"fmt"
	"slices"
	"strings"

	"vidfilter/internal/text"
	"vidfilter/lab/report"
)

// Document returns the report as tables and text.
func (r *Report) Document() report.Document {
	d := report.Document{Header: r.Header, Legend: legend}
	d.Summary = &report.Section{Title: "Then and now", Table: r.Summary()}
	for _, e := range r.Experiments {
		d.Sections = append(d.Sections, report.Section{Title: e.Heading(), Table: e.Table(), Notes: e.Remarks})
	}
	return d
}

const legend = `ms: the median time of a picture; +-%: half the range of its measurements. x seq., x naive: the
speed-up over the paper's sequential form on one core, and over its naive kernel. by: the largest difference in levels from the Go
reference of the same semantics, on a small picture. part %: slow forms filter this share of the picture, and their time is scaled to
all of it. floor: the time of a copy within the device's memory of the picture's bytes, read and written once. "ours" is this
program's filter at the same radius: joint distance, borders reflected. Columns after "paper:" are the paper's figures.`

// Table has a row for each entry of a list of variants.
func (all Entries) Table() *text.Table {
	t := text.NewTable(6, "paper", "version", "name", "on", "title", "does", "runs")
	for _, e := range all {
		t.Add(e.Paper, e.Version, e.Name, e.On, e.Title, e.Does, map[bool]string{true: "yes", false: "no"}[e.Runs])
	}
	return t
}

// column is one of the columns a table may have.
type column struct {
	title string
	text  bool
	cell  func(Row) string // "" if it does not apply
}

var columns = []column{
	{"size", true, func(r Row) string { return r.Size.String() }},
	{"version", true, Row.versionCell},
	{"kernel", true, func(r Row) string { return r.Name }},
	{"on", true, func(r Row) string { return r.Where }},
	{"memory", true, func(r Row) string { return r.Memory }},
	{"sigma", true, Row.sigmaCell},
	{"r", false, func(r Row) string { return report.Count(r.Radius) }},
	{"kappa", false, func(r Row) string { return optional("%g", r.Kappa) }},
	{"block", false, func(r Row) string { return report.Count(r.Block) }},
	{"factor", false, func(r Row) string { return report.Count(r.Factor) }},
	{"blocks", false, func(r Row) string { return report.Count(r.Blocks) }},
	{"threads", false, func(r Row) string { return report.Count(r.Threads) }},
	{"streams", false, func(r Row) string { return report.Count(r.Streams) }},
	{"ms", false, func(r Row) string { return report.Milliseconds(r.Time.Median) }},
	{"floor", false, func(r Row) string { return report.Milliseconds(r.Floor) }},
	{"with copies", false, Row.stepCell},
	{"+-%", false, func(r Row) string { return report.Spread(r.Time) }},
	{"part %", false, Row.partCell},
	{"x seq.", false, func(r Row) string { return report.Ratio(r.Sequential) }},
	{"x naive", false, func(r Row) string { return report.Ratio(r.Naive) }},
	{"MSE", false, func(r Row) string { return optional("%.4g", r.MSE) }},
	{"by", false, func(r Row) string { return fmt.Sprint(r.Check.Largest) }},
	{"paper: ms", false, publishedCell(func(p Published) string { return report.Milliseconds(p.Ms) })},
	{"x seq.", false, publishedCell(func(p Published) string { return report.Ratio(p.Sequential) })},
	{"x naive", false, publishedCell(func(p Published) string { return report.Ratio(p.Naive) })},
}

func (r Row) versionCell() string {
	if r.Own {
		return "ours"
	}
	return strings.TrimSpace(r.Version + " " + r.Kind)
}

// sigmaCell is for the recursive filter, which has sigmas instead of a radius.
func (r Row) sigmaCell() string {
	if r.Radius > 0 {
		return ""
	}
	return fmt.Sprintf("%g/%g", r.SigmaS, r.SigmaR)
}

func optional(format string, x *float64) string {
	if x == nil {
		return ""
	}
	return fmt.Sprintf(format, *x)
}

func (r Row) stepCell() string {
	if r.Step == nil {
		return ""
	}
	return report.Milliseconds(r.Step.Median)
}

func (r Row) partCell() string {
	if r.Part == 1 {
		return ""
	}
	return fmt.Sprintf("%.2g", 100*r.Part)
}

func publishedCell(cell func(Published) string) func(Row) string {
	return func(r Row) string {
		if r.Paper == nil {
			return ""
		}
		return cell(*r.Paper)
	}
}

// Table returns the rows of an experiment.
func (e Experiment) Table() *text.Table {
	oneSize := !slices.ContainsFunc(e.Rows, func(r Row) bool { return r.Size != e.Rows[0].Size })
	shown := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.title == "size" && oneSize })
	t := text.NewTable(0)
	t.Sparse = true
	for _, c := range shown {
		t.Columns = append(t.Columns, text.Column{Title: c.title, Right: !c.text})
	}
	for _, row := range e.Rows {
		var cells []string
		for _, c := range shown {
			cells = append(cells, c.cell(row))
		}
		t.Add(cells...)
	}
	return t
}
