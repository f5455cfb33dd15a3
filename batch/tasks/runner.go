// Package tasks does the tasks of a batch: it decides how a file is filtered, runs the program for it, and puts the result in its place.
//
// A file that is not to be cut is one task, "whole". Else the first is "plan", which finds out where it can be cut. Its parts are tasks of
// their own ("part-0000"), for any worker that reaches the file, and "join" puts them together. For workers that do not, a task
// "cut-0000" before each part sends the packets that it needs through the queue's store, where the part comes back.
package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"vidfilter/batch"
	"vidfilter/queue"
)

// Spec is what the tasks of a job need to know: the queue.Job's Spec.
type Spec struct {
	Item      batch.Item   `json:"item"`
	Root      string       `json:"root"`             // of the outputs
	Record    batch.Record `json:"record"`           // as it was when the job was put in the queue
	Segment   float64      `json:"segment"`          // seconds that a part lasts at least; 0 for no parts
	Remote    bool         `json:"remote,omitempty"` // parts go to workers that do not reach the source
	Shared    string       `json:"shared,omitempty"` // the folder that all workers see, as who put the job in the queue has it
	Overwrite bool         `json:"overwrite,omitempty"`
	Threads   int          `json:"threads,omitempty"` // of a part: what x264 makes depends on them
}

