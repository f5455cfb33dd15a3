package text

import "testing"

func TestTable(t *testing.T) {
	table := NewTable(1, "size", "ms", "unused", "x")
	table.Add("64x48", "1.5", "", "")
	table.Add("8x8", "12.25", "", "3")
	if got, want := table.String(), "  size      ms  unused  x\n  64x48    1.5       -  -\n  8x8    12.25       -  3\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	table.Sparse = true
	for got, want := range map[string]string{
		table.String():   "  size      ms  x\n  64x48    1.5  -\n  8x8    12.25  3\n",
		table.Markdown(): "| size | ms | x |\n| --- | ---: | ---: |\n| 64x48 | 1.5 | - |\n| 8x8 | 12.25 | 3 |\n",
	} {
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestTableWidth(t *testing.T) {
	table := Table{Columns: []Column{
		{Title: "name", Least: 5}, {Title: "count", Right: true, Drop: 1}, {Title: "reason", Least: 4, Whole: true},
	}}
	table.Add("a-long-name", "1", "too much")
	for width, want := range map[int]string{
		0:  "name         count  reason\na-long-name      1  too much\n",
		24: "name         count  reason\na-long-name      1  too much\n",
		20: "name     count  reason\na-l…ame      1  too much\n",
		15: "name       reason\na-lo…name  too much\n",
		5:  "name   reason\na-…me  too much\n",
	} {
		table.Width = width
		if got := table.String(); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", width, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	if got, want := Wrap("one  two\nthree four", 9), "one two\nthree\nfour\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
