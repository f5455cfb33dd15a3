package tasks

import (
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

	"vidfilter/queue"
)

// Part is a range of time stamps, in the unit of the video's stream: the body of a task.
type Part struct {
	Start  int64  `json:"start"`
	End    int64  `json:"end"` // the first that is not in it
	Frames int64  `json:"frames"`
	Blob   string `json:"blob,omitempty"` // its packets in the store
}

// option is how the main command is told.
func (p Part) option() string { return fmt.Sprintf("--part=%d:%d:%d", p.Start, p.End, p.Frames) }

// PartResult is what a finished part leaves.
type PartResult struct {
	File    string  `json:"file,omitempty"` // in the folder of the job
	Blob    string  `json:"blob,omitempty"` // or in the store
	Seconds float64 `json:"seconds"`
	Frames  int64   `json:"frames"`
}

// uncut are options by which a file is not cut into parts: they want a stretch of it, or both videos at once.
var uncut = []string{"--start", "--duration", "--frames", "--stats", "--compare"}

// otherEncoder says whether the encoder is not the one whose parts can be joined.
func otherEncoder(args []string) bool {
	return has(args, "--encoder") && !slices.Contains(args, "--encoder=libx264")
}

// parts asks the program where the file can be cut. None or one means: not at all.
func (k *task) parts(ctx context.Context) ([]Part, error) {
	args := []string{"segments", "-i", k.spec.Item.Source, "--length", strconv.FormatFloat(k.spec.Segment, 'f', -1, 64)}
	out, err := k.Program.Output(ctx, append(args, choice(k.spec.Item.Args)...)...)
	if err != nil {
		return nil, err
	}
	var found struct{ Parts []Part }
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("what segments printed: %w", err)
	}
	return found.Parts, nil
}

// choice is what decides which stream is the video.
func choice(args []string) (some []string) {
	for i, a := range args {
		name, _, joined := strings.Cut(a, "=")
		if name != "--map" && name != "--input-format" && name != "--max-pixels" {
			continue
		}
		some = append(some, a)
		if !joined && i+1 < len(args) {
			some = append(some, args[i+1])
		}
	}
	return some
}

// threads fixes what an encoder's result depends on, where the person has not.
func (k *task) threads() []string {
	if k.spec.Threads == 0 || has(k.spec.Item.Args, "--threads") {
		return nil
	}
	return []string{"--threads", strconv.Itoa(k.spec.Threads)}
}

// part filters one part of the file.
func (k *task) part(ctx context.Context) (queue.Outcome, error) {
	var p Part
	if err := json.Unmarshal(k.task.Body, &p); err != nil {
		return queue.Outcome{}, queue.Permanent(err)
	}
	in, err := k.input(ctx, p)
	if err != nil {
		return queue.Outcome{}, err
	}
	temp, err := k.temp("part.mp4")
	if err != nil {
		return queue.Outcome{}, err
	}
	done, err := k.media(ctx, in, temp, append([]string{p.option()}, k.threads()...)...)
	if err != nil {
		return queue.Outcome{}, err
	}
	if done.ExitCode == exitDamaged {
		if err := k.source(); p.Blob == "" && err != nil {
			return queue.Outcome{}, err
		}
		return queue.Outcome{}, queue.Permanent(fmt.Errorf("%w: %s", ErrParts, done.Error)) // the join could not tell of the damage
	}
	res := PartResult{Seconds: done.Elapsed, Frames: done.Frames}
	if p.Blob != "" {
		res.Blob = strings.Replace(filepath.ToSlash(k.folder[len(k.shared())+1:]), "part-", k.job.ID+"/out/", 1)
		err = k.send(ctx, res.Blob, temp)
	} else {
		res.File = filepath.Base(k.folder) + ".mp4"
		err = os.Rename(temp, filepath.Join(k.shared(), res.File))
	}
	if err != nil {
		return queue.Outcome{}, err
	}
	b, err := json.Marshal(res)
	return queue.Outcome{Result: b}, err
}

// send puts a finished part in the store. It is taken back where nobody would fetch it: when the job is over, or may be, since another worker
// has done the task. What is in the store of a job that is not over goes when it is.
func (k *task) send(ctx context.Context, blob, file string) error {
	err := k.put(ctx, blob, file)
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, queue.ErrTwin), errors.Is(cause, queue.ErrCancelled):
		err = cause
	case err == nil && k.overtaken(lasting):
		err = queue.ErrTwin
	}
	if err != nil {
		k.takeBack(lasting, blob)
	}
	return err
}

// takeBack removes what was put in the store, or was about to be when that was given up: then it may appear there a moment later.
func (k *task) takeBack(ctx context.Context, blob string) {
	for _, pause := range []time.Duration{0, 200 * time.Millisecond, time.Second} {
		time.Sleep(pause)
		_ = k.Blobs.Delete(ctx, blob) // what remains goes with the next Sweep
	}
}

// input returns the file that has the part: the source, or what was sent of it.
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

