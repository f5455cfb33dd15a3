package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"vidfilter/batch/queue"
	"vidfilter/internal/site"
	"vidfilter/internal/text"
)

// verb changes a job.
type verb struct {
	name, done string
	only       string // the jobs to which it applies
	applies    func(queue.State) bool
	do         func(ctx context.Context, id string, o verbOptions) error // nil: the page lacks it
	change     string                                                    // of the request of a batch; may be ""
}

type verbOptions struct {
	batch bool // for all jobs of the batch
	value int
}

// everybody is the name of all workers; see Options.PauseWorkers.
const everybody = "all"

// verbs are the changes of jobs. The priority is ?value=N.
func (s *server) verbs() []verb {
	const open, ended = "a job that has not ended", "a job that failed or was cancelled"
	live := func(st queue.State) bool { return !st.Ended() }
	always := func(queue.State) bool { return true }
	return []verb{
		{"cancel", "cancelled", open, live, s.cancel, queue.CancelRequest},
		{"pause", "paused", open, live, s.pause(true), queue.PauseRequest},
		{"resume", "resumed", open, live, s.pause(false), queue.ResumeRequest},
		{"priority", "prioritized", open, live, s.prioritize(), ""},
		{"retry", "retried", ended, queue.State.Retryable, plain(s.o.Retry), queue.RetryRequest},
		{"remove", "removed", "", always, plain(s.o.Remove), queue.RemoveRequest},
	}
}

func plain(f func(ctx context.Context, id string) error) func(context.Context, string, verbOptions) error {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, id string, _ verbOptions) error { return f(ctx, id) }
}

func (s *server) prioritize() func(context.Context, string, verbOptions) error {
	if s.o.Prioritize == nil {
		return nil
	}
	return func(ctx context.Context, id string, o verbOptions) error { return s.o.Prioritize(ctx, id, o.value) }
}

func (s *server) cancel(ctx context.Context, id string, o verbOptions) error {
	reason := queue.ByHand
	if o.batch {
		reason = queue.WithBatch
	}
	return s.engine.Cancel(ctx, id, reason)
}

func (s *server) pause(on bool) func(context.Context, string, verbOptions) error {
	return func(ctx context.Context, id string, _ verbOptions) error { return s.engine.Pause(ctx, id, on) }
}

// can returns the names of the verbs that the page has, "workers" if it can pause them, and
// "submit" if it takes batches.
func (s *server) can() (names []string) {
	for _, v := range s.verbs() {
		if v.do != nil {
			names = append(names, v.name)
		}
	}
	if s.o.PauseWorkers != nil {
		names = append(names, "workers")
	}
	if s.o.Submit != nil {
		names = append(names, "submit")
	}
	return names
}

// verbOptions reads a request, or refuses it.
func (s *server) verbOptions(w http.ResponseWriter, r *http.Request, v verb) (o verbOptions, ok bool) {
	if v.do == nil {
		site.Refuse(w, http.StatusNotImplemented, "jobs cannot be "+v.done+" from here: vidfilter jobs, or the same batch again, may do it")
		return o, false
	}
	q := r.URL.Query()
	value, err := number(q.Get("value"), 0, 1<<20)
	if err != nil || q.Has("value") != (v.name == "priority") {
		site.Refuse(w, http.StatusBadRequest, fmt.Sprintf("give priority, and nothing else, a ?value= from 0 to %d", 1<<20))
		return o, false
	}
	return verbOptions{q.Has("batch"), value}, true
}

func (s *server) onJob(v verb) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		j, ok := s.find(w, r)
		if !ok {
			return
		}
		o, ok := s.verbOptions(w, r, v)
		switch {
		case !ok:
		case !v.applies(j.State):
			site.Refuse(w, http.StatusConflict, fmt.Sprintf("only %s can be %s: this one is %s", v.only, v.done, j.State))
		default:
			answerChange(w, s.changeJob(r.Context(), v, o, j.ID, j.Title))
		}
	}
}

func (s *server) changeJob(ctx context.Context, v verb, o verbOptions, id, title string) error {
	err := v.do(ctx, id, o)
	if err == nil && s.o.Acted != nil {
		s.o.Acted(v.done, id, title)
	}
	return err
}

// Limits of the changes of a batch.
const (
	changesAtOnce = 8
	changeTime    = 10 * time.Minute
)

