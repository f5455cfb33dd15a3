package batchrun

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/batch/tasks"
)

// siteOf names the group of processes that reach the files: all that share the folder of a
// batch's state or, with --shared, all machines with that folder.
func siteOf(state, shared string) (string, error) {
	name := siteFile(state, shared)
	if b, err := os.ReadFile(name); err == nil && len(b) > 8 {
		return strings.TrimSpace(string(b)), nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) { // another process was quicker
		b, err := os.ReadFile(name)
		return strings.TrimSpace(string(b)), err
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	site := "site-" + strings.ToLower(rand.Text()[:12])
	if _, err := fmt.Fprintln(f, site); err != nil {
		return "", err
	}
	return site, f.Close()
}

func siteFile(state, shared string) string {
	if shared != "" {
		return filepath.Join(shared, ".vidfilter-site")
	}
	return filepath.Join(state, "site")
}

func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// sums tells a tally what the specs and results of jobs say.
var sums = tally.Options{
	Weigh:  func(j queue.Job) int64 { return tasks.SpecOf(j).Record.SourceFile.Size },
	Bytes:  sizeOf,
	Frames: framesOf,
}

// resultOf returns the result of a finished job.
func resultOf(s queue.Status) (res tasks.Result) {
	if s.State != queue.Done || json.Unmarshal(s.Result, &res) != nil {
		return tasks.Result{}
	}
	return res
}

// sizeOf returns the size of a finished job's output.
func sizeOf(s queue.Status) int64 { return resultOf(s).Size }

// framesOf returns the frames that a finished job has written.
func framesOf(s queue.Status) int64 { return resultOf(s).Frames }
