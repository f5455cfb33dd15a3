package status

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"vidfilter/batch/tally"
)

// metrics writes Prometheus's text format. No label takes a value from jobs or workers, since their
// number is unbounded. An operator issues the names of credentials.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) {
	all := s.whole(viewer)
	s.mu.Lock()
	counters := s.t.Counters()
	live, _ := s.up()
	s.mu.Unlock()
	var e exposition
	e.metric("vidfilter_build_info", gauge, "The program; always 1.",
		sample{labels("version", s.o.Version, "goversion", runtime.Version()), 1})
	e.metric("go_goroutines", gauge, "Goroutines of the program.", sample{"", float64(runtime.NumGoroutine())})
	e.metric("vidfilter_queue_up", gauge, "Whether the queue answers.", sample{"", truth(live)})
	e.jobs(all.Totals)
	e.counters(counters)
	e.work(all, live)
	if s.o.FreeDisk != nil {
		if n, err := s.o.FreeDisk(); err == nil {
			e.metric("vidfilter_disk_free_bytes", gauge, "Bytes free where outputs are written.", sample{"", float64(n)})
		}
	}
	if s.o.Store != nil {
		if used, quota, err := s.o.Store(); err == nil {
			e.metric("vidfilter_store_bytes", gauge, "Bytes that the queue has stored.", sample{"", float64(used)})
			e.metric("vidfilter_store_limit_bytes", gauge, "Bytes that the queue may store.", sample{"", float64(quota)})
		}
	}
	if s.o.Limits != nil {
		var all []sample
		for _, l := range s.o.Limits() {
			all = append(all, sample{labels("of", l.What), l.Part()})
		}
		e.metric("vidfilter_limit_ratio", gauge, "How much is used of what a credential, or the queue, may have: that of the credential with most, 0 to 1.", all...)
	}
	if s.o.BadResults != nil {
		e.badResults(s.o.BadResults())
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	w.Write(e.b.Bytes())
}

func (e *exposition) badResults(n map[string]int) {
	var all []sample
	for _, name := range slices.Sorted(maps.Keys(n)) {
		all = append(all, sample{labels("worker", name), float64(n[name])})
	}
	e.metric("vidfilter_bad_results_total", counter, "Refused results since the program began, by the worker's credential.", all...)
}

func (e *exposition) jobs(t tally.Totals) {
	e.metric("vidfilter_jobs", gauge, "Jobs by state.",
		sample{labels("state", "queued"), float64(t.Queued)}, sample{labels("state", "running"), float64(t.Running)},
		sample{labels("state", "done"), float64(t.Done)}, sample{labels("state", "failed"), float64(t.Failed - t.Quarantined)},
		sample{labels("state", "quarantined"), float64(t.Quarantined)},
		sample{labels("state", "cancelled"), float64(t.Cancelled)})
	e.metric("vidfilter_tasks", gauge, "Steps of jobs that are known so far: those at work, finished, and the others.",
		sample{labels("state", "active"), float64(t.Active)}, sample{labels("state", "finished"), float64(t.Finished)},
		sample{labels("state", "waiting"), float64(max(0, t.Tasks-t.Finished-t.Active))})
	e.metric("vidfilter_frames_per_second", gauge, "Frames filtered in a second, of the last seconds.", sample{"", t.FPS})
	if t.Part != nil {
		e.metric("vidfilter_done_ratio", gauge, "How much of the whole is done, 0 to 1.", sample{"", *t.Part})
	}
	if t.Left != nil {
		e.metric("vidfilter_left_seconds", gauge, "Time left for the whole; absent as long as it is not known.", sample{"", *t.Left})
	}
}

func (e *exposition) counters(c tally.Counters) {
	e.metric("vidfilter_frames_total", counter, "Frames filtered since the program began.", sample{"", float64(c.Frames)})
	e.metric("vidfilter_written_bytes_total", counter, "Bytes written by tasks since the program began.", sample{"", float64(c.Bytes)})
	e.metric("vidfilter_retries_total", counter, "Tasks tried again since the program began.", sample{"", float64(c.Retries)})
}

func (e *exposition) work(all whole, live bool) {
	slots, busy, gpus, held := 0, 0, 0, 0
	for _, w := range all.Workers {
		slots, busy, gpus = slots+w.Slots, busy+w.Busy, gpus+len(w.GPUs)
		if w.Held != "" {
			held++
		}
	}
	e.metric("vidfilter_workers", gauge, "Workers that are alive.", sample{"", float64(len(all.Workers))})
	e.metric("vidfilter_worker_slots", gauge, "Tasks that they can do at once.", sample{"", float64(slots)})
	e.metric("vidfilter_worker_slots_busy", gauge, "Tasks that they do.", sample{"", float64(busy)})
	e.metric("vidfilter_worker_gpus", gauge, "GPUs that they have.", sample{"", float64(gpus)})
	e.metric("vidfilter_workers_held", gauge, "Workers that take no tasks: their disk is full, they rest after failures, are paused, or wait for their hours.", sample{"", float64(held)})
	e.metric("vidfilter_held", gauge, "Whether something holds work up, such as a disk that is full, here or at a worker.",
		sample{"", truth(all.Note != "" || !live || held > 0)})
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// exposition is a text in Prometheus's format, version 0.0.4.
type exposition struct{ b bytes.Buffer }

type metricType string

const (
	gauge   metricType = "gauge"
	counter metricType = "counter"
)

type sample struct {
	labels string // from labels
	value  float64
}

func (e *exposition) metric(name string, k metricType, help string, samples ...sample) {
	fmt.Fprintf(&e.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, k)
	for _, s := range samples {
		fmt.Fprintf(&e.b, "%s%s %s\n", name, s.labels, strconv.FormatFloat(s.value, 'g', -1, 64))
	}
}

// labels turns alternating names and values into {name="value",...}.
func labels(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		value := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(pairs[i+1], "?"))
		fmt.Fprintf(&b, `,%s="%s"`, pairs[i], value)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}
