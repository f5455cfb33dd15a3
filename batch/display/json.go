package display

import (
	"reflect"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
)

// Objects of mode json, one per line; the last one is a done. Names are stable.
//
// 	{"type":"job","job":{"id":...,"state":"running","part":0.41,...}}   a change; see tally.Job
// 	{"type":"batch","time":...,"elapsed":12.5,"note":"","totals":{"jobs":40,"done":3,...}}
// 	                                          the whole, every second; see tally.Totals
// 	{"type":"note","message":"paused: ..."}   the work is held up; "" when it resumes
// 	{"type":"info"|"warning","message":"..."}
// 	{"type":"done",...as batch...,"warnings":[...]}

type jsonJob struct {
	Type string    `json:"type"` // job
	Job  tally.Job `json:"job"`
}

type jsonBatch struct {
	Type    string       `json:"type"` // batch
	Time    time.Time    `json:"time"`
	Elapsed float64      `json:"elapsed"` // in seconds
	Note    string       `json:"note"`    // why the work is held up, or ""
	Totals  tally.Totals `json:"totals"`
}

type jsonDone struct {
	jsonBatch          // done
	Warnings  []string `json:"warnings"`
}

// maxBacklog is how many lines may wait for a slow reader before mere progress is dropped.
const maxBacklog = 4096

// jobObject writes a changed job; d.mu is held.
func (d *Display) jobObject(before, after tally.Job) {
	if reflect.DeepEqual(before, after) || d.Backlog() > maxBacklog && before.State == after.State && before.Retried == after.Retried {
		return
	}
	if before.State == queue.State("") && after.State.Ended() && after.Ended != nil && after.Ended.Before(d.start) {
		return // of an earlier run: counted in the totals
	}
	d.Object(jsonJob{"job", after})
}

func (d *Display) batchObject(kind string, t tally.Totals, now time.Time) jsonBatch {
	return jsonBatch{kind, now, now.Sub(d.start).Round(time.Millisecond).Seconds(), d.note, t}
}
