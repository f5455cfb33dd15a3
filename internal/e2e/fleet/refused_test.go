package fleet

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

const queueCode = 7 // as --help has it

// Clients without the server's credentials are refused at once, with a hint.
func TestRefused(t *testing.T) {
	e2e.Start(t, true)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	foreign := serve(t, filepath.Join(t.TempDir(), "foreign"), "127.0.0.1:0")
	bare := filepath.Join(t.TempDir(), "bare.creds")
	withoutCertificates(t, s.Submitter, bare)
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	e2e.Must(t, os.WriteFile(filepath.Join(in, "a.mp4"), []byte("x"), 0o666))
	for what, c := range map[string]struct {
		link []string
		want string
	}{
		"no credentials":      {[]string{"--server", s.URL}, "worker.creds"},
		"those of another":    {[]string{"--server", s.URL, "--creds", foreign.Submitter}, "worker.creds"},
		"no certificate":      {[]string{"--server", s.URL, "--creds", bare}, "worker.creds"},
		"no file":             {[]string{"--server", s.URL, "--creds", filepath.Join(in, "none")}, "worker.creds"},
		"no credentials file": {[]string{"--server", s.URL, "--creds", filepath.Join(in, "a.mp4")}, "worker.creds"},
		"nobody there":        {[]string{"--server", "tls://127.0.0.1:1", "--creds", s.Submitter}, "vidfilter serve"},
		"no such host":        {[]string{"--server", "tls://head.invalid:4222", "--creds", s.Submitter}, "name or address"},
	} {
		for _, command := range [][]string{{"worker", "--work", t.TempDir()}, {"batch", in, "-o", out}, {"jobs"}} {
			begun := time.Now()
			said := run(t, slices.Concat(command, c.link)...).exit(queueCode)
			if !strings.Contains(said, "\nhint: ") || !strings.Contains(said, c.want) {
				t.Errorf("%s: %s: %s", what, command[0], said)
			}
			if took := time.Since(begun); took > 15*time.Second {
				t.Errorf("%s: %s: only after %v", what, command[0], took)
			}
		}
	}
	said := run(t, "serve", "--state", filepath.Join(t.TempDir(), "other"), "--listen", strings.TrimPrefix(s.URL, "tls://")).exit(queueCode)
	e2e.Contains(t, said, "is in use")
	e2e.Contains(t, run(t, "serve", "--state", s.State, "--listen", "127.0.0.1:0").exit(queueCode), "in use by another process")
	for _, args := range [][]string{
		{"batch", in, "-o", out, "--creds", s.Submitter}, {"batch", in, "-o", out, "--lease", "5s"}, {"batch", in, "-o", out, "--shared", in},
		{"worker"}, {"serve"}, {"jobs", out, "--creds", s.Submitter}, {"worker", "--server", s.URL, "--lease", "1ms"},
		{"serve", "--state", s.State, "--host", "a b"}, {"serve", "--state", s.State, "--listen", "nonsense", "x"},
	} {
		run(t, args...).exit(2)
	}
}

// withoutCertificates leaves the token and its seed.
func withoutCertificates(t *testing.T, from, to string) {
	t.Helper()
	b := e2e.Read(t, from)
	for rest := b; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		b = bytes.Replace(b, pem.EncodeToMemory(block), nil, 1)
	}
	if bytes.Contains(b, []byte("CERTIFICATE")) || !bytes.Contains(b, []byte("BEGIN NATS USER JWT")) {
		t.Fatalf("%s is not what it was thought to be", from)
	}
	e2e.Must(t, os.WriteFile(to, b, 0o600))
}

// Workers of another version do the parts of a batch, as long as they know its protocol.
func TestVersions(t *testing.T) {
	e2e.Start(t, false)
	other, err := e2e.Build("-X vidfilter/internal/cli.version=two")
	e2e.Must(t, err)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := runProgram(t, other, "worker", "--jobs", "1", "--work", dir, "--server", s.URL, "--creds", s.Creds)
	w.Says("vidfilter two at once")
	s.batch(in, out).exit(0)
	whole(t, out)
	if !regexp.MustCompile(`part-000[0-9]: done`).MatchString(w.Said()) {
		t.Errorf("the worker of the other version has done nothing: %s", w.Said())
	}
	storeIsEmpty(t, s.engine())
	w.Signal(syscall.SIGTERM)
	w.exit(0)
}

