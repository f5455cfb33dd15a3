package report

import (
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/internal/text"
	"vidfilter/lab/measure"
)

func TestDocument(t *testing.T) {
	table := text.NewTable(1, "kernel", "ms")
	table.Add("tile", Milliseconds(0.25))
	d := Document{
		Header: Header{Version: "v1", Date: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), Shrink: 4, NoGPU: "none\x1b",
			Machine: measure.Machine{CPU: "a CPU", Cores: 2, Filter: "cpu (avx2)"}},
		Summary:  &Section{Title: "Then and now", Table: table},
		Sections: []Section{{Title: "Kernels", Table: table, Notes: []string{"one", "two"}}},
		Legend:   "ms: a time",
	}
	var b strings.Builder
	e2e.Must(t, d.WriteText(&b))
	want := `vidfilter v1, 2026-01-02 03:04 UTC
a CPU, cores: 2
cpu (avx2)
no GPU part: none\u001b
sides divided by 4: the papers' figures are left out

Kernels
  kernel     ms
  tile    0.250
one
two

ms: a time
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	e2e.Must(t, d.WriteMarkdown(&b))
	want = `Measured 2026-01-02 with vidfilter v1 on a CPU, cores: 2; no GPU: none\u001b

## Then and now

| kernel | ms |
| --- | ---: |
| tile | 0.250 |

## Kernels

| kernel | ms |
| --- | ---: |
| tile | 0.250 |

one two
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestCells(t *testing.T) {
	for got, want := range map[string]string{
		Milliseconds(0): "", Milliseconds(0.01234): "0.0123", Milliseconds(1.5): "1.500", Milliseconds(12.34): "12.3", Milliseconds(1234.5): "1234",
		Ratio(0): "", Ratio(1.234): "1.23", Ratio(12.34): "12.3", Ratio(123.4): "123", Count(0): "", Count(3): "3",
		Spread(measure.Stat{Median: 2, Least: 1, Most: 2, N: 2}): "25.0", Spread(measure.Stat{N: 1}): "", Percent(0.5): "50.0",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
