package batchrun

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"vidfilter/batch/queue/jetstream"
)

// auditFile holds the actions of credentials: a JSON object per line. Its earlier half is in
// auditFile.1.
const (
	auditFile = "audit.log"
	auditSize = 32 << 20
)

// auditEntry is a line of the audit log.
type auditEntry struct {
	Time time.Time `json:"time"`
	jetstream.Note
}

// audit writes the audit log of a queue. A failure is logged only.
type audit struct {
	file string
	log  *slog.Logger
	mu   sync.Mutex
}

func newAudit(state string, log *slog.Logger) *audit {
	return &audit{file: filepath.Join(state, auditFile), log: log}
}

func (a *audit) note(n jetstream.Note) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.add(auditEntry{time.Now().UTC(), n}); err != nil {
		a.log.Warn("the audit log cannot be written", "error", err)
	}
}

func (a *audit) add(e auditEntry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if i, err := os.Stat(a.file); err == nil && i.Size() > auditSize {
		if err := os.Rename(a.file, a.file+".1"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(a.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// page notes a change that the status page has made.
func (a *audit) page(what, id, title string) {
	a.note(jetstream.Note{By: "status page", Role: "token", Action: what, Job: id, Title: title})
}
