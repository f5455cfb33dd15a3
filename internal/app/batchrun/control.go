package batchrun

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"vidfilter/batch"
	"vidfilter/batch/queue"
	"vidfilter/batch/status"
	"vidfilter/batch/tasks"
	"vidfilter/internal/cli"
	"vidfilter/internal/durable"
)

// controlSocket is the Unix socket of a running batch; permission to write to its folder grants
// access.
const controlSocket = "control.sock"

// socketAddress returns a name of the socket that is short enough for the system. The function
// closes its descriptor.
func socketAddress(dir string) (string, func(), error) {
	name := filepath.Join(dir, controlSocket)
	if len(name) < 100 {
		return name, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), controlSocket), func() { f.Close() }, nil
}

// openStatus serves vidfilter jobs through a socket beside the outputs, and browsers at
// --status.
func (b *batchJob) openStatus(ctx context.Context) error {
	o := status.Options{
		Version: cli.Version(), Token: rand.Text(), Retry: retry(b.engine), Note: b.blocked,
		FreeDisk: func() (int64, error) { free, _, err := durable.Space(b.plan.Root); return free, err },
	}
	if b.own != nil {
		o.Prioritize = b.own.Prioritize
	}
	q := status.Follow(b.engine, sums)
	b.page = q
	b.onClose(q.Close)
	// Access to the socket grants all rights, so requests get the token.
	if err := b.listen(q.Handler(o), o.Token); err != nil {
		b.screen.Warn("vidfilter jobs cannot reach this batch", "error", err)
	}
	if b.o.Status == "" {
		return nil
	}
	_, end, err := b.o.serve(ctx, q, o, b.screen.Logger)
	if err == nil {
		b.onClose(end)
	}
	return err
}

func (b *batchJob) listen(h http.Handler, token string) error {
	address, done, err := socketAddress(filepath.Join(b.plan.Root, batch.StateDir))
	if err != nil {
		return err
	}
	defer done()
	_ = os.Remove(address) // left by a killed batch; we hold the lock
	l, err := net.Listen("unix", address)
	if err != nil {
		return err
	}
	if err := os.Chmod(address, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", "Bearer "+token)
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	b.onClose(func() {
		_ = s.Close()
		serving.Wait()
	})
	return nil
}

// retry requeues jobs that failed or were cancelled.
func retry(e queue.Engine) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error { return tasks.Retry(ctx, e, id) }
}

func remove(e queue.Engine) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error { return tasks.Remove(ctx, e, id) }
}

// control queries a running batch over HTTP through its socket.
type control struct{ client http.Client }

// controlOf connects to the batch that runs in a folder.
func controlOf(root string) (*control, error) {
	dir := filepath.Join(root, batch.StateDir)
	c := &control{}
	c.client.Timeout = 10 * time.Second
	c.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		address, done, err := socketAddress(dir)
		if err != nil {
			return nil, err
		}
		defer done()
		return new(net.Dialer).DialContext(ctx, "unix", address)
	}}
	_, err := c.do(http.MethodGet, "/healthz")
	return c, err
}

func (c *control) do(method, path string) ([]byte, error) {
	r, err := http.NewRequest(method, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	got, err := c.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, err
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode >= 300 {
		err = errors.New(strings.TrimSpace(string(b)))
	}
	return b, err
}

func (c *control) list() (l status.List, err error) {
	for offset := 0; ; {
		b, err := c.do(http.MethodGet, fmt.Sprintf("/api/jobs?limit=5000&offset=%d", offset))
		if err != nil {
			return l, err
		}
		before := l.Jobs
		l = status.List{}
		if err := json.Unmarshal(b, &l); err != nil {
			return l, err
		}
		got := len(l.Jobs)
		l.Jobs = append(before, l.Jobs...)
		if offset += got; got == 0 || offset >= l.Count {
			return l, nil
		}
	}
}

func (c *control) cancel(id, reason string) error {
	if reason == queue.WithBatch {
		return c.act(id, "cancel?batch")
	}
	return c.act(id, "cancel")
}

func (c *control) retry(id string) (waits string, err error) { return "", c.act(id, "retry") }

func (c *control) pause(id string, on bool) error {
	if on {
		return c.act(id, "pause")
	}
	return c.act(id, "resume")
}

func (c *control) log(id string) (string, error) {
	b, err := c.do(http.MethodGet, "/api/jobs/"+url.PathEscape(id)+"/log")
	return string(b), err
}

func (c *control) act(id, what string) error {
	_, err := c.do(http.MethodPost, "/api/jobs/"+url.PathEscape(id)+"/"+what)
	return err
}
