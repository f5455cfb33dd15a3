package batchrun

import (
	"cmp"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tasks"
	"vidfilter/internal/durable"
	"vidfilter/internal/wake"
)

// serving says where a queue is: STATE/serve.json, for scripts, while it runs.
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

// serverURL is the address for other machines. A wildcard address is replaced by a host name.
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

// sweepEvery is the interval of removing data without a job.
const sweepEvery = 10 * time.Minute

func (o *ServeOptions) sweep(ctx context.Context, e queue.Engine) {
	for range wake.Soon(ctx, sweepEvery) {
		try, cancel := context.WithTimeout(ctx, time.Minute)
		_ = tasks.Sweep(try, e) // tried again next time
		cancel()
	}
}
