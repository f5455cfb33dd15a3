package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
)

// Anyone with the queue's credentials can put any job there, so the queue does not decide which
// files a machine touches. A batch does the jobs that it submitted, as it submitted them. A
// worker with a shared folder does jobs whose files all lie in that folder. Any other worker does
// parts that come through the store, in a folder of their own.

// taskName matches the kind and, for cuts and parts, the number.
var taskName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(plan|whole|join|cut-[0-9]{4,7}|part-[0-9]{4,7})$`) })

// ErrUnknownTask is the error of a task submitted by another version.
var ErrUnknownTask = errors.New("another version of vidfilter has submitted this task")

// admit returns an attempt at a task that this machine may do.
func (r *Runner) admit(j queue.Job, t queue.Task) (*task, error) {
	if kind, _, _ := strings.Cut(t.Name, "-"); !taskName().MatchString(t.Name) || t.Kind != kind {
		return nil, queue.Permanent(fmt.Errorf("%w: %q of kind %q", ErrUnknownTask, t.Name, t.Kind))
	}
	k := &task{Runner: r, job: j, task: t, yields: t.Site == partSiteOf(queue.Protocol)}
	own, planned := queue.Job{}, false
	if r.Own != nil {
		own, planned = r.Own(j.ID)
	}
	var err error
	switch {
	case planned && own.ID == "":
		return nil, queue.Later(errors.New("submitted by an earlier run; this run is about to submit it again"), time.Second)
	case planned:
		k.job = own
		if err := json.Unmarshal(own.Spec, &k.spec); err != nil {
			return nil, queue.Permanent(err)
		}
		k.base = workOf(k.spec.Root)
		if k.Within != "" {
			k.inShared = k.Within
			return k, k.inside()
		}
	default:
		err = k.foreign()
	}
	return k, err
}

// foreign admits a job of another machine.
func (k *task) foreign() error {
	k.yields = true
	refuse := func(err error) error { return queue.Permanent(fmt.Errorf("refused by this machine: %w", err)) }
	if err := json.Unmarshal(k.job.Spec, &k.spec); err != nil {
		return refuse(fmt.Errorf("the job's description: %w", err))
	}
	if err := k.Runner.check(k.spec); err != nil {
		return refuse(err)
	}
	switch {
	case k.Shared != "" && slices.Contains(k.Sites, k.job.Site):
		k.spec.Root, k.spec.Item.Source = k.localPath(k.spec, k.spec.Root), k.localPath(k.spec, k.spec.Item.Source)
		k.base, k.inShared = workOf(k.spec.Root), k.Shared
		return k.inside()
	case k.Work != "" && k.spec.Remote && k.task.Kind == contract.TaskPart:
		k.spec.Root, k.spec.Item.Source = "", "" // on another machine
		k.base = k.Work
		return nil
	case k.Shared != "":
		return refuse(errors.New("its files are not in the folder shared with this machine"))
	}
	return refuse(errors.New("it has not submitted the job, and shares no folder"))
}

// maxThreads is the largest value of --threads.
const maxThreads = 1024

// check refuses specs that Session.submit does not write.
func (r *Runner) check(s Spec) error {
	rec, item := s.Record, s.Item
	switch {
	case s.Protocol < queue.OldestProtocol || s.Protocol > queue.Protocol:
		return fmt.Errorf("it is of vidfilter %q and protocol %d; this is %s, which knows %d to %d",
			rec.Version, s.Protocol, r.Version, queue.OldestProtocol, queue.Protocol)
	case !item.Local() || rec.Output != item.Output || rec.Source != item.Source || rec.Temp != "" || rec.State != batch.RecordRunning:
		return fmt.Errorf("its output %q, source %q and record do not fit together", item.Output, item.Source)
	case s.Segment < 0 || math.IsNaN(s.Segment) || math.IsInf(s.Segment, 0) || s.Threads < 0 || s.Threads > maxThreads:
		return fmt.Errorf("parts of %g s and %d threads", s.Segment, s.Threads)
	case r.Options == nil:
		return errors.New("it takes no options")
	}
	all, deciding, err := r.Options(item.Output, item.Args)
	if err == nil && (!slices.Equal(all, item.Args) || !slices.Equal(deciding, item.Deciding)) {
		err = fmt.Errorf("its options %q are not as a batch writes them", item.Args)
	}
	return err
}

// inside refuses a job with a file outside the folder that it must not leave, also behind a link
// that leads out of it.
func (k *task) inside() error {
	shared, err := os.OpenRoot(k.inShared)
	if err != nil {
		return err
	}
	defer shared.Close()
	for _, name := range []string{k.spec.Item.Source, k.spec.Item.OutputPath(k.spec.Root), filepath.Join(k.base, k.job.ID, "x")} {
		rel, err := filepath.Rel(k.inShared, name)
		if err != nil || !filepath.IsLocal(rel) {
			return queue.Permanent(fmt.Errorf("refused by this machine: %q is not below its folder %q", name, k.inShared))
		}
		stat := shared.Lstat
		if name == k.spec.Item.Source {
			stat = shared.Stat
		}
		// a mount may be away
		if _, err := stat(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%q in the folder %q: %w", rel, k.inShared, err)
		}
	}
	return nil
}

// body reads the range of a cut or a part.
func (k *task) body() (p Part, err error) {
	err = json.Unmarshal(k.task.Body, &p)
	switch {
	case err != nil:
	case p.Frames < 0 || p.End < p.Start:
		err = fmt.Errorf("a part from %d to %d of %d frames", p.Start, p.End, p.Frames)
	case !p.Read().Covers(p.Span):
		err = fmt.Errorf("a part %v with %v around it", p.Span, p.Around)
	case p.Blob == "" && k.spec.Item.Source == "":
		err = errors.New("its packets are not in the store, and its source is on another machine")
	case p.Blob != "" && p.Blob != k.packets():
		err = fmt.Errorf("the packets %q of another task", p.Blob)
	}
	if err != nil {
		err = queue.Permanent(fmt.Errorf("refused: %w", err))
	}
	return p, err
}

// packets returns the name of a part's packets in the store.
func (k *task) packets() string {
	return k.job.ID + "/in/" + strings.TrimPrefix(k.task.Name, k.task.Kind+"-")
}

const (
	maxParts = 10_000_000 // limited by the digits of a task's name

	attemptName = `[0-9]{4,7}\.[0-9]+-[0-9A-Za-z]+`
)

var (
	partFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^part-` + attemptName + `\.mp4$`) })
	partBlob = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + attemptName + `$`) })
)

// check refuses results that a part cannot have.
func (p PartResult) check(job string) error {
	blob, ours := strings.CutPrefix(p.Blob, job+"/out/")
	switch {
	case p.File != "" && p.Blob == "" && partFile().MatchString(p.File):
	case p.File == "" && ours && partBlob().MatchString(blob):
	default:
		return fmt.Errorf("a part in the file %q or in the store as %q", p.File, p.Blob)
	}
	if p.Frames < 0 || p.Seconds < 0 || math.IsNaN(p.Seconds) || math.IsInf(p.Seconds, 0) {
		return fmt.Errorf("a part of %d frames in %g s", p.Frames, p.Seconds)
	}
	if r := p.Repaired; r != nil && (min(r.Frames, r.Patches) < 0 || r.Frames > p.Frames) {
		return fmt.Errorf("a part of %d frames with %d patches in %d", p.Frames, r.Patches, r.Frames)
	}
	if n := p.Noise; n != nil && (min(n.Luma, n.Chroma, n.Least) < 0 || max(n.Luma, n.Chroma, n.Most) > 255) {
		return fmt.Errorf("a part with noise of %g and %g", n.Luma, n.Chroma)
	}
	return nil
}