// ahead is how many parts may wait in the store for a worker: it holds a part of the source only.
const ahead = 16

// cut sends what a part needs to the store, and puts the part in the queue.
func (k *task) cut(ctx context.Context) (queue.Outcome, error) {
	switch n, err := k.waiting(ctx); {
	case err != nil:
		return queue.Outcome{}, err
	case n >= ahead:
		return queue.Outcome{}, queue.Later(errors.New("enough parts are on their way"), 2*time.Second)
	}
	var p Part
	if err := json.Unmarshal(k.task.Body, &p); err != nil {
		return queue.Outcome{}, queue.Permanent(err)
	}
	if err := k.source(); err != nil {
		return queue.Outcome{}, err
	}
	temp, err := k.temp("in.mov")
	if err != nil {
		return queue.Outcome{}, err
	}
	args := slices.Concat([]string{"cut", "-i", k.spec.Item.Source, "-o", temp, p.option()}, choice(k.spec.Item.Args))
	if _, err := k.Program.Output(ctx, args...); err != nil {
		return queue.Outcome{}, err
	}
	number := strings.TrimPrefix(k.task.Name, "cut-")
	p.Blob = k.job.ID + "/in/" + number
	if err := k.put(ctx, p.Blob, temp); err != nil {
		return queue.Outcome{}, err
	}
	b, err := json.Marshal(p)
	return queue.Outcome{Next: []queue.Task{{Name: "part-" + number, Site: PartSite(k.spec.Record.Version), Body: b}}}, err
}

// waiting counts the parts in the store that nobody has filtered yet, and removes the others.
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
		if _, done := results["part-"+path.Base(name)]; !done {
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

// get brings a file from the store. One that is not there is a part that is gone.
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

// join makes the output of its parts.
func (k *task) join(ctx context.Context) (queue.Outcome, error) {
	if out, ok, err := k.done(); ok || err != nil {
		return out, err
	}
	if err := k.source(); err != nil {
		return queue.Outcome{}, err
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
	var spent float64
	for _, p := range parts {
		file, err := k.fetch(ctx, p)
		if err != nil {
			return queue.Outcome{}, err
		}
		if file, err = filepath.Rel(k.folder, file); err != nil { // the list has a name a line, and folders have any names
			return queue.Outcome{}, err
		}
		files = append(files, file)
		spent += p.Seconds
	}
	if err := os.WriteFile(list, []byte(strings.Join(files, "\n")+"\n"), 0o666); err != nil {
		return queue.Outcome{}, err
	}
	temp := filepath.Join(k.folder, "out"+filepath.Ext(k.spec.Item.Output))
	done, err := k.media(ctx, k.spec.Item.Source, temp, append([]string{"--join", list}, k.threads()...)...)
	if err != nil {
		return queue.Outcome{}, err
	}
	res := resultOf(done)
	res.Parts, res.Seconds = len(files), res.Seconds+spent
	out, err := k.finish(temp, res)
	if err == nil {
		k.forget(ctx)
	}
	return out, err
}

// finished returns what the parts left, in their order. Parts that are cut off first may not be done when join comes.
func (k *task) finished(ctx context.Context) ([]PartResult, error) {
	results, err := k.Results(ctx, k.job.ID)
	if err != nil {
		return nil, err
	}
	var plan planResult
	if err := json.Unmarshal(results["plan"], &plan); err != nil {
		return nil, queue.Permanent(fmt.Errorf("what the task plan left: %w", err))
	}
	parts := make([]PartResult, plan.Parts)
	for i := range parts {
		b, ok := results[fmt.Sprintf("part-%04d", i)]
		if !ok {
			return nil, queue.Later(fmt.Errorf("part %d of %d is not done", i+1, plan.Parts), time.Second)
		}
		if err := json.Unmarshal(b, &parts[i]); err != nil {
			return nil, queue.Permanent(fmt.Errorf("what part %d left: %w", i, err))
		}
	}
	return parts, nil
}

// ErrGone is the error of a part that was made or cut off and is no longer there.
var ErrGone = errors.New("a part is gone")

// fetch returns the name of a part's file.
func (k *task) fetch(ctx context.Context, p PartResult) (string, error) {
	if p.Blob == "" {
		name := filepath.Join(k.shared(), p.File)
		if _, err := os.Stat(name); err != nil {
			return "", queue.Permanent(fmt.Errorf("%w: %w", ErrGone, err))
		}
		return name, nil
	}
	name, err := k.temp(filepath.Base(p.Blob) + ".mp4")
	if err != nil {
		return "", err
	}
	return name, k.get(ctx, p.Blob, name)
}

// forget removes the job's files from the store. What stays behind after a kill is removed by the next join that ends.
func (k *task) forget(ctx context.Context) {
	if !k.spec.Remote || k.Blobs == nil {
		return
	}
	names, err := k.Blobs.List(ctx, k.job.ID+"/")
	if err != nil {
		return
	}
	for _, n := range names {
		_ = k.Blobs.Delete(ctx, n)
	}
}
