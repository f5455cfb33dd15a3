package tally

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
	"vidfilter/internal/rate"
	"vidfilter/internal/text"
)

// Job is a job for display. Its JSON names are stable: they are never removed and never change
// their meaning. Unknown numbers are null.
type Job struct {
	ID        string      `json:"id"`
	Batch     string      `json:"batch"`          // see queue.BatchOf
	Title     string      `json:"title"`          // as submitted: any characters
	Site      string      `json:"site,omitempty"` // location of its files
	User      string      `json:"user,omitempty"` // credential that submitted it
	State     queue.State `json:"state"`          // queued, running, done, failed, quarantined, cancelled
	Reason    string      `json:"reason,omitempty"`
	Submitted *time.Time  `json:"submitted"`
	Started   *time.Time  `json:"started"`
	Ended     *time.Time  `json:"ended"`
	Tasks     int         `json:"tasks"`    // known so far
	Finished  int         `json:"finished"` // of them
	Retried   int         `json:"retried"`  // how often a task was retried
	Retries   int         `json:"retries"`  // how often each task may be
	Frames    int64       `json:"frames"`   // done, without parts that an earlier run did
	Total     *int64      `json:"total"`    // frames of the whole
	FPS       float64     `json:"fps"`
	Bytes     int64       `json:"bytes"` // written by its tasks
	Part      *float64    `json:"part"`  // done, 0 to 1
	Left      *float64    `json:"left"`  // in seconds
	Parts     *Parts      `json:"parts"` // null if filtered whole
	Active    []Active    `json:"active"`
	Stored    int64       `json:"stored,omitempty"` // bytes of its files in the store, where known
	Priority  int         `json:"priority,omitempty"`
	Paused    bool        `json:"paused,omitempty"` // its tasks at work are finished, and no other begins
	Alone     bool        `json:"alone,omitempty"`  // no worker has its files: it stands still
	Waits     string      `json:"waits,omitempty"`  // why it does not progress; see Job.Wait
}

// Parts of a long video.
type Parts struct {
	All    int `json:"all"`
	Done   int `json:"done"`
	Active int `json:"active"` // at work
}

// Active is a task that a worker is doing.
type Active struct {
	Task    string    `json:"task"`
	Attempt int       `json:"attempt"`
	Worker  string    `json:"worker"`
	Since   time.Time `json:"since"`
	Frames  int64     `json:"frames"`
	Total   *int64    `json:"total"`
	FPS     float64   `json:"fps"`
	Bytes   int64     `json:"bytes"`
	Note    string    `json:"note,omitempty"` // why it does not progress
}

// Name returns the title, or the ID without a title. It may hold any character.
func (j Job) Name() string { return cmp.Or(j.Title, j.ID) }

// Note returns why the job does not progress: it is paused, or the first note of its active tasks.
func (j Job) Note() string {
	if j.Paused {
		return "paused"
	}
	for _, a := range j.Active {
		if a.Note != "" {
			return a.Note
		}
	}
	return ""
}

// Wait sets Alone and Waits, which depend on the live workers.
func (j *Job) Wait(workers []queue.WorkerStatus) {
	if j.State.Ended() {
		return
	}
	if workers = queue.Serving(workers, j.Site); len(workers) == 0 {
		j.Alone, j.Waits = true, queue.Unserved
		return
	}
	if j.Waits = j.Note(); j.Waits != "" || len(j.Active) > 0 {
		return
	}
	held := ""
	for _, w := range workers {
		switch {
		case w.Held != "":
			held = fmt.Sprintf("the worker %s takes no tasks: %s", w.Name, w.Held)
		case w.Busy < w.Slots:
			return
		}
	}
	j.Waits = cmp.Or(held, "all workers with its files are at work")
}

// Took returns the time from start to end, or 0.
func (j Job) Took() time.Duration {
	if j.Started == nil || j.Ended == nil {
		return 0
	}
	return max(0, j.Ended.Sub(*j.Started))
}

func (j *job) view(now time.Time) Job {
	v := Job{
		ID: j.s.Job.ID, Batch: queue.BatchOf(j.s.Job.ID), Title: j.s.Job.Title, Site: j.s.Job.Site, User: j.s.Job.User, State: j.s.State, Reason: j.s.Explain(),
		Submitted: known(j.s.Submitted), Started: known(j.s.Started), Ended: known(j.s.Ended),
		Tasks: j.s.Tasks, Finished: j.s.Finished, Retried: j.s.Retried, Retries: j.s.Job.Retries, Paused: j.s.Paused, Priority: j.s.Job.Priority,
		Frames: j.done(), Bytes: j.written(), Active: make([]Active, len(j.s.Active)),
	}
	if j.total > 0 && !j.guessed {
		v.Total = new(j.total)
	}
	atWork := 0
	for i, a := range j.s.Active {
		v.Active[i] = activeView(a)
		if contract.Filters(a.Kind) {
			v.FPS += a.Progress.FPS
			atWork++
		}
	}
	if all, done := j.parts(); all > 0 {
		v.Parts = &Parts{all, done, atWork}
	}
	v.FPS = rate.Rounded(v.FPS)
	if p := j.part(); p >= 0 {
		v.Part = new(p)
	}
	v.Left = j.left(now, v.FPS)
	return v
}

func activeView(a queue.Active) Active {
	v := Active{Task: a.Task, Attempt: a.Attempt, Worker: a.Worker, Since: a.Since, Frames: a.Progress.Frames,
		FPS: rate.Rounded(a.Progress.FPS), Bytes: a.Progress.Bytes, Note: a.Progress.Note}
	if a.Progress.Total > 0 {
		v.Total = new(a.Progress.Total)
	}
	return v
}

func (j *job) done() int64 {
	n := j.frames
	if j.s.State == queue.Done && j.total > 0 && !j.guessed {
		return j.total
	}
	for _, t := range j.pending() {
		n += t.last.Frames
	}
	return n
}

func (j *job) written() int64 {
	if j.size > 0 {
		return j.size
	}
	n := j.bytes
	for _, t := range j.pending() {
		n += t.last.Bytes
	}
	return n
}

// warmUp is how long a task must run before its speed counts.
const warmUp = 5 * time.Second

// left returns the seconds that the job will take at its present speed.
func (j *job) left(now time.Time, fps float64) *float64 {
	p := j.part()
	if j.s.State.Ended() || p < 0 || j.total <= 0 {
		return nil
	}
	for _, t := range j.tasks {
		if t.filters && now.Sub(t.since) >= warmUp {
			return rate.Left((1-p)*float64(j.total), fps)
		}
	}
	return nil
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

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
