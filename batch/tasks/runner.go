// Package tasks does the tasks of a batch: it decides how to filter a file, runs the program for
// it, and puts the result in its place.
//
// A file that is not cut is one task, "whole". Otherwise "plan" finds out where the file can be
// cut. Each part is a task ("part-0000") for any worker that reaches the file, and "join" joins
// them. For other workers, a task "cut-0000" before each part sends its packets through the
// queue's store, where the part returns.
package tasks

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
	"vidfilter/internal/durable"
	"vidfilter/internal/netfile"
	"vidfilter/internal/wake"
)

// Spec is the Spec of a queue.Job: all that its tasks need to know.
type Spec struct {
	Settings
	Protocol int          `json:"protocol"` // see queue.Protocol
	Item     batch.Item   `json:"item"`
	Record   batch.Record `json:"record"` // as of the submission
}

// Settings are common to all jobs of a Session.
type Settings struct {
	Root    string  `json:"root"`             // of the outputs, absolute
	Segment float64 `json:"segment"`          // least seconds of a part; 0 for no parts
	Remote  bool    `json:"remote,omitempty"` // for workers that do not reach the source
	// the folder that all workers see, by the submitter's path
	Shared    string `json:"shared,omitempty"`
	Overwrite bool   `json:"overwrite,omitempty"`
	Threads   int    `json:"threads,omitempty"` // of a part: x264's result depends on them
}

// Result is the result of a job that is done.
type Result struct {
	contract.Outcome
	InSize int64 `json:"in_size"`
	Size   int64 `json:"size"`
	Parts  int   `json:"parts,omitempty"`
}

// SiteOf returns the site of jobs whose files are at a place: workers that reach it and know the
// protocol.
func SiteOf(place string) string { return fmt.Sprintf("%s-p%d", place, queue.Protocol) }

// partSite begins the site of parts in the store.
const partSite = "parts-p"

// partSiteOf returns the site of parts of a protocol.
func partSiteOf(protocol int) string { return partSite + strconv.Itoa(protocol) }

// PartSites returns the sites of parts that this version can do.
func PartSites() (sites []string) {
	for p := queue.Protocol; p >= queue.OldestProtocol; p-- {
		sites = append(sites, partSiteOf(p))
	}
	return sites
}

// TakesParts reports whether a worker takes the parts that this version submits.
func TakesParts(w queue.Worker) bool { return slices.Contains(w.Sites, partSiteOf(queue.Protocol)) }

// SpecOf returns the Spec of a job; it is zero if the job is not ours.
func SpecOf(j queue.Job) (s Spec) {
	if json.Unmarshal(j.Spec, &s) != nil {
		return Spec{}
	}
	return s
}

// Runner does tasks; Handle is a queue.Handler. Several slots may share a Runner.
type Runner struct {
	Program Program
	Version string   // of the program
	Sites   []string // whose files it reaches
	Work    string   // folder for parts from the store; "" to take none
	Blobs   queue.Blobs
	Results func(ctx context.Context, job string) (map[string]json.RawMessage, error)
	Devices []string // such as "cuda:1"; for tasks without --device
	// the folder that all workers see, absolute; jobs of other machines touch no file outside it
	Shared string

	// the folder that own jobs must not leave, absolute; "": they may
	Within string

	// Own returns a job as this process submitted it. planned is true for our own jobs, and job
	// is zero until it is submitted. Own may be nil.
	Own func(id string) (job queue.Job, planned bool)

	// Options parses the options of another machine's job like the command line. It returns them
	// in canonical form: all, and the ones that affect the result.
	Options func(output string, args []string) (all, deciding []string, err error)

	// Address returns the source of one of our jobs with the query that its spec lacks; may be nil.
	Address func(id string) string

	copying sync.Map // by job: a channel that is full while its source is fetched

	mu   sync.Mutex
	busy map[string]int // tasks by device
	full time.Time      // the disk was, and counts as such until then
}

func (r *Runner) Handle(ctx context.Context, j queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
	k, err := r.admit(j, t)
	if err != nil {
		return queue.Outcome{}, withCode(err)
	}
	k.report = report
	defer k.clean()
	do := map[string]func(context.Context) (queue.Outcome, error){
		contract.TaskPlan: k.plan, contract.TaskWhole: k.whole, contract.TaskPart: k.part, contract.TaskCut: k.cut, contract.TaskJoin: k.join,
	}[t.Kind]
	ctx, done := k.yield(ctx)
	defer done()
	k.uploads = ctx
	err = k.wait(ctx)
	var out queue.Outcome
	if err == nil {
		out, err = do(ctx)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return queue.Outcome{}, cause
		}
		if k.overtaken(ctx) { // the other worker may already have deleted our files
			return queue.Outcome{}, queue.ErrOvertaken
		}
		err = k.judge(err)
		if errors.Is(err, ErrSession) {
			return queue.Outcome{}, k.rest(ctx, err)
		}
		return queue.Outcome{}, withCode(err)
	}
	return out, nil
}

