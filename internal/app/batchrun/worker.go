package batchrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/tasks"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/durable"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

// WorkerOptions are the options of vidfilter worker.
type WorkerOptions struct {
	serverOptions
	limits
	Hours   hours
	Jobs    int
	Work    string
	Shared  string
	Stall   time.Duration
	MinFree int64
	Sandbox string // of job.SandboxModes
	Drain   bool
	Quiet   bool
}

func (o *WorkerOptions) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	o.serverOptions.flags(t)
	t.Add(cli.NewValue(&o.Jobs, "N", cli.IntIn(0, 1024)), "jobs", "", "parts at a time; 0 (default) depends on the machine")
	t.Add(cli.NewValue(&o.Hours, "TIMES", parseHours), "hours", "", hoursText)
	o.limits.flags(t)
	t.Add(cli.String(&o.Work, "DIR"), "work", "", "folder for temporary files (default the system's)")
	t.Add(cli.String(&o.Shared, "DIR"), "shared", "", "folder shared with the batch")
	t.Add(cli.NewValue(&o.Stall, "TIME", parseSpan), "stall-timeout", "", "restart a part without progress (default 10m)")
	t.Add(cli.NewValue(&o.MinFree, "SIZE", parseBytes), "min-free", "", "pause below this free space (default 1GB or 1 %)")
	job.SandboxFlag(t, &o.Sandbox)
	t.Flag(&o.Drain, "drain", "", "make the workers with these credentials finish and exit")
	t.Flag(&o.Quiet, "quiet", "q", "print errors only")
	return fs
}

func NewWorkerOptions() *WorkerOptions { return &WorkerOptions{Stall: 10 * time.Minute, MinFree: -1} }

// RunWorker filters parts for others until a signal.
func RunWorker(o *WorkerOptions, s terminal.Stdio) error {
	if !o.remote() {
		return cli.Usagef("vidfilter worker --server tls://HOST:4222 --creds FILE", "no queue: --server is missing")
	}
	ctx, stop := terminal.UntilSignal()
	defer stop()
	err := o.run(ctx, s)
	if ctx.Err() != nil && (err == nil || errors.As(err, new(terminal.Interruption))) {
		return terminal.Stopped(ctx)
	}
	return err
}

func (o *WorkerOptions) run(ctx context.Context, s terminal.Stdio) error {
	log := terminal.NewLogger(s.Err, o.Quiet)
	e, err := o.connect(jetstream.Options{Log: log}, "worker", shownDone)
	if err != nil {
		return err
	}
	defer e.Close()
	if o.Drain {
		return drain(e, log)
	}
	work, remove, err := durable.TempFolder(o.Work, "vidfilter-worker")
	if err != nil {
		return err
	}
	defer remove()

	env, err := o.limits.apply(s.Env)
	if err != nil {
		return err
	}
	devices, gpus := o.limits.devices()
	if err := o.limits.check(gpus); err != nil {
		return err
	}
	w := queue.Worker{Name: workerName(), Sites: tasks.PartSites(), Slots: slots(o.Jobs, len(gpus), coresPerJob), GPUs: gpus, Version: cli.Version()}
	r := &tasks.Runner{
		Program: programOf(o.Sandbox, env, w.Slots, o.Memory), Version: cli.Version(), Work: work, Blobs: e.Blobs(), Results: e.Results, Devices: devices, Options: jobOptions,
	}
	r.Program.Stall, r.Program.Gate = o.Stall, new(tasks.Gate)
	w.Hold = func() string { return cmp.Or(o.Hours.hold(), r.Hold()) }
	if o.Shared != "" {
		place, err := siteOf("", o.Shared)
		if err != nil {
			return err
		}
		if r.Shared, err = filepath.Abs(o.Shared); err != nil {
			return err
		}
		r.Sites = []string{tasks.SiteOf(place)}
		w.Sites = append(slices.Clone(r.Sites), w.Sites...)
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching.Go(func() { reportVersions(ctx, e, log) })
	watching.Go(func() {
		guardFolder(ctx, r.Program.Gate, work, o.MinFree, func(note string) { log.Warn(note) })
	})
	watching.Go(func() {
		o.Hours.follow(ctx, func(why string) { log.Info(cmp.Or(why, "its --hours have begun")) })
	})
	if o.Memory > 0 {
		watching.Go(func() { r.Program.Gate.LimitMemory(ctx, o.Memory) })
	}
	if job.IsSandboxOff(o.Sandbox, s.Env) {
		log.Info(job.WithoutSandbox)
	}
	log.Info(fmt.Sprintf("%s: %s of vidfilter %s at once", w.Name, text.Count(w.Slots, "part"), cli.Version()))
	if err := e.Work(ctx, w, reportTasks(r.Handle, log)); err != nil || ctx.Err() != nil {
		return err
	}
	log.Info("drained: its tasks are done, and it takes no more")
	return nil
}

// drain tells the workers that have our credentials to drain.
func drain(e queue.Engine, log *slog.Logger) error {
	d, ok := e.(interface {
		Name() string
		Drain(name string) error
	})
	if !ok {
		return cli.Usagef("stop the worker by SIGTERM: another one takes its parts", "--drain is for the queues of vidfilter serve")
	}
	if err := d.Drain(d.Name()); err != nil {
		return err
	}
	log.Info(fmt.Sprintf("the workers with the credentials of %q finish their parts and exit", d.Name()))
	return nil
}

// reportTasks reports a worker's tasks.
func reportTasks(h queue.Handler, log *slog.Logger) queue.Handler {
	return func(ctx context.Context, j queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
		begun := time.Now()
		out, err := h(ctx, j, t, report)
		switch {
		case err == nil:
			log.Info(fmt.Sprintf("%s %s: done in %.1f s", j.Title, t.Name, time.Since(begun).Seconds()))
		case errors.As(err, new(*queue.Postponed)) && !errors.Is(err, tasks.ErrFull) && !errors.Is(err, tasks.ErrSession):
		default:
			log.Warn(j.Title+" "+t.Name, "error", err)
		}
		return out, err
	}
}

// guardFolder pauses the work while the disk of a folder has less room than least. A negative
// least depends on the size of the disk.
func guardFolder(ctx context.Context, g *tasks.Gate, dir string, least int64, note func(string)) {
	if _, total, err := durable.Space(dir); err == nil && least < 0 {
		least = batch.DefaultMinFree(total)
	}
	room := batch.NewRoom(least)
	g.Guard(ctx, time.Second, func() (string, bool) {
		free, _, err := durable.Space(dir)
		if err != nil || !room.Paused(free) {
			return "", true
		}
		return fmt.Sprintf("paused: %s free on the disk of %s, %s wanted", text.Size(free), dir, text.Size(room.Enough())), false
	}, note)
}
