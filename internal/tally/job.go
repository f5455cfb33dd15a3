package tally

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"vidfilter/queue"
)

// The tasks of a job by their names: a plan may come first and a join last, and what lies between filters frames.
const (
	plan       = "plan"
	join       = "join"
	cutPrefix  = "cut-" // before a part that goes to another machine
	partPrefix = "part-"
)

func filters(task string) bool {
	return task != plan && task != join && !strings.HasPrefix(task, cutPrefix)
}

type job struct {
	s       queue.Status
	version uint64
	tasks   map[string]*task // in the hands of workers
	weight  int64            // bytes of the source, 0 when not known
	total   int64            // frames of the whole, 0 when not known
	guessed bool             // total is a guess
	worked  bool             // a task that filters was seen at work
	high    float64          // the greatest part that was done: work that is done again is no progress

	gone          map[string]*task // no longer in the hands of workers: finished if counted, else lost, or finished and the queue has not said so yet
	owed          int              // tasks that the queue says are finished and that are not counted
	finds         int              // parts that are counted
	frames, bytes int64            // of tasks that are counted
	totals        int64            // sum of the totals of parts seen, of which there were
	counted       int64
	highest       int // number of the last part seen at work, from 1
}

type task struct {
	attempt int
	taken   time.Time // by the worker's clock
	since   time.Time // when it was first seen
	last    queue.Progress
	counted bool // it is finished
}

// gain is what was done between two statuses and before our eyes.
type gain struct {
	frames, bytes, retries int64
	part                   float64 // of the job, 0 to 1
}

// follow takes the next status. again says that there was one before.
func (j *job) follow(now time.Time, s queue.Status, again bool) gain {
	finished := s.Finished - j.s.Finished
	if !again { // what had finished before is not among the tasks that were seen
		finished = 0
	}
	retried := max(0, s.Retried-j.s.Retried)
	if finished < 0 || j.s.State.Ended() && !s.State.Ended() { // submitted again
		*j = job{version: j.version, weight: j.weight, tasks: map[string]*task{}, gone: map[string]*task{}}
		again = false
	}
	j.s = s
	j.s.Active = slices.Clone(s.Active)
	var g gain
	var found int64 // frames that were not done before our eyes
	for i, a := range s.Active {
		credit, rest, bytes := j.followTask(now, a)
		j.s.Active[i].Progress = j.tasks[a.Task].last
		g.frames += credit
		g.bytes += bytes
		found += rest
	}
	g.frames += j.settle(finished)
	was := j.high
	j.high = max(was, j.part())
	if !again {
		return gain{}
	}
	g.retries = int64(retried)
	if s.State == queue.Failed || s.State == queue.Cancelled || !j.worked {
		return g
	}
	g.part = j.high - was
	if found > 0 {
		g.part *= float64(g.frames) / float64(g.frames+found)
	}
	return g
}

// followTask returns how many frames a task has done since the last status, how many it found done, and the bytes it wrote.
func (j *job) followTask(now time.Time, a queue.Active) (credit, found, bytes int64) {
	t := j.tasks[a.Task]
	if t == nil || t.attempt != a.Attempt || !t.taken.Equal(a.Since) { // one put back for a while counts no attempt
		t = &task{attempt: a.Attempt, taken: a.Since, since: now}
		j.tasks[a.Task] = t
		j.uncount(a.Task)
	}
	j.worked = j.worked || filters(a.Task)
	if t.last.Total == 0 && a.Progress.Total > 0 && filters(a.Task) {
		j.totals += a.Progress.Total
		j.counted++
	}
	if n := 0; strings.HasPrefix(a.Task, partPrefix) {
		if _, err := fmt.Sscanf(a.Task[len(partPrefix):], "%d", &n); err == nil {
			j.highest = max(j.highest, n+1)
		}
	}
	step := max(0, a.Progress.Frames-t.last.Frames)
	credit = step
	if t.last.Frames == 0 { // it may have begun in the middle: believe no more than its own speed allows
		credit = min(step, int64(1.5*a.Progress.FPS*max(1, now.Sub(t.since).Seconds())))
	}
	bytes = max(0, a.Progress.Bytes-t.last.Bytes)
	t.last = grown(t.last, a.Progress)
	if !filters(a.Task) {
		return 0, 0, bytes
	}
	return credit, step - credit, bytes
}

// grown returns the later progress. Counts do not fall: one who has only a note to tell may have left them out.
func grown(last, p queue.Progress) queue.Progress {
	p.Frames, p.Bytes = max(p.Frames, last.Frames), max(p.Bytes, last.Bytes)
	if p.Total == 0 {
		p.Total = last.Total
	}
	return p
}

