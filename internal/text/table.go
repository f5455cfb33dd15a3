package text

import (
	"slices"
	"strings"
)

// Column of a Table.
type Column struct {
	Title string
	Right bool // aligned to the right, as numbers are
	Least int  // the columns of the terminal it may be cut to; 0: it is never cut
	Drop  int  // on a narrow terminal, columns are left out in this order from 1; 0: never
	Whole bool // its cells may run past its width: for the last column
}

// Table aligns cells in columns.
type Table struct {
	Columns []Column
	Rows    [][]string
	Empty   string // shown in empty cells
	Sparse  bool   // columns whose cells are all empty are left out
	Indent  int    // blanks before each line
	Width   int    // of the terminal; 0: as wide as the cells need
}

// NewTable returns an indented table whose first columns are text and whose others are numbers.
func NewTable(left int, titles ...string) *Table {
	t := &Table{Indent: 2, Empty: "-"}
	for i, title := range titles {
		t.Columns = append(t.Columns, Column{Title: title, Right: i >= left})
	}
	return t
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

const between = 2 // blanks between columns

// String lays the table out for a terminal.
func (t *Table) String() string {
	shown, widths := t.layout()
	var b strings.Builder
	line := func(cell func(i int) string) {
		s := strings.Repeat(" ", t.Indent)
		for k, i := range shown {
			s += t.Columns[i].fit(cell(i), widths[k]) + strings.Repeat(" ", between)
		}
		b.WriteString(strings.TrimRight(s, " ") + "\n")
	}
	line(func(i int) string { return t.Columns[i].Title })
	for _, row := range t.Rows {
		line(func(i int) string { return t.cell(row[i]) })
	}
	return b.String()
}

// Markdown writes the table for a page.
func (t *Table) Markdown() string {
	shown, _ := t.natural(nil)
	var b strings.Builder
	line := func(cell func(i int) string) {
		b.WriteString("|")
		for _, i := range shown {
			b.WriteString(" " + cell(i) + " |")
		}
		b.WriteString("\n")
	}
	line(func(i int) string { return t.Columns[i].Title })
	line(func(i int) string { return map[bool]string{false: "---", true: "---:"}[t.Columns[i].Right] })
	for _, row := range t.Rows {
		line(func(i int) string { return t.cell(row[i]) })
	}
	return b.String()
}

func (t *Table) cell(s string) string {
	if s == "" {
		return t.Empty
	}
	return s
}

// layout chooses the columns to show and how wide each is.
func (t *Table) layout() (shown, widths []int) {
	for dropped := 0; ; dropped++ {
		shown, widths = t.natural(func(c Column) bool { return c.Drop > 0 && c.Drop <= dropped })
		if t.Width == 0 || t.shrink(shown, widths) <= 0 || !t.drops(dropped) {
			return shown, widths
		}
	}
}

// natural returns the columns to show and the widths of their cells.
func (t *Table) natural(without func(Column) bool) (shown, widths []int) {
	for i, c := range t.Columns {
		width := 0
		for _, row := range t.Rows {
			width = max(width, Columns(OneLine(row[i])))
		}
		if t.Sparse && width == 0 || without != nil && without(c) {
			continue
		}
		shown, widths = append(shown, i), append(widths, max(width, Columns(c.Title)))
	}
	return shown, widths
}

// shrink narrows columns from the last to the first, and returns how far the table is still too
// wide.
func (t *Table) shrink(shown, widths []int) int {
	over := t.Indent - between - t.Width
	for _, w := range widths {
		over += w + between
	}
	for k, i := range slices.Backward(shown) {
		if least := t.Columns[i].Least; least > 0 && over > 0 {
			less := max(0, min(over, widths[k]-least))
			widths[k] -= less
			over -= less
		}
	}
	return over
}

// drops reports whether a column is left that may be dropped.
func (t *Table) drops(dropped int) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Drop > dropped })
}

func (c Column) fit(s string, width int) string {
	switch {
	case c.Right:
		return PadLeft(s, width)
	case c.Whole:
		return OneLine(s)
	}
	return Pad(s, width)
}
