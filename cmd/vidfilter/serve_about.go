package main

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"time"

	"vidfilter/batch/tasks"
	"vidfilter/internal/durable"
	"vidfilter/queue"
)

// serving is where a queue is, for scripts: STATE/serve.json while it runs.
type serving struct {
	URL    string `json:"url"`
	Creds  string `json:"creds"`
	Status string `json:"status,omitempty"`
	PID    int    `json:"pid"`
}

const servingFile = "serve.json"

func (s serving) write(dir string) error {
	if abs, err := filepath.Abs(s.Creds); err == nil {
		s.Creds = abs
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, servingFile), append(b, '\n'))
}

func (s serving) remove(dir string) { _ = os.Remove(filepath.Join(dir, servingFile)) }

// serverURL is what other machines are told: all addresses of this one are no address.
func serverURL(at net.Addr, hosts []string) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return "tls://" + at.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		own, _ := os.Hostname()
		host = cmp.Or(append(hosts, own, "localhost")...)
	}
	return "tls://" + net.JoinHostPort(host, port)
}

// sweepEvery is how often the server removes what no job needs.
const sweepEvery = 10 * time.Minute

func (o *serveOptions) sweep(ctx context.Context, e queue.Engine) {
	for tick := time.NewTicker(sweepEvery); ; {
		try, cancel := context.WithTimeout(ctx, time.Minute)
		_ = tasks.Sweep(try, e) // the next one does it
		cancel()
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return
		}
	}
}
