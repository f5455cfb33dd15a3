package batchrun

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/tasks"
	"vidfilter/internal/cli"
	"vidfilter/internal/netfile"
)

// checkRemote checks the options about other machines, and makes the shared folder's name
// absolute.
func (b *batchJob) checkRemote() (err error) {
	o := b.o
	if err := o.serverOptions.check(); err != nil || o.Shared == "" {
		return err
	}
	if !o.remote() {
		return cli.Usagef("add --server URL", "--shared is for workers on other machines, and there is no --server")
	}
	if o.Shared, err = filepath.Abs(o.Shared); err != nil {
		return err
	}
	if i, err := os.Stat(o.Shared); err != nil || !i.IsDir() {
		return cli.Usagef("it is a folder that this machine and all workers see", "--shared: %q is no folder", o.Shared)
	}
	names := []string{b.plan.Root}
	if o.Watch != "" {
		dir, err := filepath.Abs(o.Watch)
		if err != nil {
			return err
		}
		names = append(names, dir)
	}
	for _, item := range b.plan.Items {
		names = append(names, item.Source)
	}
	for _, name := range append(names, b.plan.Store) {
		if netfile.Is(name) {
			return cli.Usagef("without --shared this machine reads and writes it, and workers get parts", "--shared is for files in a folder, and %s is at an address", name)
		}
	}
	for _, name := range names {
		if rel, err := filepath.Rel(o.Shared, name); err != nil || !filepath.IsLocal(rel) {
			return cli.Usagef("name files, outputs and --shared by the same path", "%q is not below --shared %q, so workers cannot find it", name, o.Shared)
		}
	}
	return nil
}

// sites returns the sites whose tasks this batch takes: its own and, with a server, parts of other
// batches' files.
func (b *batchJob) sites() []string {
	own := []string{tasks.SiteOf(b.site)}
	if !b.o.remote() {
		return own
	}
	return append(own, tasks.PartSites()...)
}

// remoteRunner sets up tasks of other batches, whose folders are elsewhere.
func (b *batchJob) remoteRunner(r *tasks.Runner) *tasks.Runner {
	r.Sites = slices.Clone(b.sites()[:1])
	if b.o.remote() {
		r.Work = filepath.Join(b.plan.Root, batch.StateDir, "work", "others")
		_ = os.RemoveAll(r.Work) // left by a killed batch; we hold the lock
	}
	return r
}

// sweepStore removes leftovers of this and earlier batches from the store of a cluster. The next
// batch removes the rest. A queue of vidfilter serve does so by itself, and lists no files.
func (b *batchJob) sweepStore(ctx context.Context) {
	if !b.o.remote() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = tasks.Sweep(ctx, b.engine)
}
