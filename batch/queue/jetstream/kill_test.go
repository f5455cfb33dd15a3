package jetstream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

const child = "QUEUE_TEST_CHILD"

// The test binary also acts as the processes that are killed.
func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(child) {
	case "":
		os.Exit(m.Run())
	case "embed":
		err = embedChild(os.Args[1], os.Args[2])
	case "serve":
		err = serveChild(os.Args[1], os.Args[2])
	case "work":
		err = workChild(os.Args[1], os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func spawn(t *testing.T, mode string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), child+"="+mode)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	e2e.Must(t, err)
	e2e.Must(t, cmd.Start())
	t.Cleanup(func() { kill(cmd) })
	return cmd, bufio.NewScanner(out)
}

func kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// line waits for a line of a process with a given beginning.
func line(t *testing.T, lines *bufio.Scanner, begin string) string {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), begin) {
			return lines.Text()
		}
	}
	t.Fatalf("no line %q: %v", begin, lines.Err())
	return ""
}

const killedJobs, killedParts = 12, 6

// embedChild submits the same jobs each time and ends when all are done. It notes each attempt
// under a unique name.
func embedChild(dir, notes string) error {
	o := quick
	o.Log = logTo(os.Stderr)
	e, err := Embedded(dir, o)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(notes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for i := range killedJobs {
		j := queue.Job{ID: fmt.Sprint("job-", i), Site: "here", First: queue.Task{Name: "plan", Site: "here"}}
		if err := e.Submit(ctx, j, false); err != nil {
			return err
		}
	}
	done := map[string]bool{}
	go func() {
		_ = e.Watch(ctx, func(s queue.Status) {
			if done[s.Job.ID] = s.State == queue.Done; s.State == queue.Failed {
				fmt.Fprintln(os.Stderr, s.Job.ID, s.Reason)
				os.Exit(1)
			}
			for i := range killedJobs {
				if !done[fmt.Sprint("job-", i)] {
					return
				}
			}
			cancel()
		}, func() {})
	}()
	plain := parts(e, killedParts, func(context.Context, queue.Task) error {
		time.Sleep(rand.N(60 * time.Millisecond))
		return nil
	})
	err = e.Work(ctx, queue.Worker{Name: "child", Slots: 3, Any: true, Sites: []string{"here"}},
		func(ctx context.Context, job queue.Job, task queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
			o, err := plain(ctx, job, task, report)
			if task.Name == "join" {
				results, err := e.Results(ctx, job.ID)
				if err != nil {
					return o, err
				}
				o.Result, err = json.Marshal(results)
				return o, err
			}
			name := newID()
			o.Result, _ = json.Marshal(name)
			fmt.Fprintln(f, job.ID, task.Name, name)
			return o, err
		})
	return errors.Join(err, e.Close())
}

// A queue that is killed repeatedly loses no job, and keeps exactly one result of each task.
func TestKillEmbedded(t *testing.T) {
	const kills = 25
	dir, notes := filepath.Join(t.TempDir(), "queue"), filepath.Join(t.TempDir(), "notes")
	finished, killed := false, 0
	for i := 0; i < kills && !finished; i++ {
		cmd, _ := spawn(t, "embed", dir, notes)
		time.Sleep(rand.N(150*time.Millisecond) + 20*time.Millisecond)
		_ = cmd.Process.Kill()
		if finished = cmd.Wait() == nil; !finished {
			killed++
		}
	}
	cmd, _ := spawn(t, "embed", dir, notes)
	e2e.Must(t, cmd.Wait())
	noted, err := os.ReadFile(notes)
	e2e.Must(t, err)
	t.Logf("killed %d times, %d attempts that ended at %d tasks", killed, strings.Count(string(noted), "\n"), killedJobs*(killedParts+1))
	e, err := Embedded(dir, quick)
	e2e.Must(t, err)
	defer e.Close()
	for i := range killedJobs {
		id := fmt.Sprint("job-", i)
		s := awaitEnd(t, e, id)
		results, err := e.Results(t.Context(), id)
		if err != nil || s.State != queue.Done || s.Finished != killedParts+2 || s.Tasks != killedParts+2 || len(results) != killedParts+2 {
			t.Fatalf("%+v, %d results, %v", s, len(results), err)
		}
		var joined map[string]json.RawMessage
		if err := json.Unmarshal(s.Result, &joined); err != nil || len(joined) != killedParts+1 {
			t.Fatalf("%s, %v", s.Result, err)
		}
		for task, r := range joined {
			if string(results[task]) != string(r) || !strings.Contains(string(noted), id+" "+task+" "+strings.Trim(string(r), `"`)+"\n") {
				t.Errorf("%s, task %s: %s, joined from %s", id, task, results[task], r)
			}
		}
	}
	if there, err := e.queued(t.Context()); err != nil || len(there) != 0 {
		t.Errorf("left in the queue: %v, %v", there, err)
	}
}

func serveChild(dir, addr string) error {
	o := quick
	o.AckWait = 10 * time.Second // longer than a restart takes, even on a busy machine
	o.Log = logTo(os.Stderr)
	s, err := Serve(ServeOptions{Dir: dir, Addr: addr, Options: o})
	if err != nil {
		return err
	}
	fmt.Println("serving", s.Addr())
	select {} // until killed
}

// The server is killed during tasks, and again when they end. The workers continue and deliver, and
// no task runs twice.
func TestKillServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := spawn(t, "serve", dir, "127.0.0.1:0")
	addr := strings.TrimPrefix(line(t, out, "serving"), "serving ")
	creds := filepath.Join(dir, "submitter.creds")
	e := connect(t, "tls://"+addr, creds)
	began, release, over := make(chan bool, 10), make(chan bool), make(chan bool, 10)
	var did log
	watched := make(chan queue.Status, 1)
	go func() {
		_ = e.Watch(t.Context(), func(s queue.Status) {
			if s.State.Ended() {
				watched <- s
			}
		}, func() {})
	}()
	var workers []*client
	for i := range 2 {
		w := connect(t, "tls://"+addr, creds)
		stop := work(t, w, queue.Worker{Name: fmt.Sprint(i), Slots: 2}, parts(w, 3, func(_ context.Context, task queue.Task) error {
			did.add(fmt.Sprint(task.Name, " ", task.Attempt))
			if strings.HasPrefix(task.Name, "part") {
				began <- true
				<-release
				over <- true
			}
			return nil
		}))
		defer stop() // while there is a server
		workers = append(workers, w)
	}
	submit(t, e, queue.Job{ID: "a"}, false)
	for range 3 {
		<-began
	}
	kill(cmd)
	cmd, out = spawn(t, "serve", dir, addr)
	line(t, out, "serving")
	e2e.Until(t, "the workers are back", func() bool { return workers[0].nc.IsConnected() && workers[1].nc.IsConnected() })
	kill(cmd)
	close(release)
	for range 3 { // they end while there is no server
		<-over
	}
	_, out = spawn(t, "serve", dir, addr)
	line(t, out, "serving")
	for _, s := range []queue.Status{awaitEnd(t, e, "a"), <-watched} {
		if s.State != queue.Done || string(s.Result) != "4" {
			t.Errorf("%+v", s)
		}
	}
	lines := did.all()
	slices.Sort(lines)
	if want := []string{"join 1", "part-0 1", "part-1 1", "part-2 1", "plan 1"}; !slices.Equal(lines, want) {
		t.Errorf("%q", lines)
	}
}

