package fleet

import (
	"bytes"
	"encoding/pem"
	"os"
	"path/filepath"
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
	withoutCertificates(t, s.Creds, bare)
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	e2e.Must(t, os.WriteFile(filepath.Join(in, "a.mp4"), []byte("x"), 0o666))
	for what, c := range map[string]struct {
		link []string
		want string
	}{
		"no credentials":      {[]string{"--server", s.URL}, "worker.creds"},
		"those of another":    {[]string{"--server", s.URL, "--creds", foreign.Creds}, "worker.creds"},
		"no certificate":      {[]string{"--server", s.URL, "--creds", bare}, "worker.creds"},
		"no file":             {[]string{"--server", s.URL, "--creds", filepath.Join(in, "none")}, "worker.creds"},
		"no credentials file": {[]string{"--server", s.URL, "--creds", filepath.Join(in, "a.mp4")}, "worker.creds"},
		"nobody there":        {[]string{"--server", "tls://127.0.0.1:1", "--creds", s.Creds}, "vidfilter serve"},
		"no such host":        {[]string{"--server", "tls://head.invalid:4222", "--creds", s.Creds}, "name or address"},
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
	if !strings.Contains(said, "is in use") {
		t.Errorf("an address that is taken: %s", said)
	}
	if said := run(t, "serve", "--state", s.State, "--listen", "127.0.0.1:0").exit(queueCode); !strings.Contains(said, "in use by another process") {
		t.Errorf("a folder that is taken: %s", said)
	}
	for _, args := range [][]string{
		{"batch", in, "-o", out, "--creds", s.Creds}, {"batch", in, "-o", out, "--lease", "5s"}, {"batch", in, "-o", out, "--shared", in},
		{"worker"}, {"serve"}, {"jobs", out, "--creds", s.Creds}, {"worker", "--server", s.URL, "--lease", "1ms"},
		{"serve", "--state", s.State, "--host", "a b"}, {"serve", "--state", s.State, "--listen", "nonsense", "x"},
	} {
		run(t, args...).exit(2)
	}
}

// withoutCertificates leaves the token and its seed.
func withoutCertificates(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	e2e.Must(t, err)
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

// Parts go only to workers of the batch's version, and both sides say so.
func TestVersions(t *testing.T) {
	e2e.Start(t, false)
	other, err := e2e.Build("-ldflags", "-X vidfilter/internal/cli.version=two")
	e2e.Must(t, err)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0", "--lease", lease)
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	early := runProgram(t, other, slices.Concat([]string{"worker", "--work", dir}, s.link())...)
	early.Says("vidfilter two at once")
	b := s.batch(in, out)
	child := b.caught("--part=") // the batch does it itself
	b.Says("1 worker of vidfilter two")
	late := runProgram(t, other, slices.Concat([]string{"worker", "--work", dir}, s.link())...)
	late.Says("of vidfilter one")
	_ = syscall.Kill(child, syscall.SIGCONT)
	b.exit(0)
	whole(t, out)
	if said := early.Said() + late.Said(); strings.Contains(said, "part-") {
		t.Errorf("workers of the other version have touched it: %s", said)
	}
	// They do the parts of a batch of their own version.
	runProgram(t, other, s.batchArgs(in, filepath.Join(t.TempDir(), "out"))...).exit(0)
	if said := early.Said() + late.Said(); !strings.Contains(said, "part-0001: done") {
		t.Errorf("workers of the version have done nothing: %s", said)
	}
	storeIsEmpty(t, s.engine())
}
