package batch

import (
	"io"
	"strconv"
	"strings"

	"vidfilter/internal/contract"
	"vidfilter/internal/text"
)

type column struct {
	text.Column
	cell func(Row) string
}

func number(title string, drop int, cell func(Row) string) column {
	return column{text.Column{Title: title, Right: true, Drop: drop}, cell}
}

var columns = []column{
	{text.Column{Title: "file", Least: 16}, func(r Row) string { return r.Output }},
	number("frames", 2, func(r Row) string { return formatCount(r.Frames) }),
	number("fps", 1, func(r Row) string { return formatFPS(r.FPS) }),
	number("before", 4, func(r Row) string { return formatBytes(r.Before) }),
	number("after", 5, func(r Row) string { return formatBytes(r.After) }),
	number("time", 3, func(r Row) string { return formatSeconds(r.Seconds) }),
	number("noise", 6, formatNoise),
	{text.Column{Title: "state"}, func(r Row) string { return r.State }},
	{text.Column{Title: "reason", Least: 24, Whole: true}, Row.reason},
}

// reason adds the number of attempts, and strips the path, which the row has already.
func (r Row) reason() string {
	reason := r.Reason
	if r.File != "" {
		reason = strings.NewReplacer(" "+strconv.Quote(r.File), "", " "+r.File, "", strconv.Quote(r.File)+": ", "", r.File+": ", "").Replace(reason)
	}
	if r.Attempts < 2 {
		return reason
	}
	attempts := formatCount(int64(r.Attempts)) + " attempts"
	if reason == "" {
		return attempts
	}
	return reason + " (" + attempts + ")"
}

// Table writes rows and totals for a terminal of the given width. Long names are cut in the
// middle, and a narrow terminal gets fewer columns. Reasons are never cut, so their lines may be
// longer.
func Table(w io.Writer, rows []Row, width int) error {
	total := TotalsOf(rows)
	t := text.Table{Width: width, Sparse: true}
	for _, c := range columns {
		t.Columns = append(t.Columns, c.Column)
	}
	add := func(r Row) {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.cell(r))
		}
		t.Add(cells...)
	}
	for _, r := range rows {
		add(r)
	}
	if len(rows) > 1 {
		add(Row{Output: "total", Outcome: contract.Outcome{Frames: total.Frames}, Before: total.Before, After: total.After})
	}
	end := total.counts()
	if s := share(total.Before, total.After); s != "" {
		end += "; " + text.Size(total.Before) + " became " + text.Size(total.After) + " (" + s + ")"
	}
	_, err := io.WriteString(w, t.String()+end+"\n")
	return err
}
