package fleet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// archive starts a server, and returns a folder with clips in its folder tapes.
func archive(t *testing.T) (s *server, folder string) {
	t.Helper()
	s = serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	run(t, "serve", "credentials", "issue", "archive", "--role", "agent", "--state", s.State).exit(0)
	return s, filepath.Dir(clips(t))
}

func (s *server) agent(folder string, args ...string) *process {
	s.t.Helper()
	p := run(s.t, slices.Concat([]string{"agent", folder, "--server", s.URL, "--creds", filepath.Join(s.State, "archive.creds")}, args)...)
	p.Says("runs the batches of")
	return p
}

// detach hands a batch over, and returns its ID and the messages.
func (s *server) detach(in, out string, more ...string) (id, said string) {
	s.t.Helper()
	p := s.batch(in, out, append(more, "--detach")...)
	id = strings.TrimSpace(p.outAfter(0))
	if !strings.HasSuffix(id, "--submitter") || !strings.Contains(p.Said(), "--follow "+id) {
		s.t.Fatalf("%q: %s", id, p.Said())
	}
	return id, p.Said()
}

// jobsDo is vidfilter jobs with an action, and returns its messages.
func (s *server) jobsDo(code int, args ...string) string {
	s.t.Helper()
	return run(s.t, slices.Concat([]string{"jobs"}, s.link(), args)...).exit(code)
}

// An agent runs a submitted batch. A follower sees its files and gets its exit code. The outputs
// and the report match a direct run's.
func TestDetach(t *testing.T) {
	e2e.Start(t, true)
	s, folder := archive(t)
	in, out := filepath.Join(folder, "tapes"), filepath.Join(folder, "out")
	e2e.Must(t, os.WriteFile(filepath.Join(in, "broken.mp4"), []byte("no video"), 0o666))
	a := s.agent(folder, "--on-done", "echo $VF_EVENT $VF_STATE >> "+filepath.Join(folder, "told"))
	report := filepath.Join(folder, "report.json")
	id, said := s.detach(in, out, "--report", report, "--retries", "0")
	e2e.Contains(t, said, "is run by")
	said = s.jobsDo(1, "--follow", id)
	e2e.Contains(t, said, "done: long.mp4", "1 file failed", "broken.mp4")
	whole(t, out)
	e2e.Contains(t, string(e2e.Read(t, report)), `"long.mp4"`)
	if b := string(e2e.Read(t, filepath.Join(folder, "told"))); strings.Count(b, "job done\n") != 2 || !strings.HasSuffix(b, "batch failed\n") {
		t.Error(b)
	}
	e2e.Must(t, os.Remove(filepath.Join(in, "broken.mp4")))
	id, _ = s.detach(in, out)
	s.jobsDo(0, "--follow", id)
	s.delivered(out)
	a.Signal(os.Interrupt)
	a.exit(130)
}

// A batch whose folder no agent reaches waits, with a message at once. It can be cancelled. Files
// elsewhere are not touched, and a folder of the same name is not taken for the submitter's.
func TestDetachOutside(t *testing.T) {
	e2e.Start(t, false)
	s, folder := archive(t)
	other := filepath.Dir(clips(t))
	s.agent(folder)
	id, said := s.detach(filepath.Join(other, "tapes"), filepath.Join(other, "out"))
	e2e.Contains(t, said, "no agent for "+other)
	e2e.Contains(t, s.jobsDo(0), "waits: no agent for "+other)
	s.jobsDo(0, "--cancel", id)
	e2e.Contains(t, s.jobsDo(1, "--follow", id), "the batch was cancelled")
	out := filepath.Join(folder, "out")
	if _, said := s.detach(filepath.Join(other, "tapes"), out); !strings.Contains(said, "outside of the folder of this agent") {
		t.Error(said)
	}
	if left, err := outputs(out); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	e2e.Contains(t, s.batch(filepath.Join(folder, "tapes"), out, "--detach", "--on-done", "true").exit(2), "as its user")
}

// Two agents never run one batch. One that is killed in the middle leaves it to the other, which
// uses the finished parts.
func TestAgentKilled(t *testing.T) {
	e2e.Start(t, false)
	s, folder := archive(t)
	out := filepath.Join(folder, "out")
	agents := []*process{s.agent(folder), s.agent(folder)}
	id, _ := s.detach(filepath.Join(folder, "tapes"), out)
	takes := func(p *process) bool { return strings.Contains(p.Said(), "batch "+id+" of submitter") }
	e2e.Until(t, "an agent takes it", func() bool { return takes(agents[0]) || takes(agents[1]) })
	if takes(agents[1]) {
		slices.Reverse(agents)
	}
	agents[0].caught("--join")
	if takes(agents[1]) {
		t.Error("both agents run it")
	}
	agents[0].Kill()
	s.jobsDo(0, "--follow", id)
	if !takes(agents[1]) {
		t.Error(agents[1].Said())
	}
	s.delivered(out)
}

// An agent goes on with a batch whose submitter was killed, and gives it back when it is stopped.
func TestSubmitterKilled(t *testing.T) {
	e2e.Start(t, false)
	s, folder := archive(t)
	out := filepath.Join(folder, "out")
	a := s.agent(folder)
	b := s.batch(filepath.Join(folder, "tapes"), out)
	b.caught("--part=")
	time.Sleep(3 * time.Second) // longer than the lease
	if strings.Contains(a.Said(), "of submitter") {
		t.Errorf("the agent runs a batch whose submitter lives: %s", a.Said())
	}
	b.Kill()
	a.caught("--part=")
	a.Signal(os.Interrupt)
	a.exit(130)
	var id string
	for _, f := range must(filepath.Glob(filepath.Join(s.State, "batches", "*.json"))) {
		id = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	s.agent(folder)
	s.jobsDo(0, "--follow", id)
	s.delivered(out)
}
