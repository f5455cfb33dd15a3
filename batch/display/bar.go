package display

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/cli"
	"vidfilter/internal/text"
)

// lines returns what is redrawn. In small windows the line of the whole goes before the note, and
// both before jobs.
func (d *Display) lines(columns, rows int) (lines []cli.ScreenLine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.o.Now()
	totals := d.t.Totals(now, d.note != "")
	if totals.Jobs == 0 && d.note == "" {
		return nil
	}
	rows = max(1, rows) - 1
	if d.note != "" && rows > 0 {
		lines = append(lines, cli.ScreenLine{Text: text.Clip(d.note, columns), Color: cli.Yellow})
		rows--
	}
	g := gridOf(columns)
	lines = append(lines, g.line(wholeCells(totals)))
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
func jobLines(all []tally.Job, g grid, rows int) (lines []cli.ScreenLine) {
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
		lines = append(lines, cli.ScreenLine{Text: rest})
	}
	return lines
}

func jobLine(j tally.Job, g grid) cli.ScreenLine {
	if n := j.Note(); n != "" {
		line := text.Clip(text.Pad(name(j), g.name)+"  "+n, g.columns)
		return cli.ScreenLine{Text: line, Color: cli.Yellow}
	}
	return g.line(jobCells(j))
}

// cells are the cells of a line.
type cells struct {
	names           []string // variants: the longest that fits is shown, or the last is cut
	bar             float64
	part, left, fps string   // part is empty if unknown, and then there is no bar
	work            []string // variants, as names
}

func cellsOf(part, left *float64, names ...string) cells {
	c := cells{names: names}
	if part != nil {
		c.bar, c.part = *part, text.Percent(*part)
	}
	if left != nil {
		c.left = text.Clock(*left) + " left"
	}
	return c
}

func jobCells(j tally.Job) cells {
	c := cellsOf(j.Part, j.Left, name(j))
	if j.FPS > 0 {
		c.fps = fmt.Sprintf("%.1f fps", j.FPS)
	}
	c.work = jobWork(j)
	return c
}

func jobWork(j tally.Job) []string {
	switch p := j.Parts; {
	case p != nil && p.Done == p.All:
		return []string{fmt.Sprintf("joining %d parts", p.All)}
	case p != nil:
		done := text.Progress(p.Done, p.All, "part")
		return []string{fmt.Sprintf("%s, %d at work", done, p.Active), done}
	case j.Frames == 0 && j.Total == nil:
		return []string{"preparing"}
	}
	return framesWork(j.Frames, j.Total)
}

func framesWork(n int64, total *int64) []string {
	return []string{frames(n, total), text.Count(n, "frame"), fmt.Sprint(n)}
}

func wholeCells(t tally.Totals) cells {
	done := fmt.Sprintf("%d/%d", t.Done, t.Jobs)
	jobs := fmt.Sprintf("%d/%s", t.Done, text.Count(t.Jobs, "job"))
	c := cellsOf(t.Part, t.Left, text.List(jobs, text.Some(t.Failed, "failed")), jobs, done)
	if t.Running > 0 {
		c.fps = fmt.Sprintf("%.1f fps", t.FPS)
	}
	c.work = framesWork(t.Frames, t.Total)
	return c
}

// grid has the widths of the cells, the same for all lines. A width of 0 leaves a cell out.
type grid struct {
	columns                    int
	name, bar, part, left, fps int
	work                       bool
}

// Widths of cells: "100%", "1:45:59 left", "120.5 fps", "[----------]".
const (
	partWidth = 4
	leftWidth = 12
	fpsWidth  = 9
	workWidth = 22
	minBar    = 8
	maxBar    = 32
	minName   = 8
	maxName   = 48
	between   = 2
)

// gridOf gives columns to the most important cells first: the part done, some of the name, the
// time left, the speed, the work, the bar. The rest extends name and bar.
func gridOf(columns int) grid {
	g := grid{columns: columns, part: partWidth, name: minName}
	room := columns - partWidth - between - minName
	if room < 0 {
		g.name = max(0, columns-partWidth-between)
		return g
	}
	take := func(width int) int {
		if room < width+between {
			return 0
		}
		room -= width + between
		return width
	}
	g.left = take(leftWidth)
	longer := min(room, 6) // a name of 14 columns is worth more than the other cells
	room -= longer
	g.name += longer
	g.fps = take(fpsWidth)
	g.work = take(workWidth) > 0
	if g.bar = take(minBar); g.bar > 0 {
		longer = min(room/2, maxBar-minBar)
		g.bar += longer
		room -= longer
	}
	g.name = min(maxName, g.name+max(0, room))
	return g
}

func (g grid) line(c cells) cli.ScreenLine {
	var b strings.Builder
	b.WriteString(text.Pad(fitting(g.name, c.names), g.name))
	add := func(width int, s string) {
		if width > 0 && g.name > 0 {
			b.WriteString(strings.Repeat(" ", between))
		}
		if width > 0 {
			b.WriteString(text.PadLeft(s, width))
		}
	}
	add(g.bar, c.drawBar(g.bar))
	add(g.part, c.part)
	add(g.left, c.left)
	add(g.fps, c.fps)
	if g.work {
		b.WriteString("  " + text.Cut(fitting(workWidth, c.work), workWidth))
	}
	return cli.ScreenLine{Text: strings.TrimRight(text.Cut(b.String(), g.columns), " ")}
}

func (c cells) drawBar(width int) string {
	if c.part == "" {
		return ""
	}
	return text.Bar(c.bar, width)
}

// fitting returns the first variant that fits, or the last.
func fitting(width int, variants []string) (s string) {
	for _, s = range variants {
		if text.Columns(s) <= width {
			break
		}
	}
	return s
}