// overtaken reports whether another worker has done the task. A worker that was frozen may have
// to reconnect first.
func (k *task) overtaken(ctx context.Context) bool {
	if k.Results == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	results, err := k.Results(ctx, k.job.ID)
	for err != nil && wake.Sleep(ctx, 200*time.Millisecond) == nil {
		results, err = k.Results(ctx, k.job.ID)
	}
	_, done := results[k.task.Name]
	return done && err == nil
}

// localPath maps a path in the shared folder to this machine.
func (r *Runner) localPath(s Spec, path string) string {
	if s.Shared == "" || r.Shared == "" {
		return path
	}
	rel, err := filepath.Rel(s.Shared, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(r.Shared, rel)
}

// device returns options for the least busy device, and a function that releases it.
func (r *Runner) device(args []string) (more []string, back func()) {
	if len(r.Devices) == 0 || has(args, "--device") {
		return nil, func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy == nil {
		r.busy = map[string]int{}
	}
	d := slices.MinFunc(r.Devices, func(a, b string) int { return r.busy[a] - r.busy[b] })
	r.busy[d]++
	return []string{"--device", d}, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy[d]--
	}
}

// has reports whether args contain an option, in either form.
func has(args []string, option string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == option || strings.HasPrefix(a, option+"=") })
}

// task is one attempt at a task.
type task struct {
	*Runner
	job      queue.Job
	task     queue.Task
	spec     Spec
	report   func(queue.Progress)
	yields   bool   // another machine may do it
	inShared string // the folder that the job must not leave; "" if it may
	base     string // holds the job's folder
	folder   string // of this attempt, made by temp, below the job's
	uploads  context.Context
}

// jobDir is where the job's parts wait for the join.
func (k *task) jobDir() string { return filepath.Join(k.base, k.job.ID) }

// outputs returns the folder of the outputs. No link leads another machine's job out of the folder
// shared with us; our own user's links lead where they like.
func (k *task) outputs() batch.Outputs {
	return batch.Outputs{Root: k.spec.Root, Within: k.inShared, Uploads: k.uploads}
}

// within calls f with the base folder as a root that no name or link leads out of.
func (k *task) within(f func(*os.Root) error) error {
	base, err := k.outputs().Folder(k.base)
	if err != nil {
		return err
	}
	return errors.Join(f(base), base.Close())
}

func (k *task) discard() {
	// the next run tries again
	_ = k.within(func(base *os.Root) error { return base.RemoveAll(k.job.ID) })
}

// workOf returns the folder for unfinished work.
func workOf(root string) string { return filepath.Join(root, batch.StateDir, "work") }

