package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/contract"
)

// Part is the body of a task.
type Part struct {
	contract.Range
	Blob string `json:"blob,omitempty"` // its packets in the store
	Measured
}

// Measured holds measurements of the whole video that all parts share.
type Measured struct {
	Noise       string  `json:"noise,omitempty"`        // a profile
	Crop        *string `json:"crop,omitempty"`         // a box, empty for the whole picture
	ChromaShift *string `json:"chroma_shift,omitempty"` // X,Y, empty for no shift
	Order       string  `json:"field_order,omitempty"`
	Quality     string  `json:"quality,omitempty"` // a tier of the denoiser
}

func (m Measured) options() (args []string) {
	for _, o := range []struct {
		flag  string
		value *string
		given bool
	}{
		{"--noise-profile=", &m.Noise, strings.HasPrefix(m.Noise, "{")}, {"--crop=", m.Crop, m.Crop != nil},
		{"--field-order=", &m.Order, m.Order != ""}, {"--chroma-shift=", m.ChromaShift, m.ChromaShift != nil}, {"--quality=", &m.Quality, m.Quality != ""},
	} {
		if o.given {
			args = append(args, o.flag+*o.value)
		}
	}
	return args
}

func (p Part) option() string { return "--part=" + p.Range.String() }

// PartResult is the result of a part.
type PartResult struct {
	File string `json:"file,omitempty"` // in the job's folder
	Blob string `json:"blob,omitempty"` // or in the store
	contract.Outcome
}

// parts asks the program where the file can be cut for the job's filter. Fewer than two parts mean
// that it cannot be cut.
func (k *task) parts(ctx context.Context) ([]Part, error) {
	device, back := k.device(k.spec.Item.Args)
	defer back()
	args := []string{"segments", "-i", k.spec.Item.Source, "-o", filepath.Base(k.spec.Item.Output), "--length", strconv.FormatFloat(k.spec.Segment, 'f', -1, 64)}
	program, err := k.program(ctx)
	if err != nil {
		return nil, err
	}
	out, err := program.Output(ctx, slices.Concat(args, k.spec.Item.Args, device)...)
	if err != nil {
		return nil, err
	}
	var found struct {
		Parts []Part
		Measured
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("output of segments: %w", err)
	}
	if k.spec.Remote && found.Quality == "fast" {
		found.Quality = "" // a worker with a GPU does better
	}
	for i := range found.Parts {
		found.Parts[i].Measured = found.Measured
	}
	return found.Parts, nil
}

// threads fixes the number of encoder threads, which the result depends on, unless the user has.
func (k *task) threads() []string {
	if k.spec.Threads == 0 || has(k.spec.Item.Args, "--threads") {
		return nil
	}
	return []string{"--threads", strconv.Itoa(k.spec.Threads)}
}

func (k *task) part(ctx context.Context) (queue.Outcome, error) {
	p, err := k.body()
	if err != nil {
		return queue.Outcome{}, err
	}
	in, err := k.input(ctx, p)
	if err != nil {
		return queue.Outcome{}, err
	}
	temp, err := k.temp("part.mp4")
	if err != nil {
		return queue.Outcome{}, err
	}
	// A part is MP4; the file may become another.
	args := append([]string{p.option(), "--format=mp4"}, k.threads()...)
	done, err := k.media(ctx, in, temp, append(args, p.Measured.options()...)...)
	if err != nil {
		return queue.Outcome{}, err
	}
	if done.ExitCode == contract.ExitDamaged {
		if err := k.source(); p.Blob == "" && err != nil {
			return queue.Outcome{}, err
		}
		// the join would not know of the damage
		return queue.Outcome{}, queue.Permanent(fmt.Errorf("%w: %s", ErrParts, done.Error))
	}
	res := PartResult{Outcome: done.Outcome()}
	if p.Blob != "" {
		res.Blob = strings.Replace(k.folder, "part-", k.job.ID+"/out/", 1)
		err = k.send(ctx, res.Blob, temp)
	} else {
		res.File = k.folder + ".mp4"
		err = k.within(func(base *os.Root) error {
			return base.Rename(filepath.Join(k.job.ID, k.folder, filepath.Base(temp)), filepath.Join(k.job.ID, res.File))
		})
	}
	if err != nil {
		return queue.Outcome{}, err
	}
	b, err := json.Marshal(res)
	return queue.Outcome{Result: b}, err
}

