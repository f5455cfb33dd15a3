package batch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"vidfilter/internal/durable"
)

// Begin returns the record, in state running, of an item whose work begins now. It keeps an
// earlier record's knowledge of the existing output, and continues to count attempts. The caller
// writes the record.
func Begin(item Item, f Finding, version string, now time.Time) Record {
	r := Record{
		Output: item.Output, State: RecordRunning, Source: item.Source, SourceFile: f.Source,
		Options: append([]string{}, item.Deciding...), Version: version, Digest: f.Digest, Started: now.UTC(), Before: f.ours,
	}
	if f.Record != nil && f.Record.Digest == f.Digest && f.Record.State == RecordRunning {
		r.Attempts, r.Started = f.Record.Attempts, f.Record.Started
	}
	r.Attempts++
	return r
}

// ErrSourceChanged is wrapped by the error of Finish if the source has changed since the work
// began.
var ErrSourceChanged = errorf("it is filtered again once it stops changing", "the source changed meanwhile")

// ErrTaken is wrapped by the errors of Finish and Resume if the output's name belongs to a file
// that is not ours.
var ErrTaken = errorf("move it away, or replace it with -y", "a file that is not ours has this name")

// Steps of Finish after which a test can stop it.
const (
	afterFinishing = "record: finishing"
	afterRename    = "rename"
	afterDone      = "record: done"
)

// finisher does the last steps. For tests, an error of stop ends the work there, as a kill would.
type finisher struct {
	root      string
	overwrite bool
	stop      func(step string) error
}

// Finish renames the finished file temp, which lies below root on the same file system, and
// writes the record. If it is killed, either nothing has happened, or Check finds Interrupted or
// Done. A file that is not ours is replaced only if overwrite is set. After an error temp is
// where it was, unless only the last write of the record failed.
func Finish(root string, r Record, temp string, overwrite bool) (Record, error) {
	return newFinisher(root, overwrite).finish(r, temp)
}

// Resume completes an item that Check found Interrupted.
func Resume(root string, r Record, overwrite bool) (Record, error) {
	return newFinisher(root, overwrite).complete(r)
}

func newFinisher(root string, overwrite bool) finisher {
	return finisher{root, overwrite, func(string) error { return nil }}
}

func (f finisher) finish(r Record, temp string) (Record, error) {
	rel, err := filepath.Rel(f.root, temp)
	if err != nil || !filepath.IsLocal(rel) {
		return r, fmt.Errorf("batch: %q is not below %q", temp, f.root)
	}
	source, err := FingerprintOf(r.Source)
	if err != nil {
		return r, err
	}
	if !source.Equal(r.SourceFile) {
		return r, fmt.Errorf("%q: %w", r.Source, ErrSourceChanged)
	}
	output, err := settled(temp)
	if err != nil {
		return r, err
	}
	r.State, r.Temp, r.OutputFile, r.Ended = RecordFinishing, filepath.ToSlash(rel), &output, time.Now().UTC()
	if err := f.mayReplace(r); err != nil {
		return r, err
	}
	if err := WriteRecord(f.root, r); err != nil {
		return r, err
	}
	if err := f.stop(afterFinishing); err != nil {
		return r, err
	}
	return f.complete(r)
}

// settled makes a file durable and returns its fingerprint.
func settled(name string) (Fingerprint, error) {
	file, err := os.Open(name)
	if err != nil {
		return Fingerprint{}, err
	}
	defer file.Close()
	if err := durable.SyncFile(file); err != nil {
		return Fingerprint{}, err
	}
	return FingerprintOf(name)
}

func (f finisher) complete(r Record) (Record, error) {
	name := filepath.Join(f.root, filepath.FromSlash(r.Output))
	there, err := fingerprintIf(name)
	if err != nil {
		return r, err
	}
	temp := filepath.Join(f.root, filepath.FromSlash(r.Temp))
	if there == nil || !r.OutputFile.Same(*there) {
		err = f.rename(r, temp, name)
	} else if err = os.Remove(temp); errors.Is(err, fs.ErrNotExist) { // a link by RenameNew
		err = nil
	}
	if err != nil {
		return r, err
	}
	if err := durable.SyncDir(filepath.Dir(name)); err != nil {
		return r, err
	}
	if err := f.stop(afterRename); err != nil {
		return r, err
	}
	r.State, r.Temp, r.Before = RecordDone, "", nil
	if err := WriteRecord(f.root, r); err != nil {
		return r, err
	}
	return r, f.stop(afterDone)
}

func (f finisher) rename(r Record, temp, name string) error {
	if err := durable.MkdirAll(filepath.Dir(name)); err != nil {
		return fmt.Errorf("finish %q: %w", r.Output, err)
	}
	err := durable.RenameNew(temp, name)
	if errors.Is(err, fs.ErrExist) {
		if err := f.mayReplace(r); err != nil {
			return err
		}
		err = os.Rename(temp, name)
	}
	if err != nil {
		return fmt.Errorf("finish %q: %w", r.Output, bare(err))
	}
	return nil
}

// mayReplace returns nil if the output's name is free or belongs to a file of ours.
func (f finisher) mayReplace(r Record) error {
	name := filepath.Join(f.root, filepath.FromSlash(r.Output))
	there, err := fingerprintIf(name)
	if err != nil || there == nil || f.overwrite || r.isOurs(*there) {
		return err
	}
	return fmt.Errorf("%q: %w", name, ErrTaken)
}
