package jetstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// BenchmarkTasks measures the queue's cost per task: the time from one empty task to the next.
func BenchmarkTasks(b *testing.B) {
	e, err := Embedded(b.TempDir(), Options{})
	e2e.Must(b, err)
	defer e.Close()
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	ended := make(chan struct{}, b.N)
	go func() {
		_ = e.Watch(ctx, func(s queue.Status) {
			if s.State.Ended() {
				ended <- struct{}{}
			}
		}, func() {})
	}()
	go func() {
		_ = e.Work(ctx, queue.Worker{Name: "w", Any: true, Slots: 2}, ends(func(context.Context, queue.Job) {}))
	}()
	b.ResetTimer()
	for i := range b.N {
		e2e.Must(b, e.Submit(ctx, queue.Job{ID: fmt.Sprint("job-", i), First: queue.Task{Name: "a"}}, false))
	}
	for range b.N {
		<-ended
	}
}

// benchClient returns a client of a new server.
func benchClient(b *testing.B) queue.Engine {
	s, err := Serve(ServeOptions{Dir: b.TempDir(), Addr: "127.0.0.1:0"})
	e2e.Must(b, err)
	b.Cleanup(func() { _ = s.Close() })
	e, err := Connect("tls://"+s.Addr().String(), s.Creds(pki.Submitter), ConnectOptions{})
	e2e.Must(b, err)
	b.Cleanup(func() { _ = e.Close() })
	return e
}

// BenchmarkBlobs sends a file of 64 MB through TLS to the server and back, each megabyte synced.
func BenchmarkBlobs(b *testing.B) {
	e := benchClient(b)
	e2e.Must(b, e.Submit(b.Context(), queue.Job{ID: "a", Site: "nowhere", First: queue.Task{Name: "plan"}}, false))
	data := make([]byte, 64<<20)
	_, _ = rand.Read(data)
	b.SetBytes(int64(len(data)))
	for _, way := range []string{"put", "get"} {
		b.Run(way, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for range b.N {
				begun := time.Now()
				var err error
				if way == "put" {
					err = e.Blobs().Put(b.Context(), "a/x", bytes.NewReader(data))
				} else {
					err = e.Blobs().Get(b.Context(), "a/x", io.Discard)
				}
				if err != nil {
					b.Fatal(err, time.Since(begun))
				}
			}
		})
	}
}

// BenchmarkSubmit submits jobs through TLS to the server, one by one and 16 at a time, each synced.
func BenchmarkSubmit(b *testing.B) {
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			e := benchClient(b)
			spec := []byte(`"` + strings.Repeat("x", 1000) + `"`)
			b.ResetTimer()
			e2e.Workers(n)(b.Context(), b.N, func(i int) {
				if err := e.Submit(b.Context(), queue.Job{ID: fmt.Sprint("job-", i), Site: "nowhere", Spec: spec, First: queue.Task{Name: "plan", Site: "nowhere"}}, false); err != nil {
					b.Error(err)
				}
			})
		})
	}
}
