package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/netfile"
)

// noteFetch is shown while a source is fetched.
var noteFetch = queue.Progress{Note: "fetching the source"}

// program returns the program, which reads the copy of a source at an address.
func (k *task) program(ctx context.Context) (Program, error) {
	p := k.Program
	if !netfile.Is(k.spec.Item.Source) {
		return p, nil
	}
	file, err := k.copy(ctx)
	if err != nil {
		return p, err
	}
	if p.Env == nil {
		p.Env = netfile.WithoutCredentials(os.Environ())
	}
	p.Env = append(slices.Clip(p.Env), netfile.CopiesEnv(map[string]string{k.spec.Item.Source: file}))
	return p, nil
}

const copyPrefix = "source-"

// copy returns the copy of the source in the job's folder, which all tasks of the job read. The
// first fetches it.
func (k *task) copy(ctx context.Context) (string, error) {
	turn, _ := k.copying.LoadOrStore(k.job.ID, make(chan struct{}, 1))
	select {
	case turn.(chan struct{}) <- struct{}{}:
		defer func() { <-turn.(chan struct{}) }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	sum := sha256.Sum256([]byte(k.spec.Record.SourceFile.Hash))
	base := copyPrefix + hex.EncodeToString(sum[:6]) + netfile.Ending(k.spec.Item.Source)
	name := filepath.Join(k.jobDir(), base)
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return name, err
	}
	temp, err := k.temp(base)
	if err != nil {
		return "", err
	}
	k.report(noteFetch)
	info, err := netfile.Fetch(ctx, k.spec.Item.Address(), temp)
	if err != nil {
		return "", err
	}
	if !batch.PrintOf(info).Equal(k.spec.Record.SourceFile) {
		return "", batch.ErrSourceChanged
	}
	return name, os.Rename(temp, name)
}

// removeCopies removes the copies of a job's source. The folder of a finished job goes anyway.
func removeCopies(root, job string) {
	all, _ := filepath.Glob(filepath.Join(workOf(root), job, copyPrefix+"*"))
	for _, name := range all {
		_ = os.Remove(name)
	}
}

// lasting gives an output for a store a name that survives this attempt: the upload may take longer
// than all else, and goes on in a later run.
func (k *task) lasting(temp string) (string, error) {
	if k.spec.Item.Store == "" {
		return temp, nil
	}
	name := filepath.Join(k.jobDir(), "finished"+filepath.Ext(temp))
	return name, os.Rename(temp, name)
}