// Tidy removes leftovers of killed attempts beside the outputs, but not finished parts. It removes
// everything of jobs that no Session with this root and site can continue, for example after the
// folder was moved. There must be no work there.
func Tidy(root, site string) error {
	left, err := fs.Glob(os.DirFS(workOf(root)), "*/*.[0-9]*-*")
	for _, name := range left {
		name = filepath.Join(workOf(root), name)
		if i, e := os.Lstat(name); e == nil && i.IsDir() {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	jobs, _ := os.ReadDir(workOf(root))
	for _, j := range jobs {
		name := filepath.Join(workOf(root), j.Name())
		if !strings.HasSuffix(j.Name(), "-"+BatchID(site, root)) {
			err = errors.Join(err, os.RemoveAll(name))
		}
		_ = os.Remove(name) // if empty
	}
	return err
}

// temp returns a name in a folder of this attempt. Two workers at the same task have different
// ones.
func (k *task) temp(name string) (string, error) {
	if k.folder == "" {
		folder := fmt.Sprintf("%s.%d-%s", k.task.Name, k.task.Attempt, rand.Text()[:10])
		err := k.within(func(base *os.Root) error {
			if err := base.MkdirAll(k.job.ID, 0o777); err != nil {
				return err
			}
			return base.Mkdir(filepath.Join(k.job.ID, folder), 0o700)
		})
		if err != nil {
			return "", err
		}
		k.folder = folder
	}
	return filepath.Join(k.jobDir(), k.folder, name), nil
}

func (k *task) clean() {
	if k.folder == "" {
		return
	}
	_ = k.within(func(base *os.Root) error {
		_ = base.RemoveAll(filepath.Join(k.job.ID, k.folder))
		return base.Remove(k.job.ID) // if empty
	})
}

// sweep removes leftovers of killed attempts at this task. Another worker may be at it now, so
// they must be a day old.
func (k *task) sweep() {
	_ = k.within(func(base *os.Root) error {
		old, err := fs.Glob(base.FS(), k.job.ID+"/"+k.task.Name+".*-*")
		for _, dir := range old {
			if i, err := base.Lstat(dir); err == nil && time.Since(i.ModTime()) > 24*time.Hour {
				_ = base.RemoveAll(dir)
			}
		}
		return err
	})
}

// source checks that the source exists and is unchanged.
func (k *task) source() error {
	if netfile.Is(k.spec.Item.Source) { // a copy is read, which does not change
		return nil
	}
	now, err := batch.FingerprintOf(k.spec.Item.Source)
	if err == nil && !now.Equal(k.spec.Record.SourceFile) {
		err = batch.ErrSourceChanged
	}
	return err
}

// media runs the main command on the source.
func (k *task) media(ctx context.Context, in, out string, args ...string) (contract.Done, error) {
	device, back := k.device(k.spec.Item.Args)
	defer back()
	program, err := k.program(ctx)
	if err != nil {
		return contract.Done{}, err
	}
	all := slices.Concat([]string{"-i", in, "-o", out, "-y"}, k.spec.Item.Args, device, args)
	return program.Media(ctx, all, k.report)
}

// First returns the first task of a job.
func (s Spec) First(site string) queue.Task {
	kind := contract.TaskPlan
	if s.Segment <= 0 {
		kind = contract.TaskWhole
	}
	return queue.Task{Name: kind, Kind: kind, Site: site}
}

// plan decides into which parts the file is cut.
func (k *task) plan(ctx context.Context) (queue.Outcome, error) {
	if out, ok, err := k.done(); ok || err != nil {
		return out, err
	}
	parts, err := k.parts(ctx)
	if err != nil {
		return queue.Outcome{}, err
	}
	if len(parts) < 2 {
		return queue.Outcome{Next: []queue.Task{{Name: contract.TaskWhole, Kind: contract.TaskWhole, Site: k.job.Site}}}, nil
	}
	kind := contract.TaskPart
	if k.spec.Remote {
		kind = contract.TaskCut
	}
	var next []queue.Task
	for i, p := range parts {
		body, err := json.Marshal(p)
		if err != nil {
			return queue.Outcome{}, err
		}
		next = append(next, queue.Task{Name: numbered(kind, i), Kind: kind, Site: k.job.Site, Body: body})
	}
	b, err := json.Marshal(planResult{len(parts)})
	return queue.Outcome{Result: b, Next: next, Then: &queue.Task{Name: contract.TaskJoin, Kind: contract.TaskJoin, Site: k.job.Site}}, err
}

// numbered returns the name of a cut or a part.
func numbered(kind string, i int) string { return fmt.Sprintf("%s-%04d", kind, i) }

// planResult is the result of a plan with parts.
type planResult struct {
	Parts int `json:"parts"`
}

// whole filters the file in one go.
func (k *task) whole(ctx context.Context) (queue.Outcome, error) {
	k.sweep()
	if out, ok, err := k.done(); ok || err != nil {
		return out, err
	}
	temp, err := k.temp("out" + filepath.Ext(k.spec.Item.Output))
	if err != nil {
		return queue.Outcome{}, err
	}
	done, err := k.media(ctx, k.spec.Item.Source, temp, "--parts=1") // tasks fill the machine
	if err != nil {
		return queue.Outcome{}, err
	}
	_, gone := os.Lstat(k.spec.Item.OutputPath(k.spec.Root))
	if done.Unverified && (gone == nil || k.spec.Item.Store != "") {
		return queue.Outcome{}, fmt.Errorf("%w: %s", errUnverified, done.Error)
	}
	return k.finish(temp, resultOf(done))
}

// errUnverified is the error of an attempt whose output failed its check: it replaces no earlier
// one.
var errUnverified = errors.New("the existing output was not replaced")

func resultOf(d contract.Done) Result {
	return Result{Outcome: d.Outcome(), InSize: d.InSize, Size: d.Size}
}

// finish moves the output to its place and ends the job.
func (k *task) finish(temp string, res Result) (queue.Outcome, error) {
	temp, err := k.lasting(temp)
	if err != nil {
		return queue.Outcome{}, err
	}
	rec := k.spec.Record
	rec.Source, rec.Outcome, rec.Parts, rec.Reason = k.spec.Item.Source, res.Outcome, res.Parts, res.Faults()
	rec.Attempts = max(rec.Attempts, k.task.Attempt)
	if _, err := batch.Finish(k.outputs(), rec, temp, k.spec.Overwrite); err != nil {
		return queue.Outcome{}, err
	}
	k.discard()
	return ended(res)
}

func ended(res Result) (queue.Outcome, error) {
	b, err := json.Marshal(res)
	return queue.Outcome{Result: b, End: true}, err
}

// done completes the work of an attempt that was killed at the very end, and reports whether it
// found one. Otherwise it checks the source.
func (k *task) done() (out queue.Outcome, ok bool, err error) {
	f, err := batch.Check(k.spec.Root, k.spec.Item, batch.Program{Version: k.spec.Record.Version, RemakeOlder: true})
	if err != nil {
		return out, false, err
	}
	if f.Digest != k.spec.Record.Digest || f.Record == nil {
		return out, false, k.source()
	}
	rec := *f.Record
	switch f.Verdict {
	case batch.Interrupted:
		if rec, err = batch.Resume(k.outputs(), rec, k.spec.Overwrite); err != nil {
			return out, false, err
		}
	case batch.Done:
	default:
		return out, false, k.source()
	}
	k.discard()
	out, err = ended(resultOfRecord(rec))
	return out, err == nil, err
}

func resultOfRecord(r batch.Record) Result {
	res := Result{Outcome: r.Outcome, InSize: r.SourceFile.Size, Parts: r.Parts}
	if r.OutputFile != nil {
		res.Size = r.OutputFile.Size
	}
	return res
}

// ErrParts is the error of a file that turns out not to be cuttable.
var ErrParts = errors.New("the file cannot be filtered in parts")

// ErrFull is the error of a task that found the disk full. The job waits.
var ErrFull = errors.New("the disk is full")

// ErrSession is the error of a task for which NVENC opened no further session. The job waits.
var ErrSession = errors.New("NVENC is in use")

// fullDiskDelay is how long a task waits before it tries a full disk again.
const fullDiskDelay = 10 * time.Second

// fullDisk puts a task back that found this machine's disk full. Others that have room come first.
func (k *task) fullDisk(err error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Runner.full = time.Now().Add(2 * fullDiskDelay)
	return queue.Later(fmt.Errorf("%w: %w", ErrFull, err), fullDiskDelay)
}

// noRoom returns ENOSPC if the work folder's disk is full.
func (k *task) noRoom() error {
	free, _, err := durable.Space(k.base)
	if err == nil && free < 1<<20 {
		return syscall.ENOSPC
	}
	return err
}

// judge decides whether to retry after an error.
func (k *task) judge(err error) error {
	var exit *ExitError
	switch {
	case queue.IsPermanent(err), errors.As(err, new(*queue.Postponed)):
		return err
	case errors.Is(err, queue.ErrStoreFull):
		return queue.Later(fmt.Errorf("%w: %w", ErrFull, err), fullDiskDelay)
	case errors.Is(err, queue.ErrQuota), netfile.IsLasting(err):
		return queue.Permanent(err)
	case errors.Is(err, batch.ErrSourceChanged), errors.Is(err, batch.ErrTaken):
		return queue.Permanent(err) // the submitter decides
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return k.fullDisk(err)
	case errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*netfile.Error)):
		return fmt.Errorf("%w (its disk or mount may be away)", err)
	case errors.As(err, new(*StallError)):
		return queue.Died(err)
	case !errors.As(err, &exit):
		return err
	// the program read neither version
	case k.task.Site != "" && errors.Is(k.source(), batch.ErrSourceChanged):
		return queue.Permanent(batch.ErrSourceChanged)
	}
	switch {
	case exit.Starved:
		return queue.Starved(err)
	case exit.Signaled:
		return queue.Died(err)
	}
	switch exit.Code {
	case contract.ExitFailed:
		inParts := k.task.Kind != contract.TaskWhole && k.task.Kind != contract.TaskPlan
		if inParts && k.task.Attempt > 1 {
			return queue.Permanent(fmt.Errorf("%w: %w", ErrParts, err))
		}
	case contract.ExitUsage:
		return queue.Permanent(err)
	case contract.ExitOutput:
		if exit.Cause == contract.CauseNoSpace || errors.Is(k.noRoom(), syscall.ENOSPC) {
			return k.fullDisk(err)
		}
		if k.Program.Gate.Closed() {
			return queue.Later(err, fullDiskDelay)
		}
	case contract.ExitDevice:
		switch exit.Cause {
		case contract.CauseSession:
			return queue.Later(fmt.Errorf("%w: %w", ErrSession, err), 0) // see rest
		case contract.CauseNVENC:
			return queue.Permanent(err)
		}
	case contract.ExitInput:
		if exit.Cause == contract.CauseTooLarge && k.yields && !has(k.spec.Item.Args, "--max-pixels") {
			return err // a machine with more memory may do it
		}
		if _, gone := os.Stat(k.spec.Item.Source); gone == nil || netfile.Is(k.spec.Item.Source) {
			return queue.Permanent(err)
		}
	}
	return err
}