// Result of a job that is done.
type Result struct {
	Frames   int64            `json:"frames"`
	Seconds  float64          `json:"seconds"` // of work, on all workers
	InSize   int64            `json:"in_size"`
	Size     int64            `json:"size"`
	Parts    int              `json:"parts,omitempty"`
	Damaged  bool             `json:"damaged,omitempty"` // it holds what could be read
	Damage   map[string]int64 `json:"damage,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
}

// rate is frames a second of work.
func (r Result) rate() float64 {
	if r.Seconds <= 0 {
		return 0
	}
	return float64(r.Frames) / r.Seconds
}

// SiteOf is the site of a job whose files are at a place: those that reach them and are of the version that the job is to be done with.
func SiteOf(place, version string) string { return place + "-" + version }

// partSite begins the site of parts that go through the store. Versions differ in what they make, so one does not touch another's.
const partSite = "parts of vidfilter "

// PartSite is the site of those who take parts of a version.
func PartSite(version string) string { return partSite + version }

// PartVersion returns the version whose parts a worker takes, "" if it takes none.
func PartVersion(w queue.Worker) string {
	for _, s := range w.Sites {
		if v, ok := strings.CutPrefix(s, partSite); ok {
			return v
		}
	}
	return ""
}

// VersionOf returns the version that a job is to be done with, "" if it is none of ours.
func VersionOf(j queue.Job) string {
	var s Spec
	if json.Unmarshal(j.Spec, &s) != nil {
		return ""
	}
	return s.Record.Version
}

// Runner does tasks: Handle is a queue.Handler. It may be used by several slots at once.
type Runner struct {
	Program Program
	Sites   []string // whose files are within reach: what is not finished of their jobs lies beside the outputs
	Work    string   // folder for what is not finished of other jobs; "" where there are none
	Blobs   queue.Blobs
	Results func(ctx context.Context, job string) (map[string]json.RawMessage, error)
	Devices []string // what tasks that leave it open are spread over, as "cuda:1"
	Shared  string   // the folder that all workers see, absolute; "" for none

	mu   sync.Mutex
	busy map[string]int // tasks by device
}

// Handle does a task.
func (r *Runner) Handle(ctx context.Context, j queue.Job, t queue.Task, report func(queue.Progress)) (queue.Outcome, error) {
	var s Spec
	if err := json.Unmarshal(j.Spec, &s); err != nil {
		return queue.Outcome{}, queue.Permanent(fmt.Errorf("the job's description: %w", err))
	}
	s.Root, s.Item.Source = r.reach(s, s.Root), r.reach(s, s.Item.Source)
	k := &task{Runner: r, job: j, task: t, spec: s, report: report}
	defer k.clean()
	kind, _, _ := strings.Cut(t.Name, "-")
	do := map[string]func(context.Context) (queue.Outcome, error){
		"plan": k.plan, "whole": k.whole, "part": k.part, "cut": k.cut, "join": k.join,
	}[kind]
	if do == nil {
		return queue.Outcome{}, queue.Permanent(fmt.Errorf("a task %q, which this version does not know", t.Name))
	}
	err := k.wait(ctx)
	var out queue.Outcome
	if err == nil {
		out, err = do(ctx)
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return queue.Outcome{}, cause
		}
		if k.overtaken(ctx) { // which takes the ground from under us
			return queue.Outcome{}, queue.ErrTwin
		}
		return queue.Outcome{}, k.judge(err)
	}
	return out, nil
}

// overtaken says whether another worker has done the task. Who was frozen for a while cannot know, and may have to connect again first.
func (k *task) overtaken(ctx context.Context) bool {
	if k.Results == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for {
		results, err := k.Results(ctx, k.job.ID)
		if err == nil {
			_, done := results[k.task.Name]
			return done
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return false
		}
	}
}

// reach returns a path in the shared folder as this machine has it.
func (r *Runner) reach(s Spec, path string) string {
	if s.Shared == "" || r.Shared == "" {
		return path
	}
	rel, err := filepath.Rel(s.Shared, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.Join(r.Shared, rel)
}

// device lends the least busy device; the function that it returns gives it back.
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

// has says whether an option was given, in either form.
func has(args []string, option string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == option || strings.HasPrefix(a, option+"=") })
}

// task is one attempt at a task.
type task struct {
	*Runner
	job    queue.Job
	task   queue.Task
	spec   Spec
	report func(queue.Progress)
	folder string // of this attempt alone, made by temp
}

// shared is where the parts of the job are kept until they are joined.
func (k *task) shared() string {
	if k.Work != "" && !slices.Contains(k.Sites, k.job.Site) {
		return filepath.Join(k.Work, k.job.ID)
	}
	return filepath.Join(workOf(k.spec.Root), k.job.ID)
}

// workOf is the folder for what is not finished.
func workOf(root string) string { return filepath.Join(root, batch.StateDir, "work") }

// Tidy removes what killed attempts have left beside the outputs; finished parts stay. Nobody may be at work there. Of jobs that no
// Session with this root and site can go on with, as after the folder was moved, nothing stays.
func Tidy(root, site string) error {
	left, err := filepath.Glob(filepath.Join(literal(workOf(root)), "*", "*.[0-9]*-*"))
	for _, name := range left {
		if i, e := os.Lstat(name); e == nil && i.IsDir() {
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	jobs, _ := os.ReadDir(workOf(root))
	for _, j := range jobs {
		name := filepath.Join(workOf(root), j.Name())
		if !strings.HasSuffix(j.Name(), idEnding(site, root)) {
			err = errors.Join(err, os.RemoveAll(name))
		}
		_ = os.Remove(name) // where nothing is left
	}
	return err
}

// literal is a pattern that only the name itself matches.
func literal(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// temp returns a name in a folder that goes with the attempt. Two workers that do the same task have two.
func (k *task) temp(name string) (string, error) {
	if k.folder == "" {
		if err := os.MkdirAll(k.shared(), 0o777); err != nil {
			return "", err
		}
		dir, err := os.MkdirTemp(k.shared(), fmt.Sprintf("%s.%d-", k.task.Name, k.task.Attempt))
		if err != nil {
			return "", err
		}
		k.folder = dir
	}
	return filepath.Join(k.folder, name), nil
}

func (k *task) clean() {
	if k.folder != "" {
		_ = os.RemoveAll(k.folder)
		_ = os.Remove(k.shared()) // where nothing is left
	}
}

// sweep removes what killed attempts of this task have left. Another worker may be at the same task, so only what is a day old counts as left.
func (k *task) sweep() {
	old, _ := filepath.Glob(filepath.Join(literal(k.shared()), k.task.Name+".*-*"))
	for _, dir := range old {
		if i, err := os.Stat(dir); err == nil && time.Since(i.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
}

// source checks that the source is there and unchanged.
func (k *task) source() error {
	now, err := batch.FingerprintOf(k.spec.Item.Source)
	if err == nil && !now.Equal(k.spec.Record.SourceFile) {
		err = batch.ErrSourceChanged
	}
	return err
}

// media runs the main command on the source.
func (k *task) media(ctx context.Context, in, out string, args ...string) (Done, error) {
	device, back := k.device(k.spec.Item.Args)
	defer back()
	all := slices.Concat([]string{"-i", in, "-o", out, "-y"}, k.spec.Item.Args, device, args)
	return k.Program.Media(ctx, all, k.report)
}

// First is the task that a job begins with.
func (s Spec) First(site string) queue.Task {
	if s.Segment <= 0 || slices.ContainsFunc(uncut, func(o string) bool { return has(s.Item.Args, o) }) || otherEncoder(s.Item.Args) {
		return queue.Task{Name: "whole", Site: site}
	}
	return queue.Task{Name: "plan", Site: site}
}

// plan says in which parts the file is filtered.
func (k *task) plan(ctx context.Context) (queue.Outcome, error) {
	if out, ok, err := k.done(); ok || err != nil {
		return out, err
	}
	if err := k.source(); err != nil {
		return queue.Outcome{}, err
	}
	parts, err := k.parts(ctx)
	if err != nil {
		return queue.Outcome{}, err
	}
	if len(parts) < 2 {
		return queue.Outcome{Next: []queue.Task{{Name: "whole", Site: k.job.Site}}}, nil
	}
	var next []queue.Task
	for i, p := range parts {
		body, err := json.Marshal(p)
		if err != nil {
			return queue.Outcome{}, err
		}
		t := queue.Task{Name: fmt.Sprintf("part-%04d", i), Site: k.job.Site, Body: body}
		if k.spec.Remote {
			t.Name = fmt.Sprintf("cut-%04d", i)
		}
		next = append(next, t)
	}
	b, err := json.Marshal(planResult{len(parts)})
	return queue.Outcome{Result: b, Next: next, Then: &queue.Task{Name: "join", Site: k.job.Site}}, err
}

// planResult is what the task "plan" leaves of a file that is filtered in parts.
type planResult struct {
	Parts int `json:"parts"`
}

// whole filters the file in one go.
func (k *task) whole(ctx context.Context) (queue.Outcome, error) {
	k.sweep()
	if out, ok, err := k.done(); ok || err != nil {
		return out, err
	}
	if err := k.source(); err != nil {
		return queue.Outcome{}, err
	}
	temp, err := k.temp("out" + filepath.Ext(k.spec.Item.Output))
	if err != nil {
		return queue.Outcome{}, err
	}
	done, err := k.media(ctx, k.spec.Item.Source, temp)
	if err != nil {
		return queue.Outcome{}, err
	}
	return k.finish(temp, resultOf(done))
}

func resultOf(d Done) Result {
	return Result{
		Frames: d.Frames, Seconds: d.Elapsed, InSize: d.InSize, Size: d.Size,
		Damaged: d.ExitCode == exitDamaged, Damage: d.Damage, Warnings: d.Warnings,
	}
}

// finish puts the output in its place and ends the job.
func (k *task) finish(temp string, res Result) (queue.Outcome, error) {
	rec := k.spec.Record
	rec.Source = k.spec.Item.Source
	rec.Frames, rec.Parts, rec.PartsDone = res.Frames, res.Parts, res.Parts
	rec.Attempts = max(rec.Attempts, k.task.Attempt)
	if res.Damaged {
		rec.Reason = damagedReason
	}
	rec.FPS = res.rate()
	if _, err := batch.Finish(k.spec.Root, rec, temp, k.spec.Overwrite); err != nil {
		return queue.Outcome{}, err
	}
	_ = os.RemoveAll(k.shared())
	return ended(res)
}

const damagedReason = "the source is damaged; what could be read is there"

func ended(res Result) (queue.Outcome, error) {
	b, err := json.Marshal(res)
	return queue.Outcome{Result: b, End: true}, err
}

// done says whether an attempt that was killed at the very end has done all there is to do, and does what it left.
func (k *task) done() (out queue.Outcome, ok bool, err error) {
	f, err := batch.Check(k.spec.Root, k.spec.Item, k.spec.Record.Version)
	if err != nil || f.Digest != k.spec.Record.Digest || f.Record == nil {
		return out, false, err
	}
	rec := *f.Record
	switch f.Verdict {
	case batch.Interrupted:
		if rec, err = batch.Resume(k.spec.Root, rec, k.spec.Overwrite); err != nil {
			return out, false, err
		}
	case batch.Done:
	default:
		return out, false, nil
	}
	_ = os.RemoveAll(k.shared())
	out, err = ended(resultOfRecord(rec))
	return out, err == nil, err
}

func resultOfRecord(r batch.Record) Result {
	res := Result{Frames: r.Frames, InSize: r.SourceFile.Size, Parts: r.Parts, Damaged: r.Reason == damagedReason}
	if r.OutputFile != nil {
		res.Size = r.OutputFile.Size
	}
	if r.FPS > 0 {
		res.Seconds = float64(r.Frames) / r.FPS
	}
	return res
}

// ErrParts is the error of a file that can only be filtered whole, though it seemed that it could be cut.
var ErrParts = errors.New("the file cannot be filtered in parts")

// inParts says whether the task is a step of a file that is filtered in parts.
func (k *task) inParts() bool { return k.task.Name != "whole" && k.task.Name != "plan" }

// full returns ENOSPC where the disk of the outputs has no room left.
func (k *task) full() error {
	free, _, err := batch.Space(k.spec.Root)
	if err == nil && free < 1<<20 {
		return syscall.ENOSPC
	}
	return err
}

// judge decides whether another attempt may do better.
func (k *task) judge(err error) error {
	var exit *ExitError
	switch {
	case queue.IsPermanent(err), errors.As(err, new(*queue.Postponed)):
		return err
	case errors.Is(err, batch.ErrSourceChanged), errors.Is(err, batch.ErrTaken):
		return queue.Permanent(err) // whoever put the job in the queue knows what to do
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (is its disk or mount away?)", err)
	case !errors.As(err, &exit):
		return err
	case k.task.Site != "" && errors.Is(k.source(), batch.ErrSourceChanged): // what the program says is of neither
		return queue.Permanent(batch.ErrSourceChanged)
	}
	switch exit.Code {
	case exitFailed:
		if k.inParts() && k.task.Attempt > 1 {
			return queue.Permanent(fmt.Errorf("%w: %w", ErrParts, err))
		}
	case exitUsage:
		return queue.Permanent(err)
	case exitOutput:
		if k.Program.Gate.Closed() || errors.Is(k.full(), syscall.ENOSPC) {
			return queue.Later(err, 10*time.Second)
		}
	case exitInput:
		if _, gone := os.Stat(k.spec.Item.Source); gone == nil {
			return queue.Permanent(err)
		}
	}
	return err
}