// settle finds out which tasks have finished. That a worker has let go of a task and that the task is finished are told one after the
// other, in any order; so of those that are gone as many as have finished are taken for it, the most advanced first, and one that
// comes back was not. It returns the frames that were done after the last report.
func (j *job) settle(finished int) (frames int64) {
	for name, t := range j.tasks {
		if !slices.ContainsFunc(j.s.Active, func(a queue.Active) bool { return a.Task == name }) {
			delete(j.tasks, name)
			j.gone[name] = t
		}
	}
	var open []string
	for name, t := range j.gone {
		if !t.counted {
			open = append(open, name)
		}
	}
	slices.SortFunc(open, func(a, b string) int {
		return cmp.Or(cmp.Compare(j.gone[b].part(), j.gone[a].part()), strings.Compare(a, b))
	})
	j.owed += finished
	if j.s.State == queue.Done {
		j.owed = len(open)
	}
	for _, name := range open[:min(max(0, j.owed), len(open))] {
		frames += j.count(name, j.gone[name])
	}
	j.owed = min(max(0, j.owed-len(open)), len(j.tasks)) // of tasks that were never seen nothing is known
	return frames
}

// count takes a task that is gone for finished, and returns the frames that were done after its last report.
func (j *job) count(name string, t *task) (rest int64) {
	t.counted = true
	if !filters(name) {
		return 0
	}
	rest = max(0, t.last.Total-t.last.Frames)
	t.last.Frames += rest
	j.frames += t.last.Frames
	j.bytes += t.last.Bytes
	j.finds++
	return rest
}

// uncount takes back that a task is finished: it is at work again.
func (j *job) uncount(name string) {
	t := j.gone[name]
	delete(j.gone, name)
	if t == nil || !t.counted {
		return
	}
	j.owed++
	if filters(name) {
		j.frames -= t.last.Frames
		j.bytes -= t.last.Bytes
		j.finds--
	}
}

func (t *task) part() float64 {
	if t.last.Total <= 0 {
		return 0
	}
	return min(1, float64(t.last.Frames)/float64(t.last.Total))
}

// weigh finds out how much there is to do.
func (j *job) weigh(o Options) {
	if o.Weigh != nil && j.weight == 0 {
		j.weight = max(0, o.Weigh(j.s.Job))
	}
	if o.Frames != nil {
		if n := o.Frames(j.s); n > 0 {
			j.total, j.guessed = n, false
			return
		}
	}
	switch all, _ := j.parts(); {
	case j.s.State == queue.Done && j.finds == max(1, all) && j.frames > 0:
		j.total, j.guessed = j.frames, false
	case j.counted == 0 || j.s.State == queue.Done:
	case all == 0:
		for name, t := range j.tasks {
			if filters(name) && t.last.Total > 0 {
				j.total, j.guessed = t.last.Total, false
			}
		}
	default: // the parts of a job are much alike
		j.total, j.guessed = j.totals/j.counted*int64(all), true
	}
}

// parts returns how many parts the job has and how many are done; all is 0 for one that is filtered whole or not planned.
func (j *job) parts() (all, done int) {
	n, done := j.s.Tasks, j.s.Finished
	if j.s.Job.First.Name == plan {
		n, done = n-1, done-1
	}
	if n < 2 && j.highest == 0 {
		return 0, 0
	}
	all = max(n-1, j.highest) // without the join
	return all, min(max(0, done), all)
}

// part returns how much of the job is done, 0 to 1, or -1 when that is not known.
func (j *job) part() float64 {
	if j.s.State == queue.Done {
		return 1
	}
	all, done := j.parts()
	if all > 0 {
		return min(1, (float64(done)+j.underWay())/float64(all))
	}
	for name, t := range j.tasks {
		if filters(name) {
			return j.partOfWhole(t)
		}
	}
	for name, t := range j.gone {
		if filters(name) && t.part() == 1 {
			return 1
		}
	}
	switch {
	case j.worked && j.s.Finished == j.s.Tasks:
		return 1
	case j.total > 0 || !j.worked:
		return 0
	}
	return -1
}

// pending returns the tasks whose frames are not counted yet: those at work, and those that are gone and must have finished.
func (j *job) pending() (all []*task) {
	for name, t := range j.tasks {
		if filters(name) {
			all = append(all, t)
		}
	}
	for name, t := range j.gone {
		if filters(name) && !t.counted && t.part() == 1 {
			all = append(all, t)
		}
	}
	return all
}

// underWay returns how many parts are done by tasks that the queue does not yet say are finished.
func (j *job) underWay() (sum float64) {
	var parts []float64
	for _, t := range j.pending() {
		parts = append(parts, t.part())
	}
	slices.Sort(parts)
	for _, p := range parts[:max(0, len(parts)-j.owed)] { // the others are counted as done
		sum += p
	}
	return sum
}

func (j *job) partOfWhole(t *task) float64 {
	total := t.last.Total
	if total <= 0 {
		total = j.total
	}
	if total <= 0 {
		return -1
	}
	return min(1, float64(t.last.Frames)/float64(total))
}
