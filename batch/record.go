package batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/text"
)

// RecordState is how far an output has come.
type RecordState string

const (
	RecordRunning   RecordState = "running"
	RecordFinishing RecordState = "finishing" // whole, either as Temp or under its own name
	RecordDone      RecordState = "done"
	RecordFailed    RecordState = "failed"
	RecordCancelled RecordState = "cancelled"

	RecordQuarantined RecordState = "quarantined" // see queue.Quarantined
)

// Record is the record of an output, readable for people:
// ROOT/.vidfilter/jobs/OUTPUT.json.
type Record struct {
	Output string      `json:"output"` // below the root, with slashes
	State  RecordState `json:"state"`
	// of a failure or cancellation, or the faults of the output
	Reason string `json:"reason,omitempty"`
	contract.Outcome
	Source     string      `json:"source"`      // absolute
	SourceFile Fingerprint `json:"source_file"` // when the work began
	Options    []string    `json:"options"`     // that affect the result
	Version    string      `json:"version"`     // of the program
	Digest     string      `json:"digest"`
	Attempts   int         `json:"attempts"`
	Parts      int         `json:"parts,omitempty"` // 0 if not cut into parts
	Started    time.Time   `json:"started,omitzero"`
	Ended      time.Time   `json:"ended,omitzero"`
	// name of the finished file before it is renamed; below the root
	Temp       string       `json:"temp,omitempty"`
	OutputFile *Fingerprint `json:"output_file,omitempty"` // of the finished file
	Store      string       `json:"store,omitempty"`       // see Item
	// our earlier output, which this one replaces
	Before *Fingerprint `json:"before,omitempty"`
}

func jobsDir(root string) string { return filepath.Join(root, StateDir, "jobs") }

const recordEnding = ".json"

// RecordPath returns the path of an output's record.
func RecordPath(root, output string) string {
	return filepath.Join(root, filepath.FromSlash(recordOf(output)))
}

// recordOf returns the path of an output's record below the root, with slashes.
func recordOf(output string) string {
	dir, base := path.Split(output)
	if len(base)+len(recordEnding) > maxName {
		sum := sha256.Sum256([]byte(base))
		base = strings.ToValidUTF8(base[:200], "") + "-" + hex.EncodeToString(sum[:8])
	}
	return path.Join(StateDir, "jobs", dir, base+recordEnding)
}

// WriteRecord atomically replaces the record of an output.
func WriteRecord(root string, r Record) error { return Outputs{Root: root}.writeRecord(r) }

func (o Outputs) writeRecord(r Record) error {
	var b bytes.Buffer
	if err := text.JSON(&b, r); err != nil {
		return err
	}
	rel := recordOf(r.Output)
	err := o.make(rel)
	if err == nil {
		err = o.at(rel, func(name string) error { return durable.WriteFile(name, b.Bytes()) })
	}
	if err != nil {
		return fmt.Errorf("write the record of %q: %w", r.Output, err)
	}
	return nil
}

// ErrDamagedRecord is wrapped by the errors of records that make no sense. Such a record counts as
// missing.
var ErrDamagedRecord = errorf("replace the output with -y, or remove it and its record", "the record is damaged, and counts as none")

// ReadRecord returns the record of an output, or nil.
func ReadRecord(root, output string) (*Record, error) {
	r, err := readRecord(RecordPath(root, output))
	if err == nil && r != nil && r.Output != output {
		return nil, fmt.Errorf("%s: it is of %q: %w", RecordPath(root, output), r.Output, ErrDamagedRecord)
	}
	return r, err
}

func readRecord(name string) (*Record, error) {
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %v: %w", name, err, ErrDamagedRecord)
	}
	if !r.sound() {
		return nil, fmt.Errorf("%s: %w", name, ErrDamagedRecord)
	}
	return &r, nil
}

// sound reports whether a record has the fields that its state needs.
func (r *Record) sound() bool {
	temp := r.Temp == "" || filepath.IsLocal(filepath.FromSlash(r.Temp))
	local := r.Output != "" && filepath.IsLocal(filepath.FromSlash(r.Output))
	switch r.State {
	case RecordDone:
		return local && temp && r.OutputFile != nil && r.Digest != ""
	case RecordFinishing:
		return local && temp && r.OutputFile != nil && r.Digest != "" && r.Temp != ""
	case RecordRunning, RecordFailed, RecordCancelled, RecordQuarantined:
		return local && temp
	}
	return false
}

// Records calls f with every record below a root, in the order of names. Damaged records are
// passed as errors.
func Records(root string, f func(*Record, error)) error {
	return filepath.WalkDir(jobsDir(root), func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir() || !strings.HasSuffix(name, recordEnding):
			return nil
		}
		r, err := readRecord(name)
		if r != nil || err != nil {
			f(r, err)
		}
		return nil
	})
}

// Tidy removes unfinished records of killed runs. The caller must hold the lock.
func Tidy(root string) error {
	return filepath.WalkDir(jobsDir(root), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(d.Name(), durable.TempPrefix) && !strings.HasSuffix(name, recordEnding) {
			err = os.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// outputsOf returns the outputs of earlier runs, so that they are not taken for sources.
func outputsOf(root string) map[inode]bool {
	all := map[inode]bool{}
	_ = Records(root, func(r *Record, err error) { // Check reports unreadable records later
		if err != nil || r.OutputFile == nil && r.Before == nil {
			return
		}
		if i, err := os.Stat(filepath.Join(root, filepath.FromSlash(r.Output))); err == nil {
			all[inodeOf(i)] = true
		}
	})
	return all
}
