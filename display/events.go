package display

import (
	"fmt"
	"strings"
	"time"

	"vidfilter/internal/tally"
	"vidfilter/internal/text"
	"vidfilter/queue"
)

// pause is the time between two lines of the whole in plain mode.
const pause = 10 * time.Second

const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (d *Display) paint(code, s string) string {
	if !d.color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// events returns a line for each thing that has happened to a job. On a terminal its own line tells that it runs or waits.
func (d *Display) events(before, after tally.Job) (lines []string) {
	title := name(after)
	if after.Retried > before.Retried {
		lines = append(lines, d.paint(yellow, "tried again")+": "+title+tries(after))
	}
	if d.o.Mode == Plain {
		lines = append(lines, runs(before, after)...)
	}
	if after.State == before.State {
		return lines
	}
	switch after.State {
	case queue.Done:
		return append(lines, d.paint(green, "done")+": "+title+result(after))
	case queue.Failed:
		return append(lines, d.paint(red, "failed")+": "+title+reason(after))
	case queue.Cancelled:
		return append(lines, d.paint(yellow, "cancelled")+": "+title+reason(after))
	}
	return lines
}

// runs returns lines of a job that starts, waits or goes on.
func runs(before, after tally.Job) []string {
	title, was, is := name(after), before.Note(), after.Note()
	switch {
	case after.State != queue.Running:
		return nil
	case before.State != queue.Running:
		return []string{"started: " + title}
	case is != was && is != "":
		return []string{"waits: " + title + ": " + text.OneLine(is)}
	case is != was && len(after.Active) > 0:
		return []string{"goes on: " + title}
	}
	return nil
}

func name(j tally.Job) string {
	if j.Title == "" {
		return text.OneLine(j.ID)
	}
	return text.OneLine(j.Title)
}

func tries(j tally.Job) string {
	return fmt.Sprintf(" (%s so far)", times(j.Retried))
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func reason(j tally.Job) string {
	if j.Reason == "" {
		return ""
	}
	return ": " + text.OneLine(j.Reason)
}

// result returns what is known of a job that is done, as ", 3000 frames in 0:49 (61.2 fps), 12.3 MB".
func result(j tally.Job) string {
	var b strings.Builder
	took := j.Took()
	if j.Frames > 0 {
		fmt.Fprintf(&b, ", %s", text.Count(j.Frames, "frame"))
	}
	switch {
	case took > 0 && j.Frames > 0:
		fmt.Fprintf(&b, " in %s (%.1f fps)", text.Clock(took), float64(j.Frames)/took.Seconds())
	case took > 0:
		fmt.Fprintf(&b, ", in %s", text.Clock(took))
	}
	if j.Bytes > 0 {
		fmt.Fprintf(&b, ", %s", text.Size(j.Bytes))
	}
	return b.String()
}

// wholeLine is the whole in plain mode.
func wholeLine(t tally.Totals) string {
	var parts []string
	if t.Part != nil {
		parts = append(parts, percent(*t.Part))
	}
	parts = append(parts, fmt.Sprintf("%d of %s done", t.Done, text.Count(int64(t.Jobs), "job")))
	parts = append(parts, few(t.Failed, "failed"), few(t.Cancelled, "cancelled"), few(t.Running, "running"))
	parts = append(parts, frames(t.Frames, t.Total))
	if t.Running > 0 {
		parts = append(parts, fmt.Sprintf("%.1f fps", t.FPS))
	}
	if t.Left != nil {
		parts = append(parts, left(*t.Left))
	}
	return joined(parts)
}

// closingLine is the last one. seen are the frames of this run.
func closingLine(t tally.Totals, seen int64, took time.Duration) string {
	speed := ""
	if seen > 0 && took > 0 {
		speed = fmt.Sprintf("%s in %s (%.1f fps)", text.Count(seen, "frame"), text.Clock(took), float64(seen)/took.Seconds())
	}
	return joined([]string{fmt.Sprintf("%d of %s done", t.Done, text.Count(int64(t.Jobs), "job")), few(t.Failed, "failed"),
		few(t.Cancelled, "cancelled"), few(t.Queued+t.Running, "not done"), speed})
}

// joined leaves out what is empty.
func joined(parts []string) string {
	line := ""
	for _, p := range parts {
		if p != "" && line != "" {
			line += ", "
		}
		line += p
	}
	return line
}

// few is empty for none.
func few(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

// percent rounds down: what is not done is not at 100%.
func percent(part float64) string { return fmt.Sprintf("%d%%", int(part*100)) }

func left(seconds float64) string {
	return text.Clock(time.Duration(seconds*float64(time.Second))) + " left"
}

func frames(n int64, total *int64) string {
	if total != nil && *total > 0 {
		return fmt.Sprintf("%d/%d frames", n, *total)
	}
	return text.Count(n, "frame")
}