// send puts a finished part in the store. It removes the part again if the job is over, or if
// another worker has done the task and may have ended the job. The end of the job removes the
// other parts.
func (k *task) send(ctx context.Context, blob, file string) error {
	err := k.put(ctx, blob, file)
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, queue.ErrOvertaken), errors.Is(cause, queue.ErrCancelled):
		err = cause
	case err == nil && k.overtaken(lasting):
		err = queue.ErrOvertaken
	}
	if err != nil {
		k.takeBack(lasting, blob)
	}
	return err
}

// takeBack removes a part from the store. If storing it was interrupted, the part may still
// appear a moment later.
func (k *task) takeBack(ctx context.Context, blob string) {
	for _, pause := range []time.Duration{0, 200 * time.Millisecond, time.Second} {
		time.Sleep(pause)
		_ = k.Blobs.Delete(ctx, blob) // the next Sweep removes leftovers
	}
}

// input returns a file with the part: the source, or the packets from the store.
func (k *task) input(ctx context.Context, p Part) (string, error) {
	if p.Blob == "" {
		return k.spec.Item.Source, k.source()
	}
	name, err := k.temp("in.mov")
	if err != nil {
		return "", err
	}
	return name, k.get(ctx, p.Blob, name)
}

// maxPending is how many parts may wait in the store for a worker.
const maxPending = 16

// cut sends a part's packets to the store, and queues the part.
func (k *task) cut(ctx context.Context) (queue.Outcome, error) {
	switch n, err := k.waiting(ctx); {
	case err != nil:
		return queue.Outcome{}, err
	case n >= maxPending:
		return queue.Outcome{}, queue.Later(errors.New("enough parts are waiting"), 2*time.Second)
	}
	p, err := k.body()
	if err != nil {
		return queue.Outcome{}, err
	}
	if err := k.source(); err != nil {
		return queue.Outcome{}, err
	}
	temp, err := k.temp("in.mov")
	if err != nil {
		return queue.Outcome{}, err
	}
	args := slices.Concat([]string{"cut", "-i", k.spec.Item.Source, "-o", temp, p.option()}, k.spec.Item.Args)
	program, err := k.program(ctx)
	if err != nil {
		return queue.Outcome{}, err
	}
	if _, err := program.Output(ctx, args...); err != nil {
		return queue.Outcome{}, err
	}
	p.Blob = k.packets()
	if err := k.put(ctx, p.Blob, temp); err != nil {
		return queue.Outcome{}, err
	}
	b, err := json.Marshal(p)
	return queue.Outcome{Next: []queue.Task{{Name: partName(p.Blob), Kind: contract.TaskPart, Site: partSiteOf(k.spec.Protocol), Body: b}}}, err
}

// partName names the part that needs the packets in a blob.
func partName(blob string) string { return contract.TaskPart + "-" + path.Base(blob) }

