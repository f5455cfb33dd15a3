package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// deadly handles jobs of a plan, n parts and a join, and dies selects the tasks that die.
func deadly(e queue.Engine, n int, dies func(job, task string) bool) queue.Handler {
	return func(ctx context.Context, j queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
		return parts(e, n, func(_ context.Context, t queue.Task) error {
			if dies(j.ID, t.Name) {
				return queue.Died(errBusy)
			}
			return nil
		})(ctx, j, t, report)
	}
}

// The processes that die at the parts of a file count together, but a death that the next try
// disproves is not the file's.
func TestDiedAtParts(t *testing.T) {
	for name, c := range map[string]struct {
		always      bool
		want        queue.State
		least, most int
	}{"each": {true, queue.Quarantined, 3, 6}, "each once": {false, queue.Done, 5, 5}} {
		t.Run(name, func(t *testing.T) {
			e := embedded(t, quick)
			died, once := 0, map[string]bool{}
			work(t, e, queue.Worker{}, deadly(e, 5, func(_, task string) bool {
				if !strings.HasPrefix(task, "part") || once[task] && !c.always {
					return false
				}
				once[task] = true
				died++
				return true
			}))
			for round := range 2 { // retried, it may cost as many again
				submit(t, e, queue.Job{ID: "a", Retries: 99}, true)
				s := awaitEnd(t, e, "a")
				if s.State != c.want || died < c.least || died > c.most {
					t.Errorf("%d died, %+v", died, s)
				}
				if c.want == queue.Quarantined && !strings.Contains(s.Explain(), " processes died at it, at last: ") {
					t.Error(s.Explain())
				}
				if died = 0; c.want == queue.Done || round == 1 {
					break
				}
			}
		})
	}
}

// A machine on which every process dies takes no file with it: it rests, and others do them.
func TestBrokenMachine(t *testing.T) {
	for name, handlers := range map[string]func(broken, good queue.Handler) []queue.Handler{
		"alone":    func(broken, _ queue.Handler) []queue.Handler { return []queue.Handler{broken} },
		"of three": func(broken, good queue.Handler) []queue.Handler { return []queue.Handler{broken, good, good} },
	} {
		t.Run(name, func(t *testing.T) {
			s := served(t, ServeOptions{})
			e := s.Engine()
			var mu sync.Mutex
			died := map[string]int{}
			broken := deadly(e, 1, func(job, task string) bool {
				mu.Lock()
				defer mu.Unlock()
				died[job]++
				return true
			})
			good := deadly(e, 1, func(string, string) bool {
				time.Sleep(20 * time.Millisecond)
				return false
			})
			for i := range 6 {
				submit(t, e, queue.Job{ID: fmt.Sprint("a", i), Retries: 3}, false)
			}
			all := handlers(broken, good)
			for i, h := range all {
				work(t, e, queue.Worker{Name: fmt.Sprintf("host%d/1", i)}, h)
			}
			for i := range 6 {
				st := awaitEnd(t, e, fmt.Sprint("a", i))
				switch {
				case len(all) > 1 && st.State != queue.Done:
					t.Errorf("%+v", st)
				case len(all) == 1 && (st.State != queue.Failed || st.Failure.Code != queue.CodeMachine || !strings.Contains(st.Explain(), "the machine may be at fault")):
					t.Errorf("%+v", st)
				}
			}
			if len(died) == 0 {
				t.Error("the broken machine did nothing")
			}
		})
	}
}

// A file that kills its processes on any machine is quarantined, with one machine or several.
func TestPoison(t *testing.T) {
	for name, workers := range map[string]int{"one machine, which does others well": 1, "three machines": 3} {
		t.Run(name, func(t *testing.T) {
			e := served(t, ServeOptions{}).Engine()
			var mu sync.Mutex
			died := 0
			for i := range workers {
				work(t, e, queue.Worker{Name: fmt.Sprintf("host%d/1", i)}, deadly(e, 2, func(job, _ string) bool {
					mu.Lock()
					defer mu.Unlock()
					if job == "bad" {
						died++
					}
					return job == "bad"
				}))
			}
			for i := range 6 {
				submit(t, e, queue.Job{ID: fmt.Sprint("a", i)}, false)
				if i == 2 {
					submit(t, e, queue.Job{ID: "bad", Retries: 99}, false)
				}
			}
			if s := awaitEnd(t, e, "bad"); s.State != queue.Quarantined || died < 3 || died > 6 {
				t.Errorf("%d died, %+v", died, s)
			}
			for i := range 6 {
				awaitDone(t, e, fmt.Sprint("a", i))
			}
		})
	}
}

// A machine that fails three tasks in a row rests and reports it. Errors count like deaths.
func TestMachineRests(t *testing.T) {
	e := served(t, ServeOptions{}).Engine()
	release := make(chan bool)
	work(t, e, queue.Worker{Name: "good/1"}, parts(e, 1, func(context.Context, queue.Task) error {
		<-release
		return nil
	}))
	submit(t, e, queue.Job{ID: "b"}, false)
	await(t, e, "b", "taken", func(s queue.Status) bool { return s.State == queue.Running })
	var mu sync.Mutex
	var failed []time.Time
	work(t, e, queue.Worker{Name: "broken/1"}, func(context.Context, queue.Job, queue.Task, func(queue.Progress)) (queue.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		failed = append(failed, time.Now())
		return queue.Outcome{}, errBusy
	})
	for i := range 9 {
		submit(t, e, queue.Job{ID: fmt.Sprint("a", i), Retries: 1}, false)
	}
	e2e.Until(t, "it says so", func() bool {
		all, err := e.Workers(t.Context())
		return err == nil && slices.ContainsFunc(all, func(w queue.WorkerStatus) bool {
			return strings.HasPrefix(w.Held, "rests: ") && strings.HasSuffix(w.Held, "the last: the device is busy")
		})
	})
	close(release)
	for i := range 9 {
		awaitDone(t, e, fmt.Sprint("a", i))
	}
	mu.Lock()
	defer mu.Unlock()
	if pause := failed[min(3, len(failed)-1)].Sub(failed[2]); len(failed) > 3 && pause < quick.delay(3) {
		t.Errorf("it rested for %v", pause)
	}
}

// Tasks that die for lack of memory while others run beside are not to blame: fewer run at a time.
func TestStarved(t *testing.T) {
	e := embedded(t, quick)
	var mu sync.Mutex
	running, starved := 0, 0
	work(t, e, queue.Worker{Slots: 3}, func(context.Context, queue.Job, queue.Task, func(queue.Progress)) (queue.Outcome, error) {
		mu.Lock()
		running++
		mu.Unlock()
		time.Sleep(30 * time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		defer func() { running-- }()
		if running > 1 {
			starved++
			return queue.Outcome{}, queue.Starved(errBusy)
		}
		return queue.Outcome{End: true}, nil
	})
	for i := range 6 {
		submit(t, e, queue.Job{ID: fmt.Sprint("a", i), Deaths: 1}, false)
	}
	for i := range 6 {
		if s := awaitEnd(t, e, fmt.Sprint("a", i)); s.State != queue.Done || s.Retried != 0 {
			t.Errorf("%+v", s)
		}
	}
	if starved == 0 {
		t.Error("none starved")
	}
}
