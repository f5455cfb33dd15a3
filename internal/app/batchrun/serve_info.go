package batchrun

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tasks"
	"vidfilter/internal/durable"
	"vidfilter/internal/wake"
)

// serveInfo describes a queue: STATE/serve.json, for scripts, while it runs.
type serveInfo struct {
	URL    string `json:"url"`
	Listen string `json:"listen"`
	Creds  string `json:"creds"` // of workers

	Submitter string `json:"submitter"` // credentials of batches
	Status    string `json:"status,omitempty"`
	PID       int    `json:"pid"`

	// for vidfilter serve credentials
	Prefix string `json:"prefix,omitempty"`
	CA     string `json:"ca,omitempty"`
	Cert   string `json:"cert,omitempty"`
}

const serveInfoFile = "serve.json"

func (s serveInfo) write(dir string) error {
	for _, name := range []*string{&s.Creds, &s.Submitter, &s.CA, &s.Cert} {
		if abs, err := filepath.Abs(*name); err == nil && *name != "" {
			*name = abs
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, serveInfoFile), append(b, '\n'))
}

// tell prints what a new machine needs.
func (s serveInfo) tell(log *slog.Logger) {
	log.Info("queue: " + s.URL + "; a new machine needs a credential of its own, and a worker there:")
	log.Info("  vidfilter serve credentials issue NAME --role worker --state " + filepath.Dir(s.Creds))
	log.Info("  vidfilter worker --server " + s.URL + " --creds NAME.creds")
	log.Info("ready made: " + s.Creds + " for workers, " + s.Submitter + " for batches")
}

// readServeInfo returns the description of the running server; ok is false if it does not run.
func readServeInfo(dir string) (s serveInfo, ok bool) {
	b, err := os.ReadFile(filepath.Join(dir, serveInfoFile))
	if err != nil || json.Unmarshal(b, &s) != nil {
		return serveInfo{}, false
	}
	lock, err := durable.Lock(filepath.Join(dir, "lock"), 0)
	if err == nil { // left by a killed server
		lock.Close()
		return serveInfo{}, false
	}
	return s, true
}

func (s serveInfo) remove(dir string) { _ = os.Remove(filepath.Join(dir, serveInfoFile)) }

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
