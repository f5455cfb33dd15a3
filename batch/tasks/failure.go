package tasks

import (
	"errors"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
)

// codes of failures for which a Session starts the job over.
var codes = map[string]error{
	"source_changed": batch.ErrSourceChanged,
	"part_gone":      ErrGone,
	codeNotInParts:   ErrParts,
	"unknown_task":   ErrUnknownTask, // submitted by another version
}

const codeNotInParts = "not_in_parts" // must be filtered whole

// withCode adds the code of an error, if it has one.
func withCode(err error) error {
	for code, of := range codes {
		if errors.Is(err, of) {
			return queue.Coded(code, err)
		}
	}
	return err
}

// mayRenew reports whether a failed job should be started over.
func mayRenew(f queue.Failure) bool {
	return codes[f.Code] != nil
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
