package batchrun

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"vidfilter/batch"
	"vidfilter/internal/cli"
	"vidfilter/internal/wake"
)

// hooks notify other programs when files and the batch end, one notice after another. They delay no
// file: failures are logged, and notices that find too many before them are dropped.
type hooks struct {
	command, webhook string
	env              []string // of the command
	log              *slog.Logger
	client           http.Client
	limit            time.Duration // for a notice, and at the end of a batch for the rest of its files'
	pause            time.Duration // before the first repetition

	pending chan batch.Notice
	hurry   context.Context // ends when the rest of pending is dropped
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	dropped int
}

const (
	mostPending = 1000 // notices
	webhookTime = 15 * time.Second
)

// checkWebhook refuses URLs that no notice can be sent to.
func checkWebhook(s string) error {
	u, err := url.Parse(s)
	if s != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return cli.Usagef("as https://example.org/hook", "--webhook is no URL of http or https")
	}
	return nil
}

// newHooks returns nil without a command and a webhook.
func newHooks(command, webhook string, env []string, log *slog.Logger) *hooks {
	if command == "" && webhook == "" {
		return nil
	}
	h := &hooks{command: command, webhook: webhook, env: env, log: log, limit: time.Minute, pause: time.Second, pending: make(chan batch.Notice, mostPending)}
	h.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	h.hurry, h.stop = context.WithCancel(context.Background())
	h.done.Go(func() {
		for n := range h.pending {
			if h.hurry.Err() != nil {
				h.drop()
			} else {
				h.tell(h.hurry, n)
			}
		}
	})
	return h
}

func (h *hooks) drop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped++
}

// add queues the notice of a file.
func (h *hooks) add(n batch.Notice) {
	if h == nil {
		return
	}
	select {
	case h.pending <- n:
	default:
		h.drop()
	}
}

// end sends the notice of the batch, after the pending ones.
func (h *hooks) end(n batch.Notice) {
	if h == nil {
		return
	}
	close(h.pending)
	patience := time.AfterFunc(h.limit, h.stop)
	h.done.Wait()
	patience.Stop()
	h.stop()
	if h.dropped > 0 {
		h.log.Warn(fmt.Sprintf("%d ends of files were not told to --on-done and --webhook, which take too long", h.dropped))
	}
	h.tell(context.Background(), n)
}

// tell runs the command and calls the webhook.
func (h *hooks) tell(ctx context.Context, n batch.Notice) {
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	b, err := json.Marshal(n)
	if err != nil {
		h.log.Warn("a notice", "error", err)
		return
	}
	if h.command != "" {
		if err := h.run(ctx, n, b); err != nil {
			h.log.Warn("--on-done", "error", err)
		}
	}
	if h.webhook != "" {
		if err := h.post(ctx, b); err != nil {
			h.log.Warn("--webhook", "error", err)
		}
	}
}

// run runs the command in a group of processes that ends with it or in time. The JSON is its stdin.
func (h *hooks) run(ctx context.Context, n batch.Notice, b []byte) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", h.command)
	cmd.Env = append(h.env[:len(h.env):len(h.env)], "VF_EVENT="+n.Event, "VF_ID="+n.ID, "VF_STATE="+n.State, "VF_REASON="+n.Reason, "VF_ROOT="+string(n.Root))
	if n.File != nil {
		cmd.Env = append(cmd.Env, "VF_FILE="+string(n.File.File), "VF_OUTPUT="+batch.Item{Output: string(n.File.Output)}.OutputPath(string(n.Root)))
	}
	var said lastLine
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(b), &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	switch err := cmd.Run(); {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("ended after %v", h.limit)
	case said.line() != "":
		return fmt.Errorf("%w: %s", err, said.line())
	default:
		return err
	}
}

// lastLine keeps the end of the text written to it.
type lastLine struct{ b []byte }

func (l *lastLine) Write(b []byte) (int, error) {
	const most = 500
	l.b = append(l.b, b[max(0, len(b)-most):]...)
	l.b = l.b[max(0, len(l.b)-most):]
	return len(b), nil
}

func (l *lastLine) line() string {
	s := strings.TrimSpace(string(l.b))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// post sends the JSON, and again after no answer or a fault of the server.
func (h *hooks) post(ctx context.Context, b []byte) error {
	again, err := h.postOnce(ctx, b)
	for pause := h.pause; again && pause < 10*h.pause; pause *= 4 {
		if wake.Sleep(ctx, pause) != nil {
			return err
		}
		again, err = h.postOnce(ctx, b)
	}
	return err
}

func (h *hooks) postOnce(ctx context.Context, b []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.webhook, bytes.NewReader(b))
	if err != nil {
		return false, errors.New("the URL is malformed")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "vidfilter/"+cli.Version())
	got, err := h.client.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // without the URL, which may hold a secret
			err = u.Err
		}
		return true, err
	}
	defer got.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(got.Body, 1<<16))
	if got.StatusCode >= 300 {
		return got.StatusCode >= 500 || got.StatusCode == http.StatusTooManyRequests, fmt.Errorf("%s answers %s", r.URL.Host, cmp.Or(got.Status, "nothing"))
	}
	return false, nil
}
