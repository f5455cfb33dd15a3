package tally

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
)

type job struct {
	s       queue.Status // without spec and result
	kept    bool         // among the done ones of the tally
	gone    bool         // only counted
	entered bool         // counted in its batch
	version uint64
	tasks   map[string]*task // that workers are doing
	weight  int64            // bytes of the source; 0 if unknown
	total   int64            // frames of the whole; 0 if unknown
	guessed bool             // total is a guess
	worked  bool             // a task that filters was seen
	high    float64          // the largest part done so far: repeated work is no progress

	// tasks that workers have left: finished if counted, else lost, or finished without word from
	// the queue yet
	released      map[string]*task
	unattributed  int // tasks that the queue counts as finished and we do not
	countedParts  int
	frames, bytes int64 // of counted tasks
	totals        int64 // sum of the totals of parts seen
	counted       int64

	size     int64 // of the result; 0 if unknown
	fresh    bool  // queued and untouched when first seen
	dropped  bool  // see Tally.Forget
	credited gain  // everything observed so far

	earned map[string]int64 // frames credited for each task: repeated ones do not count
}

type task struct {
	attempt int
	taken   time.Time // by the worker's clock
	since   time.Time // when it was first seen
	last    queue.Progress
	counted bool // finished
	filters bool
	earned  int64 // frames of this attempt
}

// gain is the work observed between two statuses.
type gain struct {
	frames, bytes, retries int64
	part                   float64 // of the job, 0 to 1
}

// follow takes the next status. again is false for the first one.
func (j *job) follow(now time.Time, s queue.Status, again bool) gain {
	finished := s.Finished - j.s.Finished
	if !again { // tasks finished earlier were not seen
		finished = 0
		j.fresh = s.State == queue.Queued && s.Finished == 0
	}
	retried := max(0, s.Retried-j.s.Retried)
	if finished < 0 || j.s.State.Ended() && !s.State.Ended() { // submitted again
		*j = job{version: j.version, weight: j.weight, kept: j.kept}
		again = false
	}
	j.s = s
	j.s.Active = slices.Clone(s.Active)
	var g gain
	var found int64 // frames done before we looked
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
	if s.State.HasFailed() || s.State == queue.Cancelled || !j.worked {
		return g
	}
	g.part = j.high - was
	if found > 0 {
		g.part *= float64(g.frames) / float64(g.frames+found)
	}
	return g
}

// rest adds observed work that no task reported: short tasks end before they report.
func (j *job) rest(g gain) gain {
	if j.fresh && j.s.State == queue.Done && !j.s.Started.IsZero() {
		g.frames = max(g.frames, j.total-j.credited.frames)
		g.bytes = max(g.bytes, j.size-j.credited.bytes)
		g.part = max(g.part, 1-j.credited.part)
	}
	j.credited.frames += g.frames
	j.credited.bytes += g.bytes
	j.credited.part += g.part
	return g
}

// forget drops fields that are not shown, and fields that only running jobs need: a batch has many
// jobs that wait or are done.
func (j *job) forget() {
	j.s.Job.Spec, j.s.Job.First, j.s.Result = nil, queue.Task{}, nil
	if j.s.State == queue.Done {
		j.tasks, j.released, j.earned = nil, nil, nil
	}
}

// followTask returns the frames that a task has done since the last status, the frames it found
// done, and the bytes it wrote.
func (j *job) followTask(now time.Time, a queue.Active) (credit, found, bytes int64) {
	t := j.tasks[a.Task]
	// a task that was put back counts no attempt
	if t == nil || t.attempt != a.Attempt || !t.taken.Equal(a.Since) {
		t = &task{attempt: a.Attempt, taken: a.Since, since: now, filters: contract.Filters(a.Kind)}
		if j.tasks == nil {
			j.tasks, j.released, j.earned = map[string]*task{}, map[string]*task{}, map[string]int64{}
		}
		j.tasks[a.Task] = t
		j.uncount(a.Task)
	}
	j.worked = j.worked || t.filters
	if t.last.Total == 0 && a.Progress.Total > 0 && t.filters {
		j.totals += a.Progress.Total
		j.counted++
	}
	step := max(0, a.Progress.Frames-t.last.Frames)
	credit = step
	// it may have begun in the middle: trust no more than its own speed allows
	if t.last.Frames == 0 {
		credit = min(step, int64(1.5*a.Progress.FPS*max(1, now.Sub(t.since).Seconds())))
	}
	bytes = max(0, a.Progress.Bytes-t.last.Bytes)
	t.last = grown(t.last, a.Progress)
	if !t.filters {
		return 0, 0, bytes
	}
	return j.credit(a.Task, t, credit), step - credit, bytes
}

// credit returns how many of an attempt's frames no earlier attempt of the task was credited for.
func (j *job) credit(name string, t *task, frames int64) int64 {
	t.earned += frames
	fresh := max(0, t.earned-j.earned[name])
	j.earned[name] += fresh
	return fresh
}

