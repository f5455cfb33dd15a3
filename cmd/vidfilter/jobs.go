package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/internal/text"
	"vidfilter/queue/jetstream"
)

// jobsOptions are the choices of vidfilter jobs.
type jobsOptions struct {
	link
	Folder        string
	Watch, JSON   bool
	State         string
	Cancel, Retry []string
	Help          bool
}

var jobStates = []string{"queued", "running", "finishing", "done", "failed", "cancelled"}

func (o *jobsOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter jobs", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	t.flag(&o.Watch, "watch", "w", "again every two seconds, until interrupted")
	t.add(oneOf(&o.State, jobStates), "state", "", "only those: queued running done failed cancelled")
	t.add(&repeated{&o.Cancel, "ID"}, "cancel", "", "ID of a job to end; repeatable")
	t.add(&repeated{&o.Retry, "ID"}, "retry", "", "ID of a job that failed, to try again; repeatable")
	t.flag(&o.JSON, "json", "", "print one JSON document")
	o.link.flags(t)
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

func printJobsHelp(w io.Writer) error {
	_, err := io.WriteString(w, `usage: vidfilter jobs DIR [options]            the jobs of a batch with -o DIR
       vidfilter jobs --server URL [options]   the jobs of a queue elsewhere
Options:
`+groupHelp(new(jobsOptions).flags(), "Options"))
	return err
}

func parseJobs(args []string) (*jobsOptions, error) {
	o := &jobsOptions{}
	fs := o.flags()
	if err := fs.Parse(args); err != nil {
		return o, flagError(fs, err)
	}
	switch {
	case o.Help:
	case o.link.check() != nil:
		return o, o.link.check()
	case o.remote() && fs.NArg() > 0:
		return o, usagef("give one of them", "a folder and --server exclude each other")
	case !o.remote() && fs.NArg() != 1:
		return o, usagef("vidfilter jobs DIR, the folder of the outputs, or vidfilter jobs --server URL", "whose jobs?")
	case !o.remote():
		o.Folder = fs.Arg(0)
	}
	return o, nil
}

func runJobs(args []string, s stdio) error {
	o, err := parseJobs(args)
	if err != nil {
		return err
	}
	if o.Help {
		return printJobsHelp(s.out)
	}
	c, stop, err := o.open(s)
	if err != nil {
		return err
	}
	defer stop()
	if len(o.Cancel)+len(o.Retry) > 0 {
		return o.act(c, s)
	}
	if !o.Watch {
		return o.print(c, s.out)
	}
	ctx, end := untilSignal()
	defer end()
	for {
		if err := o.print(c, s.out); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Second):
			fmt.Fprintln(s.out)
		}
	}
}

// open reaches the queue, or the batch that runs in the folder. c is nil where none does.
func (o *jobsOptions) open(s stdio) (c *control, stop func(), err error) {
	if o.remote() {
		e, err := o.connect(jetstream.Options{Warn: func(msg string) { fmt.Fprintf(s.err, "vidfilter: %s\n", text.OneLine(msg)) }}, "jobs")
		if err != nil {
			return nil, nil, err
		}
		c, end := controlEngine(e)
		return c, func() { end(); _ = e.Close() }, nil
	}
	if i, err := os.Stat(o.Folder); err != nil || !i.IsDir() {
		return nil, nil, usagef("it is the folder behind -o of vidfilter batch", "%q is no folder", o.Folder)
	}
	c, err = controlOf(o.Folder)
	if err != nil {
		c = nil
	}
	return c, func() {}, nil
}

func (o *jobsOptions) act(c *control, s stdio) error {
	if c == nil {
		return usagef("run the batch again, with --retry-failed", "no batch runs in %s", o.Folder)
	}
	for _, id := range o.Cancel {
		if _, err := c.post("/api/jobs/" + url.PathEscape(id) + "/cancel"); err != nil {
			return fmt.Errorf("cancel %s: %w", id, err)
		}
		fmt.Fprintf(s.err, "vidfilter: %s is cancelled\n", text.OneLine(id))
	}
	for _, id := range o.Retry {
		if _, err := c.post("/api/jobs/" + url.PathEscape(id) + "/retry"); err != nil {
			return fmt.Errorf("retry %s: %w", id, err)
		}
		fmt.Fprintf(s.err, "vidfilter: %s is in the queue again\n", text.OneLine(id))
	}
	return nil
}

func (o *jobsOptions) print(c *control, w io.Writer) error {
	l, err := o.read(c)
	if err != nil {
		return err
	}
	if o.State != "" {
		l.Jobs = slices.DeleteFunc(l.Jobs, func(j jobView) bool { return j.State != o.State })
	}
	if o.JSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"jobs": append([]jobView{}, l.Jobs...), "note": l.Note, "running": c != nil})
	}
	return printJobs(w, l, c != nil)
}

// read returns the jobs as the running batch knows them or, where none runs, as their records have them.
func (o *jobsOptions) read(c *control) (l listing, err error) {
	if c != nil {
		return c.jobs()
	}
	err = batch.Records(o.Folder, func(r *batch.Record, e error) {
		if r == nil {
			l.Jobs = append(l.Jobs, jobView{State: "unknown", Reason: e.Error()})
			return
		}
		j := jobView{ID: batch.Item{Output: r.Output}.ID(), Title: r.Output, State: string(r.State), Reason: r.Reason, Frames: r.Frames, FPS: r.FPS}
		l.Jobs = append(l.Jobs, j)
	})
	return l, err
}

func printJobs(w io.Writer, l listing, running bool) error {
	var b strings.Builder
	count := map[string]int{}
	for _, j := range l.Jobs {
		count[j.State]++
		fmt.Fprintln(&b, text.OneLine(jobLine(j)))
	}
	var parts []string
	for _, s := range jobStates {
		if count[s] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[s], s))
		}
	}
	fmt.Fprintf(&b, "%s: %s\n", text.Count(len(l.Jobs), "job"), cmp.Or(strings.Join(parts, ", "), "none"))
	if l.Note != "" {
		fmt.Fprintln(&b, text.OneLine(l.Note))
	}
	if !running {
		b.WriteString("no batch is running here\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func jobLine(j jobView) string {
	parts := []string{fmt.Sprintf("%-9s %s", j.State, j.Title)}
	switch {
	case j.State == "running" && j.Part != nil:
		parts = append(parts, fmt.Sprintf("%.0f%%", *j.Part*100))
	case j.Frames > 0:
		parts = append(parts, text.Count(j.Frames, "frame"))
	}
	if j.FPS > 0 {
		parts = append(parts, fmt.Sprintf("%.1f fps", j.FPS))
	}
	if j.Parts != nil {
		parts = append(parts, fmt.Sprintf("%d/%d parts", j.Parts.Done, j.Parts.All))
	}
	if j.Left != nil {
		parts = append(parts, text.Clock(*j.Left)+" left")
	}
	if j.Reason != "" {
		parts = append(parts, j.Reason)
	}
	return strings.Join(append(parts, "["+j.ID+"]"), "  ")
}