// onBatch changes all jobs of a batch, also if the reader leaves meanwhile.
func (s *server) onBatch(v verb) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		o, ok := s.verbOptions(w, r, v)
		if !ok {
			return
		}
		o.batch = true
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(changeTime))
		ctx, cancel := context.WithTimeout(s.ctx, changeTime)
		defer cancel()
		err := s.changeBatch(ctx, v, o, r.PathValue("id"))
		switch {
		case errors.Is(err, queue.ErrNoRequest):
			site.Refuse(w, http.StatusNotFound, err.Error())
		case errors.Is(err, errNotNow):
			site.Refuse(w, http.StatusConflict, fmt.Sprintf("only %s can be %s, and the batch has none", v.only, v.done))
		default:
			answerChange(w, err)
		}
	}
}

// errNotNow is the error of a verb that applies to no job of a batch.
var errNotNow = errors.New("no job of the batch is in such a state")

// changeBatch changes the request of a batch, so that its agent adds no jobs meanwhile, and then
// the jobs.
func (s *server) changeBatch(ctx context.Context, v verb, o verbOptions, id string) error {
	known := slices.ContainsFunc(s.requests(), func(r queue.RequestStatus) bool { return r.ID == id })
	changed, err := s.changeRequest(ctx, v, id)
	if err != nil {
		return err
	}
	jobs, err := s.jobsOf(ctx, id)
	known = known || len(jobs) > 0
	jobs = slices.DeleteFunc(jobs, func(j queue.Status) bool { return !v.applies(j.State) })
	switch {
	case err != nil:
		return err
	case !known:
		return queue.ErrNoRequest
	case len(jobs) == 0 && !changed:
		return errNotNow
	}
	return s.changeAll(ctx, v, o, jobs)
}

// jobsOf returns the jobs of a batch. The page itself does not keep all that are done.
func (s *server) jobsOf(ctx context.Context, batch string) (jobs []queue.Status, err error) {
	err = queue.Each(ctx, s.engine, func(j queue.Status) {
		if queue.BatchOf(j.Job.ID) == batch {
			jobs = append(jobs, j)
		}
	})
	return jobs, err
}

func (s *server) changeAll(ctx context.Context, v verb, o verbOptions, jobs []queue.Status) error {
	var changing errgroup.Group
	changing.SetLimit(changesAtOnce)
	for _, j := range jobs {
		changing.Go(func() error { return s.changeJob(ctx, v, o, j.Job.ID, j.Job.Title) })
	}
	return changing.Wait()
}

func (s *server) paused() []string {
	if s.o.Paused == nil {
		return nil
	}
	return s.o.Paused()
}

// pauseWorkers pauses the workers of a credential that are there, or resumes those that were
// paused.
func (s *server) pauseWorkers(on bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, what := r.PathValue("name"), map[bool]string{true: "paused", false: "resumed"}[on]
		known := slices.Contains(s.paused(), name)
		if on {
			workers, _, _ := s.askWorkers()
			known = name == everybody || slices.ContainsFunc(workers, func(w Worker) bool { return w.Credential == name })
		}
		switch {
		case s.o.PauseWorkers == nil:
			site.Refuse(w, http.StatusNotImplemented, "only the workers of vidfilter serve are paused: pause the batch instead")
		case !known:
			site.Refuse(w, http.StatusNotFound, "there are no workers of this name to be "+what)
		default:
			err := s.o.PauseWorkers(r.Context(), name, on)
			if err == nil && s.o.Acted != nil {
				s.o.Acted(what, "worker:"+name, "")
			}
			answerChange(w, err)
		}
	}
}

func answerChange(w http.ResponseWriter, err error) {
	if err != nil {
		site.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

const submitPath = "/api/batches"

// submit checks a job file and, without ?check, submits it as a batch for the agents of the queue.
// ?name= is the name of the file.
func (s *server) submit(w http.ResponseWriter, r *http.Request) {
	if s.o.Submit == nil {
		site.Refuse(w, http.StatusNotImplemented, "this page takes no batches: submit them at the page of vidfilter serve")
		return
	}
	document, err := io.ReadAll(r.Body)
	if big := new(http.MaxBytesError); errors.As(err, &big) {
		site.Refuse(w, http.StatusRequestEntityTooLarge, "the job file is larger than "+text.Size(big.Limit)+": name folders or patterns in place of many files")
		return
	} else if err != nil {
		site.Refuse(w, http.StatusBadRequest, "the job file did not arrive whole: "+err.Error())
		return
	}
	said, err := s.o.Submit(r.Context(), r.URL.Query().Get("name"), document, r.URL.Query().Has("check"))
	switch {
	case errors.Is(err, queue.ErrHeld):
		site.Refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		site.Refuse(w, http.StatusUnprocessableEntity, err.Error())
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, said+"\n") // the reader may have gone
	}
}
