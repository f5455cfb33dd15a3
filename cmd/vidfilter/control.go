package main

import (
	"bytes"
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
	"time"

	"vidfilter/batch"
	"vidfilter/batch/tasks"
	"vidfilter/internal/site"
	"vidfilter/queue"
	"vidfilter/web"
)

// controlSocket is where a running batch answers those who may write into its folder.
const controlSocket = "control.sock"

// socketAddress is a name of a socket that is short enough for the system, whatever the folder's is. The function closes what it needs.
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

// openStatus lets others look: with vidfilter jobs through a socket beside the outputs, with a browser at --status.
func (b *batchJob) openStatus(ctx context.Context) error {
	o := web.Options{
		Version: versionName(), Token: rand.Text(), Retry: retry(b.engine), Note: b.held,
		FreeDisk: func() (int64, error) { free, _, err := batch.Space(b.plan.Root); return free, err },
		Frames:   framesOf,
	}
	// Who can open the socket may do what the batch can: the token goes with it.
	h, stop := web.Handler(b.engine, o)
	b.onClose(stop)
	if err := b.listen(h, o.Token); err != nil {
		b.screen.Warn("vidfilter jobs cannot reach this batch: %v", err)
	}
	if b.o.Status == "" {
		return nil
	}
	o.Token = b.o.Token
	_, err := serveStatus(ctx, b.engine, o, b.o.Status, b.screen.Notice, b.onClose)
	return err
}

func (b *batchJob) listen(h http.Handler, token string) error {
	address, done, err := socketAddress(filepath.Join(b.plan.Root, batch.StateDir))
	if err != nil {
		return err
	}
	defer done()
	_ = os.Remove(address) // a killed batch's; the lock is ours
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
	go func() { _ = s.Serve(l) }()
	b.onClose(func() { _ = s.Close() })
	return nil
}

// serveStatus serves the status page of a queue, and returns where.
func serveStatus(ctx context.Context, e queue.Engine, o web.Options, addr string, say func(string, ...any), onClose func(func())) (url string, err error) {
	h, stop := web.Handler(e, o)
	ctx, cancel := context.WithCancel(ctx)
	at, wait, err := site.Serve(ctx, addr, h, nil)
	if err != nil {
		cancel()
		stop()
		return "", usagef("give another address, as 127.0.0.1:8081", "%v", err)
	}
	onClose(func() { cancel(); _ = wait(); stop() })
	url = fmt.Sprintf("http://%s/", at)
	say("status page: %s", url)
	return url, nil
}

// statusOf returns what a queue knows of a job.
func statusOf(ctx context.Context, e queue.Engine, id string) (found queue.Status, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = e.Watch(ctx, func(s queue.Status) {
		if s.Job.ID == id {
			found = s
		}
	}, cancel)
	if found.Job.ID != "" {
		return found, nil
	}
	if err == nil || errors.Is(err, context.Canceled) {
		err = fmt.Errorf("there is no job %q", id)
	}
	return found, err
}

// retry puts jobs that failed or were cancelled in the queue again.
func retry(e queue.Engine) func(ctx context.Context, id string) error {
	return func(ctx context.Context, id string) error {
		s, err := statusOf(ctx, e, id)
		if err != nil {
			return err
		}
		return e.Submit(ctx, tasks.Retry(s), true)
	}
}

// control asks a batch, or a queue, over HTTP, whatever carries it.
type control struct {
	client http.Client
	token  string
}

// controlOf returns the control of a batch that runs in a folder.
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
	_, err := c.get("/healthz")
	return c, err
}

// controlEngine returns the control of a queue. The function ends it.
func controlEngine(e queue.Engine) (*control, func()) {
	c := &control{token: rand.Text()}
	h, stop := web.Handler(e, web.Options{Version: versionName(), Token: c.token, Retry: retry(e), Frames: framesOf})
	c.client.Transport = direct{h}
	for range 100 { // it has to hear of the jobs first
		if _, err := c.get("/healthz"); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	return c, stop
}

// direct carries requests to a handler in this process.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &answer{header: http.Header{}, code: http.StatusOK}
	d.ServeHTTP(w, r)
	return &http.Response{
		StatusCode: w.code, Status: http.StatusText(w.code), Header: w.header, Body: io.NopCloser(&w.body), Request: r,
		ContentLength: int64(w.body.Len()),
	}, nil
}

// answer collects what a handler answers.
type answer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(code int)        { a.code = code }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

func (c *control) get(path string) ([]byte, error)  { return c.do(http.MethodGet, path) }
func (c *control) post(path string) ([]byte, error) { return c.do(http.MethodPost, path) }

func (c *control) do(method, path string) ([]byte, error) {
	r, err := http.NewRequest(method, "http://localhost"+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	got, err := c.client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
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

// listing is what /api/jobs answers, as far as it is printed.
type listing struct {
	Count int       `json:"count"`
	Jobs  []jobView `json:"jobs"`
	Note  string    `json:"note"`
}

type jobView struct {
	ID     string   `json:"id"`
	Title  string   `json:"title"`
	State  string   `json:"state"`
	Reason string   `json:"reason"`
	Frames int64    `json:"frames"`
	Total  *int64   `json:"total"`
	FPS    float64  `json:"fps"`
	Part   *float64 `json:"part"`
	Left   *float64 `json:"left"`
	Parts  *struct {
		All  int `json:"all"`
		Done int `json:"done"`
	} `json:"parts"`
	Active []struct {
		Worker string `json:"worker"`
		Note   string `json:"note"`
	} `json:"active"`
}

func (c *control) jobs() (l listing, err error) {
	for offset := 0; ; {
		b, err := c.get(fmt.Sprintf("/api/jobs?limit=5000&offset=%d", offset))
		if err != nil {
			return l, err
		}
		var page listing
		if err := json.Unmarshal(b, &page); err != nil {
			return l, err
		}
		l.Count, l.Note, l.Jobs = page.Count, page.Note, append(l.Jobs, page.Jobs...)
		if offset += len(page.Jobs); len(page.Jobs) == 0 || offset >= page.Count {
			return l, nil
		}
	}
}
