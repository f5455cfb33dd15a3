package lab

import (
	"fmt"
	"strings"
)

// Table is an experiment in cells, for whoever prints it. The first row has the titles; columns in which nothing stands are left out.
type Table struct {
	Left int // columns of text; the others are numbers
	Rows [][]string
}

// column is one of all that a table may have.
type column struct {
	title string
	text  bool
	cell  func(Row) string // "" for nothing
}

// nothing stands where others have a number.
const nothing = "-"

var columns = []column{
	{"size", true, func(r Row) string { return r.Size.String() }},
	{"version", true, Row.versionCell},
	{"kernel", true, func(r Row) string { return r.Name }},
	{"on", true, func(r Row) string { return r.Where }},
	{"memory", true, func(r Row) string { return r.Memory }},
	{"sigma", true, Row.sigmaCell},
	{"r", false, func(r Row) string { return count(r.Radius) }},
	{"kappa", false, Row.kappaCell},
	{"block", false, func(r Row) string { return count(r.Block) }},
	{"factor", false, func(r Row) string { return count(r.Factor) }},
	{"blocks", false, func(r Row) string { return count(r.Blocks) }},
	{"threads", false, func(r Row) string { return count(r.Threads) }},
	{"streams", false, func(r Row) string { return count(r.Streams) }},
	{"ms", false, func(r Row) string { return Milliseconds(r.Time.Median) }},
	{"floor", false, func(r Row) string { return Milliseconds(r.Floor) }},
	{"with copies", false, Row.stepCell},
	{"+-%", false, Row.spreadCell},
	{"part %", false, Row.partCell},
	{"x seq.", false, func(r Row) string { return ratio(r.Sequential) }},
	{"x naive", false, func(r Row) string { return ratio(r.Naive) }},
	{"MSE", false, Row.mseCell},
	{"by", false, func(r Row) string { return fmt.Sprint(r.Check.Largest) }},
	{"paper: ms", false, publishedCell(func(p Published) string { return Milliseconds(p.Ms) })},
	{"x seq.", false, publishedCell(func(p Published) string { return ratio(p.Sequential) })},
	{"x naive", false, publishedCell(func(p Published) string { return ratio(p.Naive) })},
}

func (r Row) versionCell() string {
	if r.Own {
		return "ours"
	}
	return strings.TrimSpace(r.Version + " " + r.Kind)
}

// sigmaCell is for the recursive filter, which has no radius.
func (r Row) sigmaCell() string {
	if r.Radius > 0 {
		return ""
	}
	return fmt.Sprintf("%g/%g", r.SigmaS, r.SigmaR)
}

func (r Row) kappaCell() string {
	if r.Kappa == nil {
		return ""
	}
	return fmt.Sprintf("%g", *r.Kappa)
}

func (r Row) stepCell() string {
	if r.Step == nil {
		return ""
	}
	return Milliseconds(r.Step.Median)
}

func (r Row) spreadCell() string {
	if r.Time.N < 2 {
		return ""
	}
	return fmt.Sprintf("%.1f", 100*r.Time.Spread())
}

func (r Row) partCell() string {
	if r.Part == 1 {
		return ""
	}
	return fmt.Sprintf("%.2g", 100*r.Part)
}

func (r Row) mseCell() string {
	if r.MSE == nil {
		return ""
	}
	return fmt.Sprintf("%.4g", *r.MSE)
}

func publishedCell(cell func(Published) string) func(Row) string {
	return func(r Row) string {
		if r.Paper == nil {
			return ""
		}
		return cell(*r.Paper)
	}
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// ratio writes a speed-up with three digits that count.
func ratio(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Milliseconds writes a time with three digits that count, where there is room for them; "" for none.
func Milliseconds(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 0.1:
		return fmt.Sprintf("%.4f", x)
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Table returns the experiment in cells.
func (e Experiment) Table() Table {
	var t Table
	t.Rows = make([][]string, len(e.Rows)+1)
	for _, c := range columns {
		cells, any := []string{c.title}, false
		for _, row := range e.Rows {
			cell := c.cell(row)
			any = any || cell != ""
			if cell == "" {
				cell = nothing
			}
			cells = append(cells, cell)
		}
		if !any || c.title == "size" && e.oneSize() {
			continue
		}
		if c.text {
			t.Left++
		}
		for i := range t.Rows {
			t.Rows[i] = append(t.Rows[i], cells[i])
		}
	}
	return t
}

// oneSize says whether all rows are of one size, which the title names.
func (e Experiment) oneSize() bool {
	for _, row := range e.Rows {
		if row.Size != e.Rows[0].Size {
			return false
		}
	}
	return true
}

// Markdown writes the table for a page.
func (t Table) Markdown() string {
	var b strings.Builder
	for i, row := range t.Rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i > 0 {
			continue
		}
		b.WriteString("|")
		for k := range row {
			b.WriteString(map[bool]string{true: " --- |", false: " ---: |"}[k < t.Left])
		}
		b.WriteString("\n")
	}
	return b.String()
}
