package main

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
)

// batchOptions are the choices of vidfilter batch: its own, and those that the jobs are done with.
type batchOptions struct {
	link
	Files []string // as typed
	Root  string
	Name  string

	Jobs        int
	Segment     time.Duration // 0: no segments; below: the program chooses
	Retries     int
	Stall       time.Duration
	MinFree     int64 // below 0: the program chooses
	RetryFailed bool
	Overwrite   bool
	DryRun      bool
	Watch       string
	Settle      time.Duration
	Report      string
	Status      string
	Token       string
	Shared      string
	Schema      bool
	Progress    string
	Quiet       bool
	Help        bool

	media *options
	args  []string // of the main command, as far as given
	given map[string]bool
}

const batchGroup = "Batch"

// notForBatch are options of the main command that a batch sets itself.
var notForBatch = []string{"input", "output", "format", "overwrite", "no-overwrite", "progress", "quiet", "verbose", "version", "help", "part", "join", "allow-network"}

func newBatchOptions() *batchOptions {
	return &batchOptions{
		Segment: 60 * time.Second, Retries: 5, Stall: 10 * time.Minute, MinFree: -1, Settle: 10 * time.Second, Progress: "auto",
		media: defaultOptions(),
	}
}

// flags returns the flag set that writes into o: the batch's own flags, and those of the main command.
func (o *batchOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter batch", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, batchGroup}
	t.add(once(str(&o.Root, "DIR")), "output", "o", "folder for the outputs; state lies in DIR/"+batch.StateDir)
	t.add(str(&o.Name, "TEMPLATE"), "name", "", "of outputs: {stem}{ext} (default) {name} {dir} {index}")
	t.flag(&o.DryRun, "dry-run", "", "say what would be done, and do nothing")
	t.add(newValue(&o.Jobs, "N", intIn(0, 1024)), "jobs", "", "files at once; 0 (default) by cores, GPUs and memory")
	t.add(newValue(&o.Segment, "TIME", parseSpan), "segment", "", "cut files into parts of this (default 60s), 0: never")
	t.add(newValue(&o.Retries, "N", intIn(0, 1000)), "retries", "", "tries again of what may pass (default 5)")
	t.flag(&o.RetryFailed, "retry-failed", "", "do again what failed in an earlier run")
	t.add(newValue(&o.Stall, "TIME", parseSpan), "stall-timeout", "", "end and retry what gets nowhere for this (default 10m)")
	t.add(newValue(&o.MinFree, "SIZE", parseBytes), "min-free", "", "pause while the disk has less (default 1GB or 1 %)")
	t.add(str(&o.Watch, "DIR"), "watch", "", "take files as they appear in DIR, until interrupted")
	t.add(newValue(&o.Settle, "TIME", parseSpan), "settle", "", "a file that does not grow is whole (default 10s)")
	t.flag(&o.Overwrite, "overwrite", "y", "replace outputs that are not of this batch")
	t.add(str(&o.Report, "FILE"), "report", "", "write what was done to FILE.json or FILE.html")
	t.add(str(&o.Status, "ADDR"), "status", "", "serve a status page there, as 127.0.0.1:8080")
	t.add(str(&o.Token, "TOKEN"), "token", "", "lets the status page cancel and retry")
	o.link.flags(t)
	t.add(str(&o.Shared, "DIR"), "shared", "", "folder that all workers see: only names travel")
	t.flag(&o.Schema, "schema", "", "print the JSON Schema of job files")
	t.add(oneOf(&o.Progress, progressNames), "progress", "", "auto (default) bar plain json none")
	t.flag(&o.Quiet, "quiet", "q", "say nothing but errors")
	t.flag(&o.Help, "help", "h", "print this help")
	o.media.flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(notForBatch, f.Name) {
			fs.AddFlag(f)
		}
	})
	return fs
}

func parseBatch(args []string) (*batchOptions, error) {
	o := newBatchOptions()
	fs := o.flags()
	if err := parseArguments(fs, args); err != nil || o.Help || o.Schema {
		return o, err
	}
	o.Files = fs.Args()
	o.args, o.given = mediaArgs(fs), map[string]bool{}
	fs.VisitAll(func(f *pflag.Flag) { o.given[f.Name] = f.Changed })
	return o, nil
}