// waiting counts the parts in the store that are not filtered yet, and removes the others.
func (k *task) waiting(ctx context.Context) (n int, err error) {
	names, err := k.Blobs.List(ctx, k.job.ID+"/in/")
	if err != nil {
		return 0, err
	}
	results, err := k.Results(ctx, k.job.ID)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if _, done := results[partName(name)]; !done {
			n++
			continue
		}
		if err := k.Blobs.Delete(ctx, name); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (k *task) put(ctx context.Context, name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return k.Blobs.Put(ctx, name, f)
}

// get fetches a file from the store. A missing file is a missing part.
func (k *task) get(ctx context.Context, name, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	err = k.Blobs.Get(ctx, name, f)
	switch {
	case errors.Is(err, queue.ErrNoBlob):
		return queue.Permanent(fmt.Errorf("%w: %w", ErrGone, err))
	case err != nil:
		return err
	}
	return f.Close()
}

// join makes the output from the parts.
func (k *task) join(ctx context.Context) (queue.Outcome, error) {
	if out, ok, err := k.done(); ok || err != nil {
		return out, err
	}
	parts, err := k.finished(ctx)
	if err != nil {
		return queue.Outcome{}, err
	}
	list, err := k.temp("parts.txt")
	if err != nil {
		return queue.Outcome{}, err
	}
	var files []string
	var all contract.Outcome
	for _, p := range parts {
		file, err := k.fetch(ctx, p)
		if err != nil {
			return queue.Outcome{}, err
		}
		// the list has one name per line, and folder names may have line breaks
		if file, err = filepath.Rel(filepath.Dir(list), file); err != nil {
			return queue.Outcome{}, err
		}
		files = append(files, file)
		all.Seconds += p.Seconds
		all.Noise = all.Noise.With(all.Frames, p.Noise, p.Frames)
		all.Repaired = all.Repaired.With(p.Repaired)
		all.Quality = cmp.Or(all.Quality, p.Quality)
		all.Frames += p.Frames
	}
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")+"\n"), 0o666); err != nil {
		return queue.Outcome{}, err
	}
	temp := filepath.Join(filepath.Dir(list), "out"+filepath.Ext(k.spec.Item.Output))
	done, err := k.media(ctx, k.spec.Item.Source, temp, append([]string{"--join", list}, k.threads()...)...)
	if err != nil {
		return queue.Outcome{}, err
	}
	res := resultOf(done)
	res.Parts, res.Noise, res.Repaired, res.Quality = len(files), all.Noise, all.Repaired, all.Quality
	res.Outcome = res.In(res.Seconds + all.Seconds)
	out, err := k.finish(temp, res)
	if err == nil && k.spec.Remote && k.Blobs != nil {
		_ = removeFiles(ctx, k.Blobs, k.job.ID) // after a kill, the next join does it
	}
	return out, err
}

// finished returns the results of the parts in order. Parts that must be cut first may not be
// done when the join starts.
func (k *task) finished(ctx context.Context) ([]PartResult, error) {
	results, err := k.Results(ctx, k.job.ID)
	if err != nil {
		return nil, err
	}
	var plan planResult
	if err := json.Unmarshal(results[contract.TaskPlan], &plan); err != nil {
		return nil, queue.Permanent(fmt.Errorf("result of the task plan: %w", err))
	}
	if plan.Parts < 2 || plan.Parts > maxParts {
		return nil, queue.Permanent(fmt.Errorf("the task plan named %d parts", plan.Parts))
	}
	parts := make([]PartResult, plan.Parts)
	for i := range parts {
		b, ok := results[numbered(contract.TaskPart, i)]
		if !ok {
			return nil, queue.Later(fmt.Errorf("part %d of %d is not done", i+1, plan.Parts), time.Second)
		}
		err := json.Unmarshal(b, &parts[i])
		if err == nil {
			err = parts[i].check(k.job.ID)
		}
		if err != nil {
			return nil, queue.Permanent(fmt.Errorf("result of part %d: %w", i, err))
		}
	}
	return parts, nil
}

// ErrGone is the error of a part that is missing although it was made or cut.
var ErrGone = errors.New("a part is gone")

// fetch returns the name of a part's file.
func (k *task) fetch(ctx context.Context, p PartResult) (string, error) {
	if p.Blob == "" {
		err := k.within(func(base *os.Root) error {
			_, err := base.Stat(filepath.Join(k.job.ID, p.File))
			return err
		})
		if err != nil {
			return "", queue.Permanent(fmt.Errorf("%w: %w", ErrGone, err))
		}
		return filepath.Join(k.jobDir(), p.File), nil
	}
	name, err := k.temp(filepath.Base(p.Blob) + ".mp4")
	if err != nil {
		return "", err
	}
	return name, k.get(ctx, p.Blob, name)
}
