package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/batch/tasks"
	"vidfilter/internal/text"
	"vidfilter/queue"
	"vidfilter/queue/jetstream"
)

// workerOptions are the choices of vidfilter worker.
type workerOptions struct {
	link
	Jobs    int
	Work    string
	Shared  string
	Stall   time.Duration
	MinFree int64
	Quiet   bool
	Help    bool
}

func (o *workerOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter worker", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	o.link.flags(t)
	t.add(newValue(&o.Jobs, "N", intIn(0, 1024)), "jobs", "", "parts at once; 0 (default) by cores, GPUs and memory")
	t.add(str(&o.Work, "DIR"), "work", "", "for parts that are being made (default the system's)")
	t.add(str(&o.Shared, "DIR"), "shared", "", "folder that all workers see, wherever it is mounted")
	t.add(newValue(&o.Stall, "TIME", parseSpan), "stall-timeout", "", "end a part that gets nowhere for this (default 10m)")
	t.add(newValue(&o.MinFree, "SIZE", parseBytes), "min-free", "", "pause while the disk has less (default 1GB or 1 %)")
	t.flag(&o.Quiet, "quiet", "q", "say nothing but errors")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

// runWorker is vidfilter worker.
func runWorker(args []string, s stdio) error {
	o := &workerOptions{Stall: 10 * time.Minute, MinFree: -1}
	fs := o.flags()
	if err := fs.Parse(args); err != nil {
		return flagError(fs, err)
	}
	switch {
	case o.Help:
		_, err := io.WriteString(s.out, `usage: vidfilter worker --server URL --creds FILE [options]
Filters parts of videos for vidfilter batch --server on other machines, until it
is interrupted; what it has begun then is done by another worker. It takes parts
of its own version alone. Without the server it does not start (exit code 7);
once connected it waits for the server to come back, however long that takes.
Options:
`+groupHelp(fs, "Options"))
		return err
	case fs.NArg() > 0:
		return usagef("all options: vidfilter worker --help", "unexpected argument %q", fs.Arg(0))
	case !o.remote():
		return usagef("vidfilter worker --server tls://HOST:4222 --creds FILE", "no queue: --server is missing")
	}
	ctx, stop := untilSignal()
	defer stop()
	err := o.run(ctx, s)
	var cause interruption
	if errors.As(context.Cause(ctx), &cause) && (err == nil || errors.As(err, &cause)) {
		if cause.signal == syscall.SIGTERM { // how services are stopped
			return nil
		}
		return cause
	}
	return err
}

func (o *workerOptions) run(ctx context.Context, s stdio) error {
	say := func(format string, args ...any) {
		if !o.Quiet {
			fmt.Fprintf(s.err, "vidfilter: %s\n", text.OneLine(fmt.Sprintf(format, args...)))
		}
	}
	e, err := o.connect(jetstream.Options{Warn: func(msg string) { say("%s", msg) }}, "worker")
	if err != nil {
		return err
	}
	defer e.Close()
	work, remove, err := openWork(o.Work)
	if err != nil {
		return err
	}
	defer remove()

	devices, gpus := spreadGPUs()
	w := queue.Worker{Name: workerName(), Sites: []string{tasks.PartSite(versionName())}, Slots: slots(o.Jobs, len(gpus)), GPUs: gpus}
	r := &tasks.Runner{Program: tasks.Self(), Work: work, Blobs: e.Blobs(), Results: e.Results, Devices: devices}
	r.Program.Stall, r.Program.Gate, r.Program.Env = o.Stall, new(tasks.Gate), withoutOptions(s.env)
	if o.Shared != "" {
		place, err := siteOf("", o.Shared)
		if err != nil {
			return err
		}
		if r.Shared, err = filepath.Abs(o.Shared); err != nil {
			return err
		}
		r.Sites = []string{tasks.SiteOf(place, versionName())}
		w.Sites = append(slices.Clone(r.Sites), w.Sites...)
	}
	go tellVersions(ctx, e, say)
	go guardFolder(ctx, r.Program.Gate, work, o.MinFree, func(note string) { say("%s", note) })
	say("%s: %s of vidfilter %s at once", w.Name, text.Count(w.Slots, "part"), versionName())
	return e.Work(ctx, w, tellTasks(r.Handle, say))
}

// tellTasks says what a worker does.
func tellTasks(h queue.Handler, say func(string, ...any)) queue.Handler {
	return func(ctx context.Context, j queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
		begun := time.Now()
		out, err := h(ctx, j, t, report)
		switch {
		case err == nil:
			say("%s %s: done in %.1f s", j.Title, t.Name, time.Since(begun).Seconds())
		case errors.As(err, new(*queue.Postponed)):
		default:
			say("%s %s: %v", j.Title, t.Name, err)
		}
		return out, err
	}
}

// guardFolder pauses the work while the disk of a folder has less room than it should: least, or by its size where that is below 0.
func guardFolder(ctx context.Context, g *tasks.Gate, dir string, least int64, note func(string)) {
	if _, total, err := batch.Space(dir); err == nil && least < 0 {
		least = batch.DefaultMinFree(total)
	}
	room := batch.NewRoom(least)
	g.Guard(ctx, time.Second, func() (string, bool) {
		free, _, err := batch.Space(dir)
		if err != nil || !room.Paused(free) {
			return "", true
		}
		return fmt.Sprintf("paused: %s free on the disk of %s, %s wanted", text.Size(free), dir, text.Size(room.Enough())), false
	}, note)
}
