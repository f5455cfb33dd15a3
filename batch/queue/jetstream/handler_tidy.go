package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/wake"
)

// orphansEvery is how often pieces of files that nobody completes are looked for.
const orphansEvery = 10 * time.Minute

// tidy ends what clients have left, until ctx ends.
func (h *requestHandler) tidy(ctx context.Context) {
	orphans := time.Now()
	for range wake.Every(ctx, min(h.e.o.AckWait, 5*time.Second)) {
		try, cancel := context.WithTimeout(ctx, time.Minute)
		if i, err := h.e.js.AccountInfo(try); err == nil {
			h.full.Store(i.Limits.MaxStore > 0 && int64(i.Store) > i.Limits.MaxStore/100*99)
			h.e.tight.Store(i.Limits.MaxStore > 0 && int64(i.Store) > i.Limits.MaxStore/100*90)
		}
		h.consumers.close(try, h.needed(), h.e.o.AckWait)
		h.turns.forget(func(site string) bool { return len(h.cache.usersAt(site, h.isForAll(site))) > 0 })
		err := h.expire(try)
		if time.Since(orphans) > orphansEvery {
			orphans = time.Now()
			err = errors.Join(err, h.e.dropOrphans(try, idleUpload))
		}
		cancel()
		if err != nil && ctx.Err() == nil && h.e.nc.IsConnected() {
			h.e.o.Log.Warn(err.Error())
		}
	}
}

// needed returns the tokens of the sites of jobs that have not ended.
func (h *requestHandler) needed() map[string]bool {
	all := map[string]bool{}
	for user, sites := range h.cache.sites() {
		for _, s := range slices.Concat(sites, h.o.Sites, []string{""}) {
			all[h.token(user, s)] = true
		}
	}
	return all
}

// expire cancels jobs that nobody goes on with, and removes those that ended long ago.
func (h *requestHandler) expire(ctx context.Context) error {
	if h.o.Keep <= 0 {
		return nil
	}
	before := time.Now().Add(-h.o.Keep)
	if err := h.requests.expire(before, fmt.Sprintf("no agent has run it for %v", h.o.Keep)); err != nil {
		return err
	}
	idle, ended := h.cache.older(before)
	for _, id := range ended {
		if err := h.drop(ctx, id, fmt.Sprintf("it ended more than %v ago", h.o.Keep)); err != nil {
			return err
		}
	}
	if len(idle) == 0 {
		return nil
	}
	workers, err := h.e.Workers(ctx)
	if err != nil {
		return err
	}
	for _, p := range idle {
		if slices.ContainsFunc(workers, func(w queue.WorkerStatus) bool { return slices.Contains(w.Sites, p.site) }) {
			continue
		}
		why := fmt.Sprintf("nobody has gone on with it for %v", h.o.Keep)
		r, _, err := h.e.get(ctx, p.Key)
		if errors.Is(err, queue.ErrNoJob) {
			continue
		}
		if err := errors.Join(err, h.e.Cancel(ctx, p.Key, why), h.removeAll(ctx, p.Key)); err != nil {
			return err
		}
		h.log.note(caller{name: "serve"}, "cancelled", r.Job, Note{Why: why})
	}
	return nil
}