// grown returns the later progress. Counts never fall: a report with only a note may leave them
// out.
func grown(last, p queue.Progress) queue.Progress {
	p.Frames, p.Bytes = max(p.Frames, last.Frames), max(p.Bytes, last.Bytes)
	if p.Total == 0 {
		p.Total = last.Total
	}
	return p
}

// settle decides which tasks have finished. The queue's count and the worker's release of a task
// arrive in any order. So as many released tasks as the queue has counted are taken for finished,
// the most advanced first, until one comes back. It returns the frames done after the last
// reports.
func (j *job) settle(finished int) (frames int64) {
	for name, t := range j.tasks {
		if !slices.ContainsFunc(j.s.Active, func(a queue.Active) bool { return a.Task == name }) {
			delete(j.tasks, name)
			j.released[name] = t
		}
	}
	var open []string
	for name, t := range j.released {
		if !t.counted {
			open = append(open, name)
		}
	}
	slices.SortFunc(open, func(a, b string) int {
		return cmp.Or(cmp.Compare(j.released[b].part(), j.released[a].part()), strings.Compare(a, b))
	})
	j.unattributed += finished
	if j.s.State == queue.Done {
		j.unattributed = len(open)
	}
	for _, name := range open[:min(max(0, j.unattributed), len(open))] {
		frames += j.credit(name, j.released[name], j.count(j.released[name]))
	}
	// the rest are tasks never seen
	j.unattributed = min(max(0, j.unattributed-len(open)), len(j.tasks))
	return frames
}

// count takes a released task for finished, and returns the frames done after its last report.
func (j *job) count(t *task) (rest int64) {
	t.counted = true
	if !t.filters {
		return 0
	}
	rest = max(0, t.last.Total-t.last.Frames)
	t.last.Frames += rest
	j.frames += t.last.Frames
	j.bytes += t.last.Bytes
	j.countedParts++
	return rest
}

// uncount takes that back for a task that runs again.
func (j *job) uncount(name string) {
	t := j.released[name]
	delete(j.released, name)
	if t == nil || !t.counted {
		return
	}
	j.unattributed++
	if t.filters {
		j.frames -= t.last.Frames
		j.bytes -= t.last.Bytes
		j.countedParts--
	}
}

func (t *task) part() float64 {
	if t.last.Total <= 0 {
		return 0
	}
	return min(1, float64(t.last.Frames)/float64(t.last.Total))
}

func (j *job) estimateSize(o Options) {
	if o.Weigh != nil && j.weight == 0 {
		j.weight = max(0, o.Weigh(j.s.Job))
	}
	if o.Bytes != nil && j.s.State == queue.Done {
		j.size = max(0, o.Bytes(j.s))
	}
	if o.Frames != nil {
		if n := o.Frames(j.s); n > 0 {
			j.total, j.guessed = n, false
			return
		}
	}
	switch all, _ := j.parts(); {
	case j.s.State == queue.Done && j.countedParts == max(1, all) && j.frames > 0:
		j.total, j.guessed = j.frames, false
	case j.counted == 0 || j.s.State == queue.Done:
	case all == 0:
		for _, t := range j.tasks {
			if t.filters && t.last.Total > 0 {
				j.total, j.guessed = t.last.Total, false
			}
		}
	default: // parts of a job are much alike
		j.total, j.guessed = j.totals/j.counted*int64(all), true
	}
}

// parts returns how many parts the job has and how many are done; all is 0 if it is filtered
// whole or not planned yet.
func (j *job) parts() (all, done int) {
	if all = j.s.Planned; all < 2 {
		return 0, 0
	}
	// A part for another machine becomes a task when it has been cut.
	const planAndJoin = 2
	cut := max(0, j.s.Tasks-all-planAndJoin)
	return all, min(max(0, j.s.Finished-1-cut), all)
}

// part returns how much of the job is done, 0 to 1, or -1 if unknown.
func (j *job) part() float64 {
	if j.s.State == queue.Done {
		return 1
	}
	all, done := j.parts()
	if all > 0 {
		return min(1, (float64(done)+j.underWay())/float64(all))
	}
	for _, t := range j.tasks {
		if t.filters {
			return j.partOfWhole(t)
		}
	}
	for _, t := range j.released {
		if t.filters && t.part() == 1 {
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

// pending returns the tasks whose frames are not counted yet: active ones, and released ones that
// must have finished.
func (j *job) pending() (all []*task) {
	for _, t := range j.tasks {
		if t.filters {
			all = append(all, t)
		}
	}
	for _, t := range j.released {
		if t.filters && !t.counted && t.part() == 1 {
			all = append(all, t)
		}
	}
	return all
}

// underWay returns the sum of parts done by tasks that the queue does not count as finished.
func (j *job) underWay() (sum float64) {
	var parts []float64
	for _, t := range j.pending() {
		parts = append(parts, t.part())
	}
	slices.Sort(parts)
	for _, p := range parts[:max(0, len(parts)-j.unattributed)] { // the queue counts the others
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
