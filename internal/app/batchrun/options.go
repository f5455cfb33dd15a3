package batchrun

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
)

// BatchOptions are the options of vidfilter batch: its own, and its jobs'.
type BatchOptions struct {
	serverOptions
	statusOptions
	Files []string // as typed
	Root  string
	Name  string

	Jobs        int
	Segment     time.Duration // 0: no segments
	Hours       hours
	Retries     int
	Priority    int
	Deaths      int
	Stall       time.Duration
	MinFree     int64 // negative: the program chooses
	RetryFailed bool
	RemakeOlder bool
	Overwrite   bool
	DryRun      bool
	Watch       string
	Settle      time.Duration
	Report      string
	Previews    bool   // linked in the report
	OnDone      string // shell command
	Webhook     string // URL
	Shared      string
	Detach      bool
	Schema      bool
	Progress    string
	Sandbox     string // of job.SandboxModes
	Quiet       bool

	media *job.Options
	args  []string        // of the main command, as given
	own   []batch.Setting // as given, of those that a job file may set
	given map[string]bool

	agent *agentRun // nil: the batch is our user's own
	jobs  int       // files at a time on this machine; 0: see Jobs
}

const BatchGroup = "Batch"

func NewBatchOptions() *BatchOptions {
	return &BatchOptions{
		Segment: 60 * time.Second, Retries: 5, Deaths: queue.DefaultDeaths, Stall: 10 * time.Minute, MinFree: -1, Settle: 10 * time.Second, Progress: "auto",
		media: job.NewOptions(),
	}
}

// Flags returns flags that set o: the batch's own, and the main command's.
func (o *BatchOptions) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, BatchGroup)
	t.Add(cli.Once(cli.String(&o.Root, "DIR")), "output", "o", "output folder; state is kept in DIR/"+batch.StateDir)
	t.Add(cli.String(&o.Name, "TEMPLATE"), "name", "", "output names: {stem}{ext} (default) {name} {dir} {index}")
	t.Flag(&o.DryRun, "dry-run", "", "print the plan and exit")
	t.Add(cli.NewValue(&o.Jobs, "N", cli.IntIn(0, 1024)), "jobs", "", "files at a time; 0 (default) depends on the machine", cli.InJobFile)
	t.Add(cli.NewValue(&o.Hours, "TIMES", parseHours), "hours", "", hoursText, cli.InJobFile)
	t.Add(cli.NewValue(&o.Segment, "TIME", parseSpan), "segment", "", "length of parts of a file (default 60s); 0: whole files", cli.InJobFile)
	t.Add(cli.NewValue(&o.Retries, "N", cli.IntIn(0, 1000)), "retries", "", "retries after temporary errors (default 5)", cli.InJobFile)
	t.Add(cli.NewValue(&o.Deaths, "N", cli.IntIn(1, 1000)), "quarantine-after", "", "give a file up when N processes died at it (default 3)", cli.InJobFile)
	t.Add(cli.NewValue(&o.Priority, "N", cli.IntIn(0, math.MaxInt32)), "priority", "", "above 0: before other batches of a --server, in three of four turns", cli.InJobFile)
	t.Flag(&o.RetryFailed, "retry-failed", "", "retry files that failed in earlier runs")
	t.Flag(&o.RemakeOlder, "remake-older", "", "make outputs of other versions again", cli.InJobFile)
	t.Add(cli.NewValue(&o.Stall, "TIME", parseSpan), "stall-timeout", "", "restart a task without progress (default 10m)", cli.InJobFile)
	t.Add(cli.NewValue(&o.MinFree, "SIZE", parseBytes), "min-free", "", "pause below this free space (default 1GB or 1 %)", cli.InJobFile)
	t.Add(cli.String(&o.Watch, "DIR"), "watch", "", "filter new files in DIR until interrupted")
	t.Add(cli.NewValue(&o.Settle, "TIME", parseSpan), "settle", "", "time until an unchanged file is complete (default 10s)")
	t.Flag(&o.Overwrite, "overwrite", "y", "replace files not made by this batch")
	t.Add(cli.String(&o.Report, "FILE"), "report", "", "write a report, as FILE.json or FILE.html", cli.InJobFile)
	t.Flag(&o.Previews, "previews", "", "with a report in HTML: link a page for each file that compares it with its result", cli.InJobFile)
	t.Add(cli.String(&o.OnDone, "CMD"), "on-done", "", "run CMD when a file or the batch ends, with JSON on stdin")
	t.Add(cli.String(&o.Webhook, "URL"), "webhook", "", "send that JSON to URL")
	o.statusOptions.flags(t)
	o.serverOptions.flags(t)
	t.Add(cli.String(&o.Shared, "DIR"), "shared", "", "folder shared with all workers: no files are sent")
	t.Flag(&o.Detach, "detach", "", "hand the batch to the queue of --server, and exit: vidfilter agent runs it")
	t.Flag(&o.Schema, "schema", "", "print the JSON Schema of job files")
	t.Add(cli.OneOf(&o.Progress, job.ProgressNames), "progress", "", "auto (default) bar plain json none")
	job.SandboxFlag(t, &o.Sandbox)
	t.Flag(&o.Quiet, "quiet", "q", "print errors only")
	o.media.Flags().VisitAll(func(f *pflag.Flag) {
		if cli.WhyNotInBatch(f) == "" {
			fs.AddFlag(f)
		}
	})
	return fs
}

// Take keeps the arguments and the flags that were given.
func (o *BatchOptions) Take(fs *pflag.FlagSet, args []string) {
	o.Files = args
	o.args, o.given = cli.Given(fs, BatchGroup), map[string]bool{}
	fs.VisitAll(func(f *pflag.Flag) {
		o.given[f.Name] = f.Changed
		if f.Changed && cli.InJobFile.On(f) {
			o.own = append(o.own, batch.Setting{Name: f.Name, Value: f.Value.String()})
		}
	})
}

// batchFlags returns the flags of a batch that job files may set; others concern a single run.
func batchFlags() *pflag.FlagSet { return cli.InJobFile.Only(NewBatchOptions().Flags()) }

// fromFile sets options of the batch from the job file. The command line wins.
func (o *BatchOptions) fromFile(settings []batch.Setting) error {
	fs := o.Flags()
	for _, s := range settings {
		if o.given[s.Name] {
			continue
		}
		if err := fs.Set(s.Name, s.Value); err != nil {
			return cli.Usagef(hint.Of(err), "%s: %s: %v", s.Where, s.Name, err)
		}
	}
	return nil
}

// parseSpan reads a time as 90, 90s, 10m, 1h30m, 30d.
func parseSpan(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 1e4 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, cli.Usagef("a time is 90, 90s, 10m, 1h30m or 30d", "not a time")
	}
	return d, nil
}

var byteUnits = map[string]float64{"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12}

// parseBytes reads a size as 500MB or 2.5G.
func parseBytes(s string) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(strings.ReplaceAll(s, " ", "")), "bkmgt")
	unit, ok := byteUnits[strings.ToLower(strings.ReplaceAll(s, " ", ""))[len(digits):]]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || !(n >= 0 && n*unit <= math.MaxInt64/2) {
		return 0, errors.New("a size is 500MB or 2.5GB")
	}
	return int64(n * unit), nil
}
