package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
)

// ForWorkers returns a job without the names and hashes of its files, which those who do its parts
// need not know.
func ForWorkers(j queue.Job) queue.Job { return without(j, func(*Spec) {}) }

// Public returns a job without its options, too.
func Public(j queue.Job) queue.Job {
	return without(j, func(s *Spec) { s.Item.Args, s.Item.Deciding, s.Record.Options = nil, nil, nil })
}

func without(j queue.Job, more func(*Spec)) queue.Job {
	j.Digest, j.First.Body = "", nil
	var s Spec
	if json.Unmarshal(j.Spec, &s) != nil {
		j.Spec = nil
		return j
	}
	s.Item.Store, s.Record.Store = "", ""
	s.Root, s.Shared, s.Item.Source, s.Record.Source, s.Record.Digest = "", "", "", "", ""
	s.Record.SourceFile = batch.Fingerprint{Size: s.Record.SourceFile.Size}
	s.Record.OutputFile, s.Record.Before = nil, nil
	more(&s)
	j.Spec, _ = json.Marshal(s)
	return j
}

// CheckResult returns what is wrong with a task's result, and the file in the store that holds it,
// if one does.
func CheckResult(t queue.Task, result []byte) (file string, err error) {
	if t.Kind != contract.TaskPart {
		return "", nil
	}
	var p PartResult
	if err = json.Unmarshal(result, &p); err == nil {
		err = p.check(t.Job)
	}
	own := t.Job + "/out/" + strings.TrimPrefix(t.Name, t.Kind+"-") + "."
	if err == nil && p.Blob != "" && !strings.HasPrefix(p.Blob, own) {
		err = errors.New("a part in the file of another")
	}
	if err != nil {
		return "", fmt.Errorf("result of %s: %w", t.Name, err)
	}
	return p.Blob, nil
}
