package batch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"vidfilter/internal/durable"
	"vidfilter/internal/netfile"
)

// Begin returns the record, in state running, of an item whose work begins now. It keeps an
// earlier record's knowledge of the existing output, and continues to count attempts. The caller
// writes the record.
func Begin(item Item, f Finding, version string, now time.Time) Record {
	r := Record{
		Output: item.Output, Store: item.Store, State: RecordRunning, Source: item.Source, SourceFile: f.Source,
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
	Outputs
	overwrite bool
	stop      func(step string) error
}

// Finish renames the finished file temp, which lies below root on the same file system, and writes
// the record. If it is killed, either it had no effect, or Check finds Interrupted or Done. A file
// that is not ours is replaced only if overwrite is set. After an error temp is where it was,
// unless only the last write of the record failed.
func Finish(o Outputs, r Record, temp string, overwrite bool) (Record, error) {
	return newFinisher(o, overwrite).finish(r, temp)
}

// Resume completes an item that Check found Interrupted.
func Resume(o Outputs, r Record, overwrite bool) (Record, error) {
	return newFinisher(o, overwrite).complete(r)
}

func newFinisher(o Outputs, overwrite bool) finisher {
	return finisher{o, overwrite, func(string) error { return nil }}
}

func (f finisher) finish(r Record, temp string) (Record, error) {
	rel, err := filepath.Rel(f.Root, temp)
	if err != nil || !filepath.IsLocal(rel) {
		return r, fmt.Errorf("batch: %q is not below %q", temp, f.Root)
	}
	if err := r.sameSource(); err != nil {
		return r, err
	}
	var output Fingerprint
	err = f.at(filepath.ToSlash(rel), func(temp string) (err error) {
		output, err = settled(temp)
		return err
	})
	if err != nil {
		return r, err
	}
	r.State, r.Temp, r.OutputFile, r.Ended = RecordFinishing, filepath.ToSlash(rel), &output, time.Now().UTC()
	if err := f.mayReplace(r); err != nil {
		return r, err
	}
	if err := f.write(r); err != nil {
		return r, err
	}
	if err := f.stop(afterFinishing); err != nil {
		return r, err
	}
	return f.complete(r)
}

// sameSource fails if the source has changed. Of one at an address a copy was read.
func (r *Record) sameSource() error {
	if netfile.Is(r.Source) {
		return nil
	}
	source, err := FingerprintOf(r.Source)
	if err == nil && !source.Equal(r.SourceFile) {
		err = fmt.Errorf("%q: %w", r.Source, ErrSourceChanged)
	}
	return err
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
	if err := f.place(r); err != nil {
		return r, err
	}
	if err := f.stop(afterRename); err != nil {
		return r, err
	}
	r.State, r.Temp, r.Before = RecordDone, "", nil
	if err := f.write(r); err != nil {
		return r, err
	}
	return r, f.stop(afterDone)
}

// place puts the finished file where it belongs.
func (f finisher) place(r Record) error {
	if r.Store != "" {
		return f.upload(r)
	}
	if err := f.make(r.Output); err != nil {
		return fmt.Errorf("finish %q: %w", r.Output, err)
	}
	return f.at(r.Output, func(name string) error {
		return f.at(r.Temp, func(temp string) error { return f.move(r, temp, name) })
	})
}

// move gives the finished file its name, unless an earlier attempt has.
func (f finisher) move(r Record, temp, name string) error {
	there, err := fingerprintIf(name)
	if err != nil {
		return err
	}
	if there == nil || !r.OutputFile.Same(*there) {
		err = f.rename(r, temp, name)
	} else if err = os.Remove(temp); errors.Is(err, fs.ErrNotExist) { // a link by RenameNew
		err = nil
	}
	if err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(name))
}

func (f finisher) rename(r Record, temp, name string) error {
	err := durable.RenameNew(temp, name)
	if errors.Is(err, fs.ErrExist) {
		if err := f.mayReplaceAt(r, name); err != nil {
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
	if r.Store != "" {
		return f.mayReplaceAt(r, Item{Output: r.Output, Store: r.Store}.OutputPath(f.Root))
	}
	err := f.at(r.Output, func(name string) error { return f.mayReplaceAt(r, name) })
	if errors.Is(err, fs.ErrNotExist) { // its folder
		return nil
	}
	return err
}

func (f finisher) mayReplaceAt(r Record, name string) error {
	there, err := fingerprintIf(name)
	if err != nil || there == nil || f.overwrite || r.isOurs(*there) {
		return err
	}
	return fmt.Errorf("%q: %w", Item{Output: r.Output, Store: r.Store}.OutputPath(f.Root), ErrTaken)
}

func (f finisher) write(r Record) error { return f.Outputs.writeRecord(r) }

// Outputs is a folder of outputs.
type Outputs struct {
	Root   string
	Within string // a folder above it that no link leads out of; "": links lead where they like

	Uploads context.Context // its end ends uploads to a store; may be nil
}

// at calls f with the path of a file below the root, given with slashes. With Within the path is
// good during the call, and only links in the file's own name are followed.
func (o Outputs) at(rel string, f func(name string) error) error {
	name := filepath.Join(o.Root, filepath.FromSlash(rel))
	if o.Within == "" {
		return f(name)
	}
	return o.within(filepath.Dir(name), func(root *os.Root, dir string) error {
		folder, err := root.Open(dir)
		if err != nil {
			return err
		}
		defer folder.Close()
		return f(fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(name)))
	})
}

// make makes the folder of a file below the root.
func (o Outputs) make(rel string) error {
	dir := filepath.Dir(filepath.Join(o.Root, filepath.FromSlash(rel)))
	if o.Within == "" {
		return durable.MkdirAll(dir)
	}
	return o.within(dir, func(root *os.Root, dir string) error {
		if _, err := root.Stat(dir); err == nil {
			return nil
		}
		err := root.MkdirAll(dir, 0o777)
		for above := dir; err == nil && above != "."; {
			above = filepath.Dir(above)
			err = syncIn(root, above)
		}
		return err
	})
}

func syncIn(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return durable.SyncFile(f)
}

func (o Outputs) within(path string, f func(root *os.Root, rel string) error) error {
	root, err := os.OpenRoot(o.Within)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(o.Within, path)
	if err == nil {
		err = f(root, rel)
	}
	return errors.Join(err, root.Close())
}

// Folder opens a folder below the root, which it makes if need be.
func (o Outputs) Folder(path string) (*os.Root, error) {
	if o.Within == "" {
		if err := os.MkdirAll(path, 0o777); err != nil {
			return nil, err
		}
		return os.OpenRoot(path)
	}
	var folder *os.Root
	err := o.within(path, func(root *os.Root, rel string) (err error) {
		if err = root.MkdirAll(rel, 0o777); err == nil {
			folder, err = root.OpenRoot(rel)
		}
		return err
	})
	return folder, err
}
