package batchrun

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// TestAuditOfPage: the audit log has the actions of the status page.
func TestAuditOfPage(t *testing.T) {
	a := newAudit(t.TempDir(), slog.New(slog.DiscardHandler))
	a.page("retried", "a-1", "a.mp4")
	a.page("paused", "worker:ann", "")
	var got []string
	for line := range strings.Lines(string(e2e.Read(t, a.file))) {
		var e auditEntry
		e2e.Must(t, json.Unmarshal([]byte(line), &e))
		got = append(got, strings.Join([]string{e.By, e.Role, e.Action, e.Job, e.Title}, ","))
	}
	if want := "status page,token,retried,a-1,a.mp4 status page,token,paused,worker:ann,"; strings.Join(got, " ") != want {
		t.Errorf("%q", got)
	}
}
