package tally

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vidfilter/batch/queue"
	"vidfilter/internal/text"
)

// Facts describes the progress of a job, such as "3/12 parts, 2 at work, 12.3 fps, 1:01 left".
func (j Job) Facts() string {
	var all []string
	if p := j.Parts; p != nil {
		all = append(all, text.Progress(p.Done, p.All, "part"), text.Some(p.Active, "at work"))
	}
	if j.Total != nil || j.Frames > 0 {
		all = append(all, Frames(j.Frames, j.Total))
	}
	if all = append(all, speed(j.FPS, j.Left)); j.Bytes > 0 {
		all = append(all, text.Size(j.Bytes))
	}
	if j.Retried > 0 {
		all = append(all, fmt.Sprintf("tried again: %d", j.Retried))
	}
	return text.List(all...)
}

// Where describes the tasks at work and their workers, such as "part-0001, part-0002 on here".
func (j Job) Where() string {
	const most = 4
	at := map[string][]string{}
	for _, a := range j.Active {
		at[a.Worker] = append(at[a.Worker], a.Task)
	}
	switch {
	case len(at) == 0 && j.State == queue.Running && j.Parts != nil && j.Parts.Done == j.Parts.All:
		return "to be joined"
	case len(j.Active) > most:
		return fmt.Sprintf("%s on %s", text.Count(len(j.Active), "task"), text.Count(len(at), "worker"))
	}
	var all []string
	for _, worker := range slices.Sorted(maps.Keys(at)) {
		all = append(all, strings.Join(at[worker], ", ")+" on "+worker)
	}
	return strings.Join(all, "; ")
}

// Summary describes the whole, such as "3 of 40 jobs done, 2 running, 1200 frames, 61.2 fps".
func (t Totals) Summary() string {
	fps := t.FPS
	if t.Running == 0 {
		fps = 0
	}
	return text.List(fmt.Sprintf("%d of %s done", t.Done, text.Count(t.Jobs, "job")), text.Some(t.Running, "running"), text.Some(t.Queued, "queued"),
		text.Some(t.Failed, "failed"), text.Some(t.Cancelled, "cancelled"), Frames(t.Frames, t.Total), speed(fps, t.Left))
}

func speed(fps float64, left *float64) string {
	var all []string
	if fps > 0 {
		all = append(all, fmt.Sprintf("%.1f fps", fps))
	}
	if left != nil {
		all = append(all, text.Clock(*left)+" left")
	}
	return text.List(all...)
}

// Frames formats a count of frames, with the total if it is known.
func Frames(n int64, total *int64) string {
	if total == nil {
		return text.Count(n, "frame")
	}
	return text.Progress(n, *total, "frame")
}
