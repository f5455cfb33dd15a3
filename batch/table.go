package batch

import (
	"io"
	"strings"

	"vidfilter/internal/text"
)

// column of the table on the terminal.
type column struct {
	title string
	right bool // numbers
	least int  // to which it may be cut; 0: not at all
	text  func(Row) string
}

var columns = []column{
	{"file", false, 16, func(r Row) string { return r.Output }},
	{"frames", true, 0, func(r Row) string { return formatCount(r.Frames) }},
	{"fps", true, 0, func(r Row) string { return formatFPS(r.FPS) }},
	{"before", true, 0, func(r Row) string { return formatBytes(r.Before) }},
	{"after", true, 0, func(r Row) string { return formatBytes(r.After) }},
	{"time", true, 0, func(r Row) string { return formatSeconds(r.Seconds) }},
	{"state", false, 0, func(r Row) string { return r.State }},
	{"reason", false, 24, func(r Row) string { return r.reason() }},
}

// reason tells of attempts, too.
func (r Row) reason() string {
	if r.Attempts < 2 {
		return r.Reason
	}
	attempts := formatCount(int64(r.Attempts)) + " attempts"
	if r.Reason == "" {
		return attempts
	}
	return r.Reason + " (" + attempts + ")"
}

// dropped are the columns that a narrow terminal does without, in turn.
var dropped = []string{"fps", "frames", "time", "before", "after"}

const gap = 2

// Table writes rows for a terminal of so many columns, with a line of sums. Names are cut in the middle where they do not fit,
// reasons at their end; columns that have nothing to say are left out, and others below 80 columns or so. Below 52, lines may be longer.
func Table(w io.Writer, rows []Row, width int) error {
	total := TotalsOf(rows)
	sum := Row{Output: "total", Frames: total.Frames, Before: total.Before, After: total.After}
	cols, widths := layout(append(rows[:len(rows):len(rows)], sum), width)
	var b strings.Builder
	line := func(cell func(column) string) {
		var cells strings.Builder
		for i, c := range cols {
			cells.WriteString(c.fit(cell(c), widths[i]) + strings.Repeat(" ", gap))
		}
		b.WriteString(strings.TrimRight(cells.String(), " ") + "\n")
	}
	line(func(c column) string { return c.title })
	for _, r := range rows {
		line(func(c column) string { return c.text(r) })
	}
	if len(rows) > 1 {
		line(func(c column) string { return c.text(sum) })
	}
	end := total.counts()
	if s := share(total.Before, total.After); s != "" {
		end += "; " + text.Size(total.Before) + " became " + text.Size(total.After) + " (" + s + ")"
	}
	b.WriteString(end + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// layout chooses columns and how wide they are.
func layout(rows []Row, width int) (cols []column, widths []int) {
	without := map[string]bool{}
	for i := 0; ; i++ {
		cols, widths = natural(rows, without)
		over := -width - gap
		for _, w := range widths {
			over += w + gap
		}
		for _, narrow := range []string{"reason", "file"} { // the reason is in the report, too
			over = shrink(cols, widths, narrow, over)
		}
		if over <= 0 || i == len(dropped) {
			return cols, widths
		}
		without[dropped[i]] = true
	}
}

func natural(rows []Row, without map[string]bool) (cols []column, widths []int) {
	for _, c := range columns {
		w := 0
		for _, r := range rows {
			w = max(w, text.Columns(text.OneLine(c.text(r))))
		}
		if w == 0 || without[c.title] {
			continue
		}
		cols, widths = append(cols, c), append(widths, max(w, len(c.title)))
	}
	return cols, widths
}

func shrink(cols []column, widths []int, title string, over int) int {
	for i, c := range cols {
		if c.title == title && over > 0 {
			less := max(0, min(over, widths[i]-c.least))
			widths[i] -= less
			over -= less
		}
	}
	return over
}

// fit makes a cell of a text: names are cut in the middle, reasons at the end.
func (c column) fit(s string, width int) string {
	switch {
	case c.right:
		return text.PadLeft(s, width)
	case c.title == "reason":
		s = text.Clip(s, width)
	}
	return text.Pad(s, width)
}
