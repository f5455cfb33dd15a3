package batch

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/text"
)

// Row is a line of the report: a source and its result.
type Row struct {
	File   string `json:"file"`   // the source
	Output string `json:"output"` // below the root
	State  string `json:"state"`  // done, failed, skipped ...: the caller's words
	Reason string `json:"reason,omitempty"`
	contract.Outcome
	Attempts int   `json:"attempts,omitempty"`
	Before   int64 `json:"bytes_before"`          // size of the source
	After    int64 `json:"bytes_after,omitempty"` // size of the output; 0 without one

	Preview string `json:"preview,omitempty"` // URL of a page, relative to the report
}

// Meta describes the batch as a whole.
type Meta struct {
	Version string    `json:"version"`
	Command []string  `json:"-"`
	Root    string    `json:"root"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
}

// Totals are sums over rows.
type Totals struct {
	Files   int            `json:"files"`
	States  map[string]int `json:"states"`
	Frames  int64          `json:"frames"`
	Before  int64          `json:"bytes_before"` // of sources with an output
	After   int64          `json:"bytes_after"`
	Seconds float64        `json:"seconds"` // of work
}

// TotalsOf returns the sums of rows.
func TotalsOf(rows []Row) Totals {
	t := Totals{Files: len(rows), States: map[string]int{}}
	for _, r := range rows {
		t.States[r.State]++
		t.Frames += r.Frames
		t.Seconds += r.Seconds
		if r.After > 0 {
			t.Before, t.After = t.Before+r.Before, t.After+r.After
		}
	}
	return t
}

// counts returns the number of rows in each state, such as "12 done, 1 failed".
func (t Totals) counts() string {
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(t.States)) {
		parts = append(parts, text.Some(t.States[s], s))
	}
	return text.List(parts...)
}

// CheckReport refuses a name that WriteReport cannot write to. Call it at the start.
func CheckReport(path string) error {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case ext != ".json" && ext != ".html":
		return errorf("--report FILE.json or FILE.html", "a report is .json or .html, not %q", filepath.Base(path))
	case durable.IsDir(path):
		return errorf("--report FILE.json or FILE.html", "the report %q is a folder", path)
	case !durable.IsDir(filepath.Dir(path)):
		return errorf("create the folder first", "there is no folder %q for the report", filepath.Dir(path))
	}
	return nil
}

// WriteReport writes a report in the format of the name's ending.
func WriteReport(w io.Writer, name string, rows []Row, meta Meta) error {
	if strings.EqualFold(filepath.Ext(name), ".html") {
		return writeHTML(w, rows, meta)
	}
	named := []namedRow{}
	for _, r := range rows {
		named = append(named, namedRow{contract.Name(r.File), contract.Name(r.Output), r})
	}
	return text.JSON(w, struct {
		Meta
		Command []contract.Name `json:"command"`
		Totals  Totals          `json:"totals"`
		Rows    []namedRow      `json:"files"`
	}{meta, namesOf(meta.Command), TotalsOf(rows), named})
}

// namedRow is a row whose names may be any bytes, as those of refused files.
type namedRow struct {
	File   contract.Name `json:"file"`
	Output contract.Name `json:"output"`
	Row
}

func namesOf(words []string) (all []contract.Name) {
	for _, w := range words {
		all = append(all, contract.Name(w))
	}
	return all
}

// known returns the text of a positive number, else "".
func known[N int64 | float64](n N, text string) string {
	if n <= 0 {
		return ""
	}
	return text
}

func formatSeconds(s float64) string { return known(s, text.Clock(s)) }
func formatCount(n int64) string     { return known(n, fmt.Sprint(n)) }
func formatBytes(n int64) string     { return known(n, text.Size(n)) }

// formatNoise returns the levels of luma and chroma, or "clean" if no frame was filtered.
func formatNoise(r Row) string {
	switch n := r.Noise; {
	case n == nil:
		return ""
	case r.Frames > 0 && int64(n.Clean) >= r.Frames:
		return "clean"
	default:
		return fmt.Sprintf("%.1f/%.1f", n.Luma, n.Chroma)
	}
}

func formatFPS(f float64) string {
	if f < 9.95 {
		return known(f, fmt.Sprintf("%.1f", f))
	}
	return fmt.Sprintf("%.0f", f)
}

// share returns the change in size, such as "-38%".
func share(before, after int64) string {
	if before <= 0 || after <= 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*(float64(after)/float64(before)-1))
}

// Notice is the JSON for other programs at the end of a file or of a batch. Its names are
// stable.
type Notice struct {
	Event  string    `json:"event"` // job or batch
	ID     string    `json:"id"`    // as vidfilter jobs lists it
	State  string    `json:"state"` // Row.State, or of a batch done, failed, cancelled, interrupted
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
	Host   string    `json:"host"`

	Version string        `json:"version"`
	Root    contract.Name `json:"root"`             // of the outputs
	Exit    *int          `json:"exit,omitempty"`   // code of a batch
	Totals  *Totals       `json:"totals,omitempty"` // of a batch
	File    *namedRow     `json:"file,omitempty"`   // of a job
}

// Of makes it the notice of a file's end.
func (n *Notice) Of(r Row) {
	n.Event, n.State, n.Reason = "job", r.State, r.Reason
	n.File = &namedRow{contract.Name(r.File), contract.Name(r.Output), r}
}

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
