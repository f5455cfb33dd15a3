package batch

import (
	_ "embed"
	"html/template"
	"io"
	"math"
	"sync"
	"time"

	"vidfilter/internal/text"
)

//go:embed report.html
var reportHTML string

// cell is a field of the HTML report with its sort key.
type cell struct {
	Title, Text string
	Sort        any
	Number      bool
	Link        string
}

var reportTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"cells":   cellsOf,
		"size":    text.Size,
		"time":    func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") },
		"took":    func(m Meta) string { return formatSeconds(math.Max(m.Ended.Sub(m.Started).Seconds(), 1)) },
		"visible": text.OneLine,
		"share":   share,
		"counts":  Totals.counts,
	}).Parse(reportHTML))
})

func writeHTML(w io.Writer, rows []Row, meta Meta) error {
	return reportTemplate().Execute(w, struct {
		Meta   Meta
		Totals Totals
		Rows   []Row
		Titles []cell
	}{meta, TotalsOf(rows), rows, cellsOf(Row{})})
}

func cellsOf(r Row) []cell {
	name := func(title, s string) cell { return cell{title, text.OneLine(s), text.OneLine(s), false, ""} }
	number := func(title, s string, by any) cell { return cell{title, s, by, true, ""} }
	output := name("output", r.Output)
	output.Link = r.Preview
	return []cell{
		name("file", r.File),
		output,
		name("state", r.State),
		number("frames", formatCount(r.Frames), r.Frames),
		number("fps", formatFPS(r.FPS), r.FPS),
		number("before", formatBytes(r.Before), r.Before),
		number("after", formatBytes(r.After), r.After),
		number("change", share(r.Before, r.After), ratio(r)),
		number("time", formatSeconds(r.Seconds), r.Seconds),
		number("noise (luma/chroma)", formatNoise(r), luma(r)),
		name("quality", r.Quality),
		number("attempts", formatCount(int64(r.Attempts)), r.Attempts),
		name("reason", r.Reason),
	}
}

func luma(r Row) float64 {
	if r.Noise == nil {
		return -1
	}
	return r.Noise.Luma
}

func ratio(r Row) float64 {
	if r.Before <= 0 {
		return 0
	}
	return float64(r.After) / float64(r.Before)
}
