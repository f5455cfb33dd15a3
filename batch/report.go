package batch

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"vidfilter/internal/durable"
	"vidfilter/internal/text"
)

// Row is a line of the report: a source and what became of it.
type Row struct {
	File     string  `json:"file"`   // the source
	Output   string  `json:"output"` // below the root
	State    string  `json:"state"`  // done, failed, skipped, ...: the caller's words
	Reason   string  `json:"reason,omitempty"`
	Attempts int     `json:"attempts,omitempty"`
	Frames   int64   `json:"frames,omitempty"`
	FPS      float64 `json:"fps,omitempty"`         // frames a second that were done
	Before   int64   `json:"bytes_before"`          // size of the source
	After    int64   `json:"bytes_after,omitempty"` // size of the output; 0 if there is none
	Seconds  float64 `json:"seconds,omitempty"`     // that it took
}

// Meta is what a report says of the batch as a whole.
type Meta struct {
	Version string    `json:"version"`
	Command []string  `json:"command"`
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
	Before  int64          `json:"bytes_before"` // of those that have an output
	After   int64          `json:"bytes_after"`
	Seconds float64        `json:"seconds"` // one after another
}

// TotalsOf sums up.
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

// counts says how many rows are in which state: "12 done, 1 failed".
func (t Totals) counts() string {
	var parts []string
	for _, s := range sorted(t.States) {
		parts = append(parts, text.Some(t.States[s], s))
	}
	return text.List(parts...)
}

// CheckReport refuses the name of a report that WriteReport would not know how to write. It is for the start.
func CheckReport(path string) error {
	switch ext := strings.ToLower(filepath.Ext(path)); {
	case ext != ".json" && ext != ".html":
		return errorf("--report FILE.json or FILE.html", "a report is .json or .html, not %q", filepath.Base(path))
	case durable.IsDir(path):
		return errorf("--report FILE.json or FILE.html", "the report %q is a folder", path)
	case !durable.IsDir(filepath.Dir(path)):
		return errorf("make the folder first", "there is no folder %q for the report", filepath.Dir(path))
	}
	return nil
}

// WriteReport writes a report by the ending of its name, whole or not at all.
func WriteReport(path string, rows []Row, meta Meta) error {
	if err := CheckReport(path); err != nil {
		return err
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].FPS, rows[i].Seconds = finite(rows[i].FPS), finite(rows[i].Seconds)
	}
	var b strings.Builder
	var err error
	if strings.EqualFold(filepath.Ext(path), ".html") {
		err = writeHTML(&b, rows, meta)
	} else {
		err = writeJSON(&b, rows, meta)
	}
	if err == nil {
		err = durable.WriteFile(path, []byte(b.String()))
	}
	if err != nil {
		return fmt.Errorf("write the report %q: %w", path, err)
	}
	return nil
}

func writeJSON(w io.Writer, rows []Row, meta Meta) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Meta
		Totals Totals `json:"totals"`
		Rows   []Row  `json:"files"`
	}{meta, TotalsOf(rows), append([]Row{}, rows...)})
}

// formatSeconds writes a time, and nothing for none.
func formatSeconds(s float64) string {
	if s <= 0 {
		return ""
	}
	return text.Clock(s)
}

func formatCount(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func formatFPS(f float64) string {
	if f <= 0 {
		return ""
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

func formatBytes(n int64) string {
	if n <= 0 {
		return ""
	}
	return text.Size(n)
}

// share is the size after by that before: "-38%".
func share(before, after int64) string {
	if before <= 0 || after <= 0 {
		return ""
	}
	return fmt.Sprintf("%+.0f%%", 100*(float64(after)/float64(before)-1))
}