// workChild does tasks slowly, and reports how they went.
func workChild(url, creds string) error {
	o := quick
	o.AckWait = 0 // the server's
	o.Log = logTo(os.Stdout)
	e, err := Connect(url, creds, ConnectOptions{Options: o})
	if err != nil {
		return err
	}
	return e.Work(context.Background(), queue.Worker{Name: "child", Slots: 1, Any: true},
		func(ctx context.Context, job queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
			fmt.Println("began", task.Attempt)
			<-ctx.Done()
			fmt.Println("ended", context.Cause(ctx))
			return queue.Outcome{End: true, Result: json.RawMessage(`"child"`)}, nil
		})
}

// A worker that begins while the server is frozen waits for it.
func TestServerFrozen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := spawn(t, "serve", dir, "127.0.0.1:0")
	e := connect(t, "tls://"+strings.TrimPrefix(line(t, out, "serving"), "serving "), filepath.Join(dir, "submitter.creds"))
	submit(t, e, queue.Job{ID: "a"}, false)
	e2e.Must(t, cmd.Process.Signal(syscall.SIGSTOP))
	work(t, e, queue.Worker{}, parts(e, 1, func(context.Context, queue.Task) error { return nil }))
	time.Sleep(askWithin + time.Second)
	e2e.Must(t, cmd.Process.Signal(syscall.SIGCONT))
	awaitDone(t, e, "a")
}

// leaving is a task source whose worker is stopped while it opens.
type leaving struct {
	taskSource
	stop func()
}

func (l leaving) open(ctx context.Context, _ queue.Worker) (time.Duration, error) {
	l.stop()
	return 0, ctx.Err()
}

// A worker that is stopped while it begins has not failed.
func TestStoppedAtOnce(t *testing.T) {
	e := embedded(t, quick)
	ctx, stop := context.WithCancel(t.Context())
	p := e.newPool(queue.Worker{Name: "w", Slots: 1, Any: true, Home: []string{"here"}}, nil)
	p.home = leaving{stop: stop}
	e2e.Must(t, p.work(ctx))
}

