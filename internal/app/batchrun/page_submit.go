package batchrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"vidfilter/batch/queue"
	"vidfilter/internal/hint"
)

// pageOwner owns the batches that are submitted on the status page.
const pageOwner = "status-page"

// submitFile checks the text of a job file and, unless check is set, hands it to the agents of a
// queue. It returns the outcome in words; errors end in their hint.
func submitFile(requests queue.Requests) func(ctx context.Context, name string, document []byte, check bool) (string, error) {
	return func(ctx context.Context, name string, document []byte, check bool) (string, error) {
		name = cmp.Or(name, "jobs.yaml")
		r, err := requestOfFile(name, document, pageOwner)
		if err == nil && check {
			return fmt.Sprintf("%s has no errors; the outputs go to %s", name, r.Root), nil
		}
		var s queue.RequestStatus
		if err == nil {
			s, err = requests.AddRequest(ctx, r, pageOwner, "")
		}
		switch {
		case errors.Is(err, queue.ErrQuota):
			err = hint.Wrap(err, "name a folder, or a pattern, in place of many files")
		case err == nil && s.Waits != "":
			return fmt.Sprintf("batch %s was submitted, and waits: %s", r.ID, s.Waits), nil
		}
		if advice := hint.Of(err); advice != "" {
			err = fmt.Errorf("%w\nhint: %s", err, advice)
		}
		return fmt.Sprintf("batch %s was submitted", r.ID), err
	}
}
