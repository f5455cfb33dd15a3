package jetstream

import (
	"context"
	"slices"
	"testing"

	"vidfilter/queue"
)

func TestSteps(t *testing.T) {
	e := embedded(t, quick)
	var did log
	work(t, e, queue.Worker{Slots: 3, Sites: []string{"here"}, Any: true}, parts(e, 5, func(_ context.Context, t queue.Task) error {
		did.add(t.Name)
		return nil
	}))
	submit(t, e, queue.Job{ID: "a", Site: "here", First: queue.Task{Site: "here"}}, false)
	s := awaitEnd(t, e, "a")
	if s.State != queue.Done || string(s.Result) != "6" || s.Tasks != 7 || s.Finished != 7 || s.Retried != 0 {
		t.Errorf("%+v", s)
	}
	if s.Started.Before(s.Submitted) || s.Ended.Before(s.Started) {
		t.Errorf("times: %v, %v, %v", s.Submitted, s.Started, s.Ended)
	}
	lines := did.all()
	if len(lines) != 7 || lines[0] != "plan" || lines[6] != "join" {
		t.Errorf("order: %v", lines)
	}
	slices.Sort(lines)
	if len(slices.Compact(lines)) != 7 {
		t.Errorf("a task was done twice: %v", lines)
	}
}
