package batch

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

var goroutines = regexp.MustCompile(`(?m)^go_goroutines (\d+)$`)

// TestSoak has a batch watch a folder for VIDFILTER_SOAK while files arrive one by one. Neither the
// memory, descriptors, threads and goroutines of the batch nor the time from a file to its result
// may grow.
func TestSoak(t *testing.T) {
	length := e2e.SoakLength(t)
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	clip := e2e.Read(t, clip(t, "short.mp4"))
	b := begin(t, job("--watch", in, "-o", out, "--settle", "200ms", "--status", "127.0.0.1:0")...)
	b.Says("watching")
	page := regexp.MustCompile(`http://[0-9.:]+/`).FindString(b.Said())
	if page == "" {
		t.Fatalf("no status page: %s", b.Said())
	}
	series := []*e2e.Series{
		{Name: "memory", Unit: "MB", Limit: 25}, {Name: "descriptors", Limit: 3}, {Name: "threads", Limit: 3}, {Name: "goroutines", Limit: 5},
		{Name: "latency", Unit: "ms", Limit: 250},
	}
	n, begun := 0, time.Now()
	for ; time.Since(begun) < length; n++ {
		name := fmt.Sprintf("%06d.mp4", n)
		put := time.Now()
		e2e.Put(t, filepath.Join(in, name), clip)
		e2e.Until(t, name, func() bool { return e2e.Exists(filepath.Join(out, name)) })
		took := time.Since(put)
		u := e2e.UseOf(b.PID(), false)
		for i, v := range []float64{u.Memory, u.Files, u.Threads, b.goroutines(page), float64(took.Milliseconds())} {
			series[i].Add(time.Since(begun), v)
		}
		if n > 50 {
			old := fmt.Sprintf("%06d.mp4", n-50)
			e2e.Must(t, os.Remove(filepath.Join(in, old)))
			e2e.Must(t, os.Remove(filepath.Join(out, old)))
		}
	}
	t.Logf("%d files", n)
	for _, s := range series {
		s.Check(t, length)
	}
	b.Signal(os.Interrupt)
	b.end(130)
}

// goroutines asks the status page for the batch's own.
func (b *batch) goroutines(page string) float64 {
	b.t.Helper()
	answer, err := http.Get(page + "metrics")
	e2e.Must(b.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	e2e.Must(b.t, err)
	m := goroutines.FindSubmatch(body)
	if m == nil {
		b.t.Fatalf("no goroutines in %s", body)
	}
	count, err := strconv.ParseFloat(string(m[1]), 64)
	e2e.Must(b.t, err)
	return count
}
