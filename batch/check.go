package batch

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// Verdict is the action for an item.
type Verdict string

const (
	New  Verdict = "new"  // there is no output, or unfinished work goes on
	Done Verdict = "done" // the output is there and up to date
	// the output is ours, but the source, the options or the version differ
	Changed     Verdict = "changed"
	Edited      Verdict = "edited"      // somebody has changed our output: only -y replaces it
	Foreign     Verdict = "foreign"     // no record explains the output: only -y replaces it
	Interrupted Verdict = "interrupted" // all is done but the last steps: see Resume
	Failed      Verdict = "failed"      // the same was tried before, and failed
)

// Program is the program that Check speaks for.
type Program struct {
	Version     string
	RemakeOlder bool // outputs of another version do not count as done
}

// Finding is the result of Check.
type Finding struct {
	Verdict Verdict
	Reason  string      // for people
	Record  *Record     // nil if it is missing or damaged
	Warning error       // a damaged record
	Source  Fingerprint // of the item's source, now
	Digest  string      // of the work to do
	ours    *Fingerprint
}

// Check compares an item with the record of its output and with the output itself. It returns an
// error if a file cannot be read, for example while a mount is away. An output that another version
// made from the same source with the same options is done, too.
func Check(root string, item Item, by Program) (Finding, error) {
	source, err := FingerprintOf(item.Address())
	if err != nil {
		return Finding{}, err
	}
	f := Finding{Source: source, Digest: Digest(item, source, by.Version)}
	f.Record, err = ReadRecord(root, item.Output)
	if errors.Is(err, ErrDamagedRecord) {
		f.Warning, err = err, nil
	}
	if err != nil {
		return f, err
	}
	there, err := fingerprintIf(item.OutputPath(root))
	if err != nil {
		return f, err
	}
	f.judge(root, there)
	if f.Record != nil && f.Record.Version != by.Version && !by.RemakeOlder {
		f.keep(root, there, Digest(item, source, f.Record.Version))
	}
	if f.Verdict == Changed {
		f.Reason = difference(f.Record, item, source, by.Version)
	}
	return f, nil
}

// keep judges by the digest of the version in the record, and takes that if the output is whole.
func (f *Finding) keep(root string, there *Fingerprint, digest string) {
	older := *f
	older.Digest = digest
	if older.judge(root, there); older.Verdict == Done || older.Verdict == Interrupted {
		*f = older
	}
}

// fingerprintIf returns nil if there is no file.
func fingerprintIf(name string) (*Fingerprint, error) {
	f, err := FingerprintOf(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &f, nil
}

func (f *Finding) judge(root string, there *Fingerprint) {
	r := f.Record
	set := func(v Verdict, reason string) { f.Verdict, f.Reason = v, reason }
	if r == nil {
		set(New, "")
		if there != nil {
			set(Foreign, "a file of this name exists that no batch has made")
		}
		return
	}
	if there != nil && r.isOurs(*there) {
		f.ours = there
	}
	same := r.Digest == f.Digest
	switch {
	case same && r.State == RecordFinishing && r.waiting(root, there):
		set(Interrupted, "only the last steps are left")
	case there != nil && f.ours == nil && r.OutputFile == nil && r.Before == nil:
		set(Foreign, "a file of this name exists that no batch has made")
	case there != nil && f.ours == nil:
		set(Edited, "the output has been changed since it was made")
	case same && r.State == RecordDone && there != nil && r.OutputFile.Same(*there):
		set(Done, "")
	case same && (r.State == RecordFailed || r.State == RecordQuarantined):
		set(Failed, r.Reason)
	case there != nil && !same:
		set(Changed, "")
	case same && r.State == RecordDone:
		set(New, "the output is gone")
	case same && r.State == RecordRunning:
		set(New, "it was begun")
	case same:
		set(New, "it was "+string(r.State))
	default:
		set(New, "")
	}
}

// isOurs reports whether we made an output.
func (r *Record) isOurs(there Fingerprint) bool {
	return r.OutputFile != nil && r.OutputFile.Same(there) || r.Before != nil && r.Before.Same(there)
}

// waiting reports whether a record in state finishing can be completed: the file is there, under
// one name or the other.
func (r *Record) waiting(root string, there *Fingerprint) bool {
	if there != nil && r.OutputFile.Same(*there) {
		return true
	}
	temp, err := FingerprintOf(filepath.Join(root, filepath.FromSlash(r.Temp)))
	return err == nil && r.OutputFile.Same(temp)
}

// difference describes how a recorded output differs from the item's.
func difference(r *Record, item Item, source Fingerprint, version string) string {
	var what []string
	if !r.SourceFile.Equal(source) {
		what = append(what, "the source is another")
	}
	if !slices.Equal(r.Options, item.Deciding) {
		what = append(what, optionsDiffer(r.Options, item.Deciding))
	}
	if r.Version != version {
		what = append(what, fmt.Sprintf("made by version %s, this is %s", r.Version, version))
	}
	if what == nil {
		return "the record is from another version"
	}
	return strings.Join(what, "; ")
}

func optionsDiffer(old, now []string) string {
	less := func(a, b []string) string {
		rest := slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
		if len(rest) == 0 {
			return "none"
		}
		return strings.Join(rest, " ")
	}
	return fmt.Sprintf("other options: %s, was %s", less(now, old), less(old, now))
}