// A frozen worker loses its task. When it continues, its context ends and its result is refused.
func TestFrozenProcess(t *testing.T) {
	s := served(t, ServeOptions{})
	e := s.Engine()
	cmd, out := spawn(t, "work", s.url(), s.Creds(pki.Submitter))
	submit(t, e, queue.Job{ID: "a"}, false)
	line(t, out, "began 1")
	e2e.Must(t, cmd.Process.Signal(syscall.SIGSTOP))
	work(t, e, queue.Worker{}, func(_ context.Context, _ queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if task.Attempt != 2 {
			t.Errorf("attempt %d", task.Attempt)
		}
		return queue.Outcome{End: true, Result: json.RawMessage(`"other"`)}, nil
	})
	st := awaitEnd(t, e, "a")
	if st.State != queue.Done || string(st.Result) != `"other"` || st.Retried != 1 {
		t.Errorf("%+v", st)
	}
	e2e.Must(t, cmd.Process.Signal(syscall.SIGCONT))
	if l := line(t, out, "ended"); l != "ended "+queue.ErrOvertaken.Error() {
		t.Error(l)
	}
	e2e.Contains(t, line(t, out, "time="), "is dropped")
	if results, err := e.Results(t.Context(), "a"); err != nil || string(results["plan"]) != `"other"` {
		t.Errorf("%s, %v", results, err)
	}
	r, _, err := e.get(t.Context(), "a")
	e2e.Must(t, err)
	if tries, _, err := e.tries(t.Context(), r.claim("plan")); err != nil || tries.Deaths != 1 {
		t.Errorf("%+v, %v", tries, err)
	}
}

// Workers that fall silent are not the task's fault, however few deaths it may cost: they may have
// been killed, or have no power. But it does not go on for ever.
func TestSilences(t *testing.T) {
	for name, c := range map[string]struct {
		most int
		want queue.State
	}{"few": {9, queue.Done}, "many": {4, queue.Quarantined}} {
		t.Run(name, func(t *testing.T) {
			o := quick
			o.AckWait, o.Silences = 150*time.Millisecond, c.most
			e := embedded(t, o)
			submit(t, e, queue.Job{ID: "a", Retries: 9, Deaths: 2}, false)
			release := make(chan bool)
			for range 4 { // each one falls silent once it has the task
				defer silent(t, e, release)()
			}
			defer close(release)
			died := 0
			work(t, e, queue.Worker{}, parts(e, 1, func(context.Context, queue.Task) error {
				if died++; died == 1 { // nor do they count beside a process that dies
					return queue.Died(errBusy)
				}
				return nil
			}))
			s := awaitEnd(t, e, "a")
			if s.State != c.want || c.want == queue.Quarantined && s.Explain() != "task plan: 4 workers fell silent at it" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// silent runs a worker that falls silent with the task of job a, and returns a stop function.
func silent(t *testing.T, e *Engine, release chan bool) func() {
	k := e.newPool(queue.Worker{Name: "w", Slots: 1, Any: true},
		func(context.Context, queue.Job, queue.Task, func(queue.Progress)) (queue.Outcome, error) {
			<-release
			return queue.Outcome{}, errBusy
		})
	k.frozen = func() bool { return true }
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- k.work(ctx) }()
	await(t, e, "a", "taken", func(s queue.Status) bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return len(k.running) == 1
	})
	return func() { cancel(); <-ended }
}

// A task whose processes die is quarantined before its retries are used up, and can be submitted
// again.
func TestDied(t *testing.T) {
	e := embedded(t, quick)
	tries := 0
	work(t, e, queue.Worker{}, func(_ context.Context, _ queue.Job, task queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
		if tries++; tries > 4 {
			return queue.Outcome{End: true}, nil
		} else if tries == 1 { // not a death
			return queue.Outcome{}, errBusy
		}
		return queue.Outcome{}, queue.Died(errBusy)
	})
	j := queue.Job{ID: "a", Retries: 99}
	submit(t, e, j, false)
	if s := awaitEnd(t, e, "a"); s.State != queue.Quarantined || tries != 4 || s.Explain() != "task plan: 3 processes died at it, at last: the device is busy" {
		t.Errorf("%d tries, %+v", tries, s)
	}
	submit(t, e, j, true)
	if s := await(t, e, "a", "done", func(s queue.Status) bool { return s.State == queue.Done }); tries != 5 {
		t.Errorf("%d tries, %+v", tries, s)
	}
}

// A job that is submitted again between the end of its record and the removal of its tasks finds
// them in place, and keeps them.
func TestAgainBeforeRemoval(t *testing.T) {
	e := embedded(t, quick)
	submit(t, e, queue.Job{ID: "a"}, false)
	ended, err := e.update(t.Context(), "a", func(r *record) error { r.end(queue.Failed, "x"); return nil })
	e2e.Must(t, err)
	submit(t, e, queue.Job{ID: "a"}, true)
	e2e.Must(t, e.ended(t.Context(), ended))
	if there, err := e.queued(t.Context()); err != nil || !there[ended.claim("plan")] {
		t.Errorf("%v, %v", there, err)
	}
}

// A job can be submitted again as soon as its record has ended, while its tasks are being removed.
func TestAgainAtOnce(t *testing.T) {
	e := embedded(t, quick)
	r := newRecord(queue.Job{ID: "a", First: queue.Task{Name: "plan"}})
	for range 300 {
		e2e.Must(t, e.put(t.Context(), r, r.Job.First))
		purged := make(chan error)
		go func() { purged <- e.purgeTasks(t.Context(), "a", r.Epoch) }()
		err := e.put(t.Context(), r, r.Job.First)
		e2e.Must(t, <-purged)
		if err != nil {
			t.Fatal(err)
		}
		e2e.Must(t, e.purgeTasks(t.Context(), "a", r.Epoch))
	}
}