// mediaArgs is what was given of the main command's options, in a form that does not depend on how.
func mediaArgs(fs *pflag.FlagSet) (args []string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Changed || f.Annotations[groupKey][0] == batchGroup {
			return
		}
		if l, ok := f.Value.(*list); ok {
			for _, v := range *l.p {
				args = append(args, "--"+f.Name+"="+v)
			}
			return
		}
		args = append(args, "--"+f.Name+"="+f.Value.String())
	})
	return args
}

// mediaFlags is what job files may set of the main command.
func mediaFlags() []batch.Flag { return flagList(false) }

// batchFlags is what job files may set of the batch.
func batchFlags() (all []batch.Flag) {
	return slices.DeleteFunc(flagList(true), func(f batch.Flag) bool { return !slices.Contains(inFile, f.Name) })
}

// inFile are flags of the batch that a job file may set; what is of one run only is not.
var inFile = []string{"jobs", "segment", "retries", "stall-timeout", "min-free", "report"}

// neutral are options that do not decide about the result.
var neutral = []string{"device", "streams", "frames-in-flight", "threads", "max-pixels", "stats"}

func flagList(own bool) (all []batch.Flag) {
	newBatchOptions().flags().VisitAll(func(f *pflag.Flag) {
		if own != (f.Annotations[groupKey][0] == batchGroup) {
			return
		}
		_, repeats := f.Value.(*list)
		flag := batch.Flag{
			Name: f.Name, Short: f.Shorthand, Value: f.Value.Type() != "bool", Repeat: repeats, Kind: f.Value.Type(), Usage: f.Usage,
			Neutral: slices.Contains(neutral, f.Name),
		}
		if c, ok := f.Value.(interface{ Choices() []string }); ok {
			flag.Examples = c.Choices()
		}
		for _, r := range rivals {
			if slices.Contains(r, f.Name) {
				flag.Rivals = slices.DeleteFunc(slices.Clone(r), func(s string) bool { return s == f.Name })
			}
		}
		all = append(all, flag)
	})
	return all
}

// fromFile takes what a job file says of the batch where the command line does not.
func (o *batchOptions) fromFile(settings []batch.Setting) error {
	fs := o.flags()
	for _, s := range settings {
		if o.given[s.Name] {
			continue
		}
		if err := fs.Set(s.Name, s.Value); err != nil {
			return usagef(hintOf(err), "%s: %s: %v", s.Where, s.Name, err)
		}
	}
	return nil
}

// parseSpan reads a time as 90, 90s, 10m, 1h30m.
func parseSpan(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil && n >= 0 && n < 1e9 {
		return time.Duration(n * float64(time.Second)), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usagef("a time is 90, 90s, 10m or 1h30m", "not a time")
	}
	return d, nil
}

var byteUnits = map[string]float64{"": 1, "b": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "t": 1e12, "tb": 1e12}

// parseBytes reads a size as 500MB or 2.5G.
func parseBytes(s string) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(strings.ReplaceAll(s, " ", "")), "bkmgt")
	unit, ok := byteUnits[strings.ToLower(strings.ReplaceAll(s, " ", ""))[len(digits):]]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || n < 0 || n*unit > math.MaxInt64/2 {
		return 0, errors.New("a size is 500MB or 2.5GB")
	}
	return int64(n * unit), nil
}

func printBatchHelp(w io.Writer) error {
	fs := newBatchOptions().flags()
	_, err := io.WriteString(w, `usage: vidfilter batch FILES... -o DIR [options]    filter many files
       vidfilter batch JOBS.yaml [options]
FILES are files, folders, globs, @LIST (a file of names), - (names on stdin).
When the same command is run again, what is done is skipped, and what was half
done goes on. Nothing is done to sources. All options of the main command hold
for every file, as -r 3 --crf 20: see vidfilter --help.
Options:
`+groupHelp(fs, batchGroup)+(wrap("Exit codes: 0 all is well, 1 something failed, 6 something was damaged, 130 interrupted, others as there.")))
	return err
}
