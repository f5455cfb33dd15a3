package pki

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

func open(t *testing.T, dir string, hosts ...string) *Keys {
	t.Helper()
	k, err := Open(dir, Files{}, hosts)
	e2e.Must(t, err)
	return k
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	e2e.Must(t, err)
	return b
}

// Keys last; only the server's certificate is renewed, for a new name.
func TestOpenAgain(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	files := func() (all map[string][]byte) {
		all = map[string][]byte{}
		for _, name := range []string{"operator.seed", "account.seed", "authority.pem", "server.pem"} {
			all[name] = read(t, filepath.Join(dir, name))
		}
		return all
	}
	first := files()
	open(t, dir)
	for name, b := range files() {
		if !bytes.Equal(b, first[name]) {
			t.Errorf("%s changed at the second start", name)
		}
	}
	open(t, dir, "queue.example")
	for name, b := range files() {
		if same := bytes.Equal(b, first[name]); same != (name != "server.pem") {
			t.Errorf("%s unchanged: %v, with a new host", name, same)
		}
	}
}

// Credentials are kept as long as they let a client in, and only their owner may read them.
func TestWriteCredentials(t *testing.T) {
	k, file := open(t, t.TempDir()), filepath.Join(t.TempDir(), "worker.creds")
	write := func(k *Keys) []byte {
		t.Helper()
		e2e.Must(t, k.WriteCredentials(file))
		return read(t, file)
	}
	first := write(k)
	if !bytes.Equal(write(k), first) {
		t.Error("replaced although they are valid")
	}
	if i, err := os.Stat(file); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", i.Mode(), err)
	}
	if bytes.Equal(write(open(t, t.TempDir())), first) {
		t.Error("those of another server were kept")
	}
	c, err := ReadCredentials(file)
	if err != nil || c.client == nil || len(c.roots) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestRefuse(t *testing.T) {
	for _, own := range []Files{{Cert: "x"}, {Key: "x"}, {CA: "x"}} {
		if _, err := Open(t.TempDir(), own, nil); err == nil || hint.Of(err) == "" {
			t.Errorf("%+v: %v", own, err)
		}
	}
	if _, err := ReadCredentials(filepath.Join(t.TempDir(), "none")); err == nil || hint.Of(err) == "" {
		t.Errorf("no file: %v", err)
	}
}
