package jetstream

import (
	"context"
	"time"

	"vidfilter/batch/queue"
)

// Limits returns what is nearest to its limit: of each kind, the credential that has most of what
// it may have.
func (s *Server) Limits() []queue.Limit { return s.head.limits() }

func (h *head) limits() (all []queue.Limit) {
	nearest := map[string]int{} // by What
	add := func(l queue.Limit) {
		i, there := nearest[l.What]
		if !there {
			nearest[l.What] = len(all)
			all = append(all, l)
		} else if l.Part() > all[i].Part() {
			all[i] = l
		}
	}
	for name, u := range h.board.all() {
		add(queue.Limit{What: "folders", Of: name, Used: int64(len(u.sites)), Most: mostSites})
		add(queue.Limit{What: "jobs", Of: name, Used: int64(u.live), Most: mostJobs})
		add(queue.Limit{What: "files", Of: name, Used: int64(u.files), Most: mostFiles})
		add(queue.Limit{What: "records", Of: name, Used: u.lively, Most: mostRecords})
	}
	for name, n := range h.requests.live() {
		add(queue.Limit{What: "batches", Of: name, Used: int64(n), Most: mostRequests})
	}
	for name, n := range h.lanes.waits() {
		add(queue.Limit{What: "requests", Of: name, Used: int64(n), Most: mostWaiting})
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if i, err := h.e.tasks.Info(ctx); err == nil {
		add(queue.Limit{What: "consumers", Used: int64(i.State.Consumers), Most: mostConsumers})
	}
	if i, err := h.e.js.AccountInfo(ctx); err == nil && i.Limits.MaxStore > 0 {
		add(queue.Limit{What: "bytes of store", Used: int64(i.Store), Most: i.Limits.MaxStore})
	}
	return all
}
