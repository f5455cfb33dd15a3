package display

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// lines returns the lines below the messages. In a small window the line of the whole has priority
// over the note, and both over jobs.
func (d *Display) lines(columns, rows int) (lines []terminal.ScreenLine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	totals := d.t.Totals(now, d.note != "")
	if totals.Jobs == 0 && d.note == "" {
		return nil
	}
	rows = max(1, rows) - 1
	if d.note != "" && rows > 0 {
		lines = append(lines, terminal.ScreenLine{Text: text.Clip(d.note, columns), Color: terminal.Yellow})
		rows--
	}
	g := gridOf(columns)
	lines = append(lines, g.line(wholeRow(totals)))
	return slices.Concat(jobLines(d.running(now), g, rows), lines)
}

func (d *Display) running(now time.Time) []tally.Job {
	all := d.t.Jobs(now, func(s queue.Status) bool { return len(s.Active) > 0 && !s.State.Ended() })
	slices.SortStableFunc(all, func(a, b tally.Job) int {
		if a.Started == nil || b.Started == nil {
			return 0
		}
		return a.Started.Compare(*b.Started)
	})
	return all
}

// jobLines returns a line per job. If they exceed rows, the last one counts the rest.
func jobLines(all []tally.Job, g grid, rows int) (lines []terminal.ScreenLine) {
	more := 0
	if len(all) > rows {
		more = len(all) - max(0, rows-1)
		all = all[:max(0, rows-1)]
	}
	for _, j := range all {
		lines = append(lines, jobLine(j, g))
	}
	if more > 0 && rows > 0 {
		rest := text.Cut(fmt.Sprintf("and %d more", more), g.columns)
		lines = append(lines, terminal.ScreenLine{Text: rest})
	}
	return lines
}

func jobLine(j tally.Job, g grid) terminal.ScreenLine {
	if n := j.Note(); n != "" {
		line := text.Clip(text.Pad(name(j), g.name)+"  "+n, g.columns)
		return terminal.ScreenLine{Text: line, Color: terminal.Yellow}
	}
	return g.line(jobRow(j))
}

// row is a line of the grid.
type row struct {
	names      []string // variants: the longest that fits is shown
	part, left *float64
	fps        float64 // 0: not shown
	work       string
}

func jobRow(j tally.Job) row {
	r := row{names: []string{name(j)}, part: j.Part, left: j.Left, fps: j.FPS, work: tally.Frames(j.Frames, j.Total)}
	switch p := j.Parts; {
	case p != nil && p.Done == p.All:
		r.work = fmt.Sprintf("joining %d parts", p.All)
	case p != nil:
		r.work = fmt.Sprintf("%s, %d at work", text.Progress(p.Done, p.All, "part"), p.Active)
	case j.Frames == 0 && j.Total == nil:
		r.work = "preparing"
	}
	return r
}

func wholeRow(t tally.Totals) row {
	jobs := fmt.Sprintf("%d/%s", t.Done, text.Count(t.Jobs, "job"))
	return row{[]string{text.List(jobs, text.Some(t.Failed, "failed")), jobs}, t.Part, t.Left, t.FPS, tally.Frames(t.Frames, t.Total)}
}

// widths are the columns of the facts, the most important first: "100%", "1:45:59 left", "120.5
// fps", "1200/3000 frames".
var widths = []int{4, 12, 9, 22}

const (
	minBar  = 8
	maxBar  = 32
	minName = 14
	maxName = 48
	between = 2
)

// grid has the widths of the cells, the same for all lines.
type grid struct {
	columns, name int
	bar           int // 0: none
	facts         int // how many are shown
}

// gridOf gives columns to the share done, a short name, the other facts and the bar, in this order.
// The rest extends name and bar.
func gridOf(columns int) grid {
	room := columns - widths[0] - between
	g := grid{columns: columns, name: min(minName, max(0, room)), facts: 1}
	room -= g.name
	for _, w := range widths[1:] {
		if room < w+between {
			break
		}
		room -= w + between
		g.facts++
	}
	if room >= minBar+between {
		g.bar = min(maxBar, (room-between+minBar)/2)
		room -= g.bar + between
	}
	g.name = min(maxName, g.name+max(0, room))
	return g
}

func (g grid) line(r row) terminal.ScreenLine {
	s := r.names[0]
	if text.Columns(s) > g.name {
		s = r.names[len(r.names)-1]
	}
	s = text.Pad(s, g.name)
	facts := []string{"", "", "", r.work}
	bar := ""
	if r.part != nil {
		bar, facts[0] = text.Bar(*r.part, g.bar), text.Percent(*r.part)
	}
	if r.left != nil {
		facts[1] = text.Clock(*r.left) + " left"
	}
	if r.fps > 0 {
		facts[2] = fmt.Sprintf("%.1f fps", r.fps)
	}
	if g.bar > 0 {
		s += "  " + text.Pad(bar, g.bar)
	}
	for i, f := range facts[:g.facts] {
		if i < len(widths)-1 { // a number
			f = text.PadLeft(f, widths[i])
		}
		s += "  " + text.Cut(f, widths[i])
	}
	return terminal.ScreenLine{Text: strings.TrimRight(text.Cut(s, g.columns), " ")}
}
