package display

import (
	"fmt"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// plainInterval is the time between two lines of the whole in mode Plain.
const plainInterval = 10 * time.Second

// events returns a line for each event of a job. On a terminal, the job's own line shows that it
// runs or waits.
func (d *Display) events(before, after tally.Job) (lines []string) {
	title := name(after)
	if after.Retried > before.Retried {
		lines = append(lines, d.Paint(terminal.Yellow, "tried again")+": "+title+" ("+times(after.Retried)+" so far)")
	}
	if d.Mode == "plain" {
		lines = append(lines, runs(before, after)...)
	}
	if after.State == before.State {
		return lines
	}
	switch after.State {
	case queue.Done:
		return append(lines, d.Paint(terminal.Green, "done")+": "+title+result(after))
	case queue.Failed:
		return append(lines, d.Paint(terminal.Red, "failed")+": "+title+reason(after))
	case queue.Quarantined:
		return append(lines, d.Paint(terminal.Red, "quarantined")+": "+title+reason(after))
	case queue.Cancelled:
		return append(lines, d.Paint(terminal.Yellow, "cancelled")+": "+title+reason(after))
	}
	return lines
}

// runs returns lines for a job that starts, waits or resumes.
func runs(before, after tally.Job) []string {
	title, was, is := name(after), before.Note(), after.Note()
	switch {
	case after.State != queue.Running:
		return nil
	case before.State != queue.Running:
		return []string{"started: " + title}
	case is != was && is != "":
		return []string{"waiting: " + title + ": " + text.OneLine(is)}
	case is != was && len(after.Active) > 0:
		return []string{"resumed: " + title}
	}
	return nil
}

func name(j tally.Job) string {
	return text.OneLine(j.Name())
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

// result returns the facts of a finished job, such as ", 3000 frames in 0:49 (61.2 fps), 12.3
// MB".
func result(j tally.Job) string {
	var b strings.Builder
	took := j.Took()
	if j.Frames > 0 {
		fmt.Fprintf(&b, ", %s", text.Count(j.Frames, "frame"))
	}
	switch {
	case took > 0 && j.Frames > 0:
		fmt.Fprintf(&b, " in %s (%.1f fps)", text.Clock(took.Seconds()), float64(j.Frames)/took.Seconds())
	case took > 0:
		fmt.Fprintf(&b, ", in %s", text.Clock(took.Seconds()))
	}
	if j.Bytes > 0 {
		fmt.Fprintf(&b, ", %s", text.Size(j.Bytes))
	}
	return b.String()
}

// wholeLine returns the whole for mode plain.
func wholeLine(t tally.Totals) string {
	if t.Part == nil {
		return t.Summary()
	}
	return text.Percent(*t.Part) + ", " + t.Summary()
}

// closingLine returns the last line. seen is the number of frames of this run.
func closingLine(t tally.Totals, seen int64, took time.Duration) string {
	speed := ""
	if seen > 0 && took > 0 {
		speed = fmt.Sprintf("%s in %s (%.1f fps)", text.Count(seen, "frame"), text.Clock(took.Seconds()), float64(seen)/took.Seconds())
	}
	return text.List(fmt.Sprintf("%d of %s done", t.Done, text.Count(t.Jobs, "job")), text.Some(t.Failed, "failed"),
		text.Some(t.Cancelled, "cancelled"), text.Some(t.Queued+t.Running, "not done"), speed)
}
