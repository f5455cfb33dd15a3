package batch

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/text"
)

var testRows = []Row{
	{File: "/in/tape 1.mkv", Output: "tape 1.mkv", State: "done", Before: 4_200_000_000, After: 2_100_000_000, Attempts: 1,
		Outcome: contract.Outcome{Frames: 15000, FPS: 61.4, Seconds: 244, Noise: &contract.Noise{Luma: 8.55, Chroma: 3.4}}},
	{File: "/in/日本.avi", Output: "日本.mkv", State: "failed", Reason: "the input is corrupt: no frame in it can be decoded", Before: 1000, Outcome: contract.Outcome{Seconds: 2.6}, Attempts: 3},
	{File: "/in/a\n\x1b[2J.mp4", Output: "a\n\x1b[2J.mp4", State: "skipped"},
	{File: "/in/<script>alert(1)</script>\"&\xff.mp4", Output: "<script>alert(1)</script>\"&\xff.mp4", State: "done",
		Before: 999_999, After: 1_000_000, Outcome: contract.Outcome{Frames: 5, FPS: 4.94, Seconds: 3725}},
}

// A file that was left as it is has no noise removed, though some was measured.
func TestNoiseColumn(t *testing.T) {
	for want, o := range map[string]contract.Outcome{
		"":        {Frames: 3},
		"clean":   {Frames: 3, Noise: &contract.Noise{Luma: 0.3, Chroma: 0.1, Clean: 3}},
		"0.9/0.1": {Frames: 3, Noise: &contract.Noise{Luma: 0.9, Chroma: 0.1, Clean: 2}},
	} {
		if got := formatNoise(Row{Outcome: o}); got != want {
			t.Errorf("noise %q, want %q", got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	e2e.Must(t, Table(&b, testRows[:3], 120))
	want := strings.TrimPrefix(`
file                  frames  fps   before    after  time    noise  state    reason
tape 1.mkv             15000   61  4.20 GB  2.10 GB  4:04  8.6/3.4  done
日本.mkv                           1.00 kB           0:03           failed   the input is corrupt: no frame in it can be decoded (3 attempts)
a\u000a\u001b[2J.mp4                                                skipped
total                  15000       4.20 GB  2.10 GB
1 done, 1 failed, 1 skipped; 4.20 GB became 2.10 GB (-50%)
`, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	e2e.Must(t, Table(&b, testRows[2:3], 40))
	if want := "file                  state\na\\u000a\\u001b[2J.mp4  skipped\n1 skipped\n"; b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	e2e.Must(t, Table(io.Discard, nil, 80))
}

func TestTableFits(t *testing.T) {
	for width := 52; width < 200; width++ {
		var b strings.Builder
		e2e.Must(t, Table(&b, testRows, width))
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != len(testRows)+3 {
			t.Fatalf("%d lines:\n%s", len(lines), b.String())
		}
		if !strings.Contains(b.String(), testRows[1].Reason+" (3 attempts)\n") {
			t.Errorf("%d columns: the reason is cut:\n%s", width, b.String())
		}
		for _, line := range lines[:len(lines)-1] {
			line, _, _ := strings.Cut(line, testRows[1].Reason) // the reason comes last
			if text.Columns(line) > width || strings.Contains(line, "\x1b") || !utf8.ValidString(line) {
				t.Errorf("%d columns, not %d: %q", text.Columns(line), width, line)
			}
		}
		if !strings.Contains(b.String(), "failed") {
			t.Errorf("the state is missing:\n%s", b.String())
		}
	}
}

// The reason does not repeat the path of its row.
func TestReasonWithoutPath(t *testing.T) {
	for reason, want := range map[string]string{
		"decode /in/a b.mkv: there is no video":    "decode: there is no video",
		`open "/in/a b.mkv": damaged or no video`:  "open: damaged or no video",
		`"/in/a b.mkv": the source changed`:        "the source changed",
		"/in/a b.mkv: it is no video":              "it is no video",
		"open /in/other.mkv: no such file":         "open /in/other.mkv: no such file",
		"the process was killed by signal 9 (kill": "the process was killed by signal 9 (kill",
	} {
		if got := (Row{File: "/in/a b.mkv", Reason: reason}).reason(); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
}

func testMeta() Meta {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	return Meta{"1.0", []string{"vidfilter", "batch", "<b>"}, "/out", "host", at, at.Add(90 * time.Minute)}
}

func writeReport(name string, rows []Row, meta Meta) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(WriteReport(f, name, rows, meta), f.Close())
}

func TestReportJSON(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.JSON")
	e2e.Must(t, writeReport(name, testRows, testMeta()))
	data, err := os.ReadFile(name)
	e2e.Must(t, err)
	var got struct {
		Meta
		Totals Totals
		Files  []Row
	}
	e2e.Must(t, json.Unmarshal(data, &got))
	if len(got.Files) != 4 || !reflect.DeepEqual(got.Files[0], testRows[0]) || got.Totals.States["done"] != 2 || got.Totals.Before != 4_200_999_999 ||
		got.Root != "/out" || !got.Ended.Equal(testMeta().Ended) {
		t.Errorf("%+v", got)
	}
	e2e.Must(t, writeReport(name, nil, testMeta()))
	if data, _ = os.ReadFile(name); !strings.Contains(string(data), `"files": []`) {
		t.Errorf("%s", data)
	}
}

func TestReportHTML(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.html")
	e2e.Must(t, writeReport(name, testRows, testMeta()))
	data, err := os.ReadFile(name)
	e2e.Must(t, err)
	page := string(data)
	e2e.Contains(t, page, "&lt;script&gt;alert(1)", "4.20 GB", "61", "4:04", "1:02:05", "2 done, 1 failed, 1 skipped", "tape 1.mkv",
		"1:30:00", "日本.mkv", "the input is corrupt", `data-sort="15000"`, `data-state="failed"`, "prefers-color-scheme: dark", "&lt;b&gt;")
	for _, part := range []string{"<script>alert", "\x1b", "\xff", "http://", "https://", "src=", "ZgotmplZ"} {
		if strings.Contains(page, part) {
			t.Errorf("there is %q", part)
		}
	}
	wellFormed(t, page[strings.Index(page, "<table>"):strings.Index(page, "</table>")+len("</table>")])
}

// wellFormed checks that every row has as many cells as there are titles.
func wellFormed(t *testing.T, table string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(table))
	cells, want, rows := 0, 0, 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		e2e.Must(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			if e.Name.Local == "td" || e.Name.Local == "th" {
				cells++
			}
		case xml.EndElement:
			if e.Name.Local != "tr" {
				continue
			}
			if want == 0 {
				want = cells
			}
			if cells != want {
				t.Errorf("row %d has %d cells, not %d", rows, cells, want)
			}
			cells, rows = 0, rows+1
		}
	}
	if rows != len(testRows)+2 {
		t.Errorf("%d rows", rows)
	}
}

func TestReportRefused(t *testing.T) {
	dir := t.TempDir()
	e2e.Must(t, os.Mkdir(filepath.Join(dir, "d.html"), 0o755))
	for name, want := range map[string]string{"r.txt": ".json or .html", "r": ".json or .html", "d.html": "is a folder", "no/r.json": "no folder"} {
		wantError(t, CheckReport(filepath.Join(dir, name)), want)
	}
	e2e.Must(t, CheckReport(filepath.Join(dir, "r.html")))
}

// Unknown values are left empty.
func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		formatSeconds(0): "", formatSeconds(0.2): "0:01", formatSeconds(36061): "10:01:01", formatBytes(0): "", formatBytes(1): "1 B",
		formatFPS(0): "", formatFPS(4.94): "4.9", formatFPS(9.96): "10", formatCount(0): "", formatCount(15000): "15000",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
