package jetstream

import (
	"context"
	"strings"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// strange is a forged record of a live job with one task.
func strange(id, epoch, task, more string) string {
	return `{"Job":{"ID":"` + id + `","First":{"name":"` + task + `"}},"State":"queued","Tasks":1,"epoch":"` + epoch + `","open":[{` + more +
		`"left":["` + task + `"]}]}`
}

// Forged records and messages stop no worker: such jobs fail with a reason, and can be submitted
// again.
func TestMalformed(t *testing.T) {
	e := embedded(t, quick)
	ctx := t.Context()
	for key, record := range map[string]string{
		"path":   strange("../../../victim", "e", "whole", ""),
		"other":  strange("another", "e", "whole", ""),
		"text":   "no record",
		"epoch":  strange("epoch", "a.*.>", "whole", ""),
		"task":   strange("task", "e", "../part-0000", ""),
		"state":  strings.Replace(strange("state", "e", "whole", ""), "queued", "flying", 1),
		"count":  strings.Replace(strange("count", "e", "whole", ""), `"Tasks":1`, `"Tasks":-9`, 1),
		"ghost":  strange("ghost", "e", "whole", `"by":"nobody",`),
		"tries":  strange("tries", "e", "whole", ""),
		"deaths": strange("deaths", "e", "whole", ""),
		"result": strange("result", "e", "whole", ""),
	} {
		e2e.Must(t, failure(e.jobs.Put(ctx, key, []byte(record))))
	}
	for key, entry := range map[string]string{"t.tries.e.whole": "none", "t.deaths.e.whole": `{"deaths":-1000}`, "r.result.e.whole": "{"} {
		e2e.Must(t, failure(e.results.Put(ctx, key, []byte(entry))))
	}
	for _, subject := range []string{"path.e.whole", "other.e.whole", "text.e.whole", "tries.e.whole", "deaths.e.whole", "result.e.whole",
		"$job.e.whole", "none.e.whole", "later.e.whole"} {
		e2e.Must(t, failure(e.js.Publish(ctx, string(e.names)+".task.new.any."+subject, []byte(`{"job":"x","name":"../y"}`))))
	}
	e2e.Must(t, failure(e.workers.Put(ctx, "stranger", []byte(`{"Name":"x","Slots":-5}`))))
	work(t, e, queue.Worker{Slots: 1}, func(_ context.Context, j queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if j.ID != "sound" && j.ID != "path" || task.Name != "plan" {
			t.Errorf("job %q, task %q was done", j.ID, task.Name)
		}
		return queue.Outcome{End: true}, nil
	})
	submit(t, e, queue.Job{ID: "sound"}, false)
	if s := awaitEnd(t, e, "sound"); s.State != queue.Done || time.Since(s.Submitted) > 10*time.Second {
		t.Errorf("a sound job is %s (%s) after %v", s.State, s.Reason, time.Since(s.Submitted))
	}
	for key, why := range map[string]string{
		"path": `it names the job "../../../victim"`, "other": `it names the job "another"`, "text": "malformed", "epoch": `"a.*.>" is no name`,
		"task": `"../part-0000" is no name`, "state": `"flying" is no state`, "count": "-9 is out of range", "ghost": "tasks after nobody",
		"tries": "malformed", "deaths": "-1000 is out of range", "result": "malformed",
	} {
		if s := awaitEnd(t, e, key); s.State != queue.Failed || !strings.Contains(s.Reason, why) {
			t.Errorf("job %s is %s: %s", key, s.State, s.Reason)
		}
	}
	e2e.Until(t, "the worker alone is listed", func() bool { // its entry may expire before it is renewed
		all, err := e.Workers(ctx)
		return err == nil && len(all) == 1
	})
	e2e.Must(t, e.Cancel(ctx, "path", "x"))
	submit(t, e, queue.Job{ID: "path", Site: "nowhere"}, false)
	await(t, e, "path", "queued anew", func(s queue.Status) bool {
		return s.State == queue.Queued || s.State == queue.Done || s.State == queue.Running
	})
}
