package tasks

import (
	"errors"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
)

// Codes of failures for which a Session starts the job over.
const (
	codeSourceChanged = "source_changed"
	codePartGone      = "part_gone"
	codeNotInParts    = "not_in_parts" // must be filtered whole
	codeUnknownTask   = "unknown_task" // submitted by another version
)

var codes = []struct {
	err  error
	code string
}{
	{batch.ErrSourceChanged, codeSourceChanged},
	{ErrGone, codePartGone},
	{ErrParts, codeNotInParts},
	{ErrUnknownTask, codeUnknownTask},
}

// withCode adds the code of an error, if it has one.
func withCode(err error) error {
	for _, c := range codes {
		if errors.Is(err, c.err) {
			return queue.Coded(c.code, err)
		}
	}
	return err
}

// mayRenew reports whether a failed job should be started over.
func mayRenew(f queue.Failure) bool {
	for _, c := range codes {
		if f.Code == c.code {
			return true
		}
	}
	return false
}

// ownReason returns the reason of a job's end without the parts that its row shows anyway: the
// number of attempts, and the task if it is the only one.
func ownReason(s queue.Status) string {
	if k := s.Failure.Kind; k == contract.TaskWhole || k == contract.TaskPlan {
		return s.Reason
	}
	s.Failure.Attempts = 0
	return s.Explain()
}