// Credentials are issued, listed, rotated and revoked while the server runs, and each action is in
// the audit log. A drained worker ends after its part.
func TestCredentials(t *testing.T) {
	e2e.Start(t, false)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	s.Says("credentials issue NAME --role worker --state " + s.State)
	s.Says("vidfilter worker --server " + s.URL + " --creds NAME.creds")
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	cred := func(code int, args ...string) string {
		t.Helper()
		return run(t, slices.Concat([]string{"serve", "credentials"}, args, []string{"--state", s.State})...).exit(code)
	}
	worker := func(file string) *process {
		t.Helper()
		w := run(t, "worker", "--jobs", "1", "--work", dir, "--server", s.URL, "--creds", file)
		w.Says("at once")
		return w
	}
	e2e.Contains(t, cred(0, "issue", "render-07", "--role", "worker"), "vidfilter worker --server "+s.URL+" --creds render-07.creds")
	if said := cred(2, "issue", "render-07", "--role", "observer"); !strings.Contains(said, `there is a credential "render-07" already`) ||
		!strings.Contains(said, "hint: vidfilter serve credentials rotate render-07") {
		t.Errorf("issue again: %s", said)
	}
	cred(2, "issue", "no name", "--role", "worker")
	cred(2, "issue", "x", "--role", "king")
	cred(2, "issue", "x")
	cred(2, "revoke", "nobody")
	e2e.Contains(t, run(t, "serve", "drain", "nobody", "--state", s.State).exit(2), `no credential "nobody"`)
	file := filepath.Join(s.State, "render-07.creds")
	w := worker(file)
	for _, command := range [][]string{{"batch", in, "-o", out}, {"jobs"}} {
		e2e.Contains(t, run(t, slices.Concat(command, []string{"--server", s.URL, "--creds", file})...).exit(7), "role worker")
	}
	e2e.Contains(t, run(t, "worker", "--shared", in, "--work", dir, "--server", s.URL, "--creds", file).exit(7), "submitter")
	e2e.Until(t, "the worker is listed", func() bool {
		return regexp.MustCompile(`(?m)^render-07 +worker +let in +issued .*  connected: 1$`).MatchString(run(t, "serve", "credentials", "list", "--state", s.State).outAfter(0))
	})
	b := s.batch(in, out)
	child := w.caught("--part=")
	run(t, "worker", "--drain", "--server", s.URL, "--creds", file).exit(0)
	w.Until("it drains", func() bool { return len(descendants(w.PID(), "--part=")) > 0 })
	_ = syscall.Kill(child, syscall.SIGCONT)
	if said := w.exit(0); strings.Count(said, ": done in") != 1 || !strings.Contains(said, "drained") {
		t.Errorf("the drained worker: %s", said)
	}
	w = worker(file)
	cred(0, "rotate", "render-07")
	e2e.Contains(t, w.exit(7), "were revoked")
	cred(0, "rotate", "render-07", "--keep-old")
	e2e.Contains(t, cred(0, "revoke", "render-07", "--older"), "the last one lets in")
	w = worker(file)
	cred(0, "revoke", "render-07")
	w.exit(7)
	run(t, "worker", "--work", dir, "--server", s.URL, "--creds", file).exit(7)
	b.exit(0)
	whole(t, out)
	w = run(t, "worker", "--sandbox", "off", "--work", dir, "--server", s.URL, "--creds", s.Creds)
	w.Says("--sandbox off: the input is decoded with all rights")
	w.Says("at once")
	run(t, "serve", "drain", "all", "--state", s.State).exit(0)
	w.exit(0)
	log := e2e.Read(t, filepath.Join(s.State, "audit.log"))
	e2e.Contains(t, string(log), `"role":"serve","action":"issue","about":"render-07"`, `"action":"rotate"`, `"action":"revoke"`, `"action":"drain","about":"all"`,
		`"by":"submitter","role":"submitter","action":"submitted","job":"long-mp4`)
	noFolders(t, dir)
}

// A status page open to other machines requires TLS, the token and one of its own host names.
func TestStatusBeyond(t *testing.T) {
	e2e.Start(t, true)
	state, out := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "out")
	c := &cluster{t: t, dir: t.TempDir()}
	c.certificates()
	const token = "0123456789abcdef"
	cert := []string{"--status-cert", c.dir + "/server.pem", "--status-key", c.dir + "/server.key"}
	for _, command := range [][]string{{"serve", "--state", state}, {"batch", clips(t), "-o", out}} {
		for _, at := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
			args := append(command, "--status", at)
			for want, more := range map[string][]string{"needs TLS": {"--token", token}, "needs a token": cert, "go together": cert[:2]} {
				e2e.Contains(t, run(t, append(args, more...)...).exit(2), want, "hint: ")
			}
		}
	}
	e2e.Contains(t, run(t, "serve", "--state", state, "--status", "127.0.0.1:0", "--token", "secret").exit(2), "--token", "hint: 16 to 128")
	if _, err := os.Stat(out); err == nil {
		t.Error("the batch has begun")
	}
	s := serve(t, state, "127.0.0.1:0", append(cert, "--status", "0.0.0.0:0", "--token", token, "--status-host", "head.example")...)
	if !strings.HasPrefix(s.Status, "https://127.0.0.1:") {
		t.Errorf("the page is at %s", s.Status)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	e2e.Until(t, "the queue answers", func() bool {
		a := must(client.Get(s.Status + "healthz"))
		_ = a.Body.Close()
		return a.StatusCode == http.StatusOK
	})
	for _, q := range []struct {
		path, host, token string
		code              int
	}{
		{"api/jobs", "", "", 401}, {"metrics", "", "", 401}, {"events", "", "", 401}, {"api/jobs", "", "wrong", 401},
		{"api/jobs", "", token, 200}, {"metrics", "head.example", token, 200}, {"api/jobs", "evil.example", token, 403},
	} {
		r := must(http.NewRequest("GET", s.Status+q.path, nil))
		r.Host = q.host
		r.Header.Set("Authorization", "Bearer "+q.token)
		a := must(client.Do(r))
		b, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if a.StatusCode != q.code {
			t.Errorf("%+v: %s: %s", q, a.Status, b)
		}
	}
	if a, err := http.Get(strings.Replace(s.Status, "https:", "http:", 1) + "api/jobs"); err == nil && a.StatusCode == http.StatusOK {
		t.Error("it answers without TLS")
	}
}
