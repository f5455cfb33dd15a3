package pki

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
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

// Keys last; only the server's certificate is renewed, for a new name.
func TestOpenAgain(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	files := func() (all map[string][]byte) {
		all = map[string][]byte{}
		for _, name := range []string{"operator.seed", "account.seed", "authority.pem", "server.pem"} {
			all[name] = e2e.Read(t, filepath.Join(dir, name))
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

// Files of credentials are kept as long as they let a client in, and only their owner may read
// them.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	k, file := open(t, dir), filepath.Join(t.TempDir(), "worker.creds")
	keep := func(k *Keys) []byte {
		t.Helper()
		e2e.Must(t, k.Keep(file, "worker", Worker))
		return e2e.Read(t, file)
	}
	first := keep(k)
	if !bytes.Equal(keep(open(t, dir)), first) {
		t.Error("replaced although they are valid")
	}
	if i, err := os.Stat(file); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", i.Mode(), err)
	}
	e2e.Must(t, k.Revoke("worker", false))
	if !bytes.Equal(keep(k), first) {
		t.Error("made anew although they were revoked")
	}
	if bytes.Equal(keep(open(t, t.TempDir())), first) {
		t.Error("those of another server were kept")
	}
	c, err := ReadCredentials(file)
	if err != nil || !c.Served() || len(c.roots) != 1 || c.Role() != Worker || c.Name() != "worker" {
		t.Errorf("%+v, %v", c, err)
	}
}

// A credential has one live file after it was rotated, or two for a while, and a name only once.
func TestRegistry(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	issue := func(b []byte, err error) string {
		t.Helper()
		e2e.Must(t, err)
		c, err := parseCredentials(b)
		e2e.Must(t, err)
		return c.Key()
	}
	live := func(name string) (keys []string) {
		list, err := open(t, dir).List()
		e2e.Must(t, err)
		for _, key := range list[list.find(name)].Keys {
			if key.Revoked.IsZero() {
				keys = append(keys, key.Public)
			}
		}
		return keys
	}
	want := func(keys ...string) {
		t.Helper()
		if got := live("node-7"); !slices.Equal(got, keys) {
			t.Errorf("let in: %q, want %q", got, keys)
		}
	}
	first := issue(k.Issue("node-7", Worker))
	want(first)
	second := issue(k.Rotate("node-7", true))
	want(first, second)
	e2e.Must(t, k.Revoke("node-7", true))
	want(second)
	third := issue(k.Rotate("node-7", false))
	want(third)
	e2e.Must(t, k.Revoke("node-7", false))
	want()
	for what, err := range map[string]error{
		"twice": k.Revoke("node-7", false), "nobody": k.Revoke("nobody", false),
		"a path": failure(k.Issue("../x", Worker)), "a token": failure(k.Issue("a.b", Worker)), "all": failure(k.Issue("*", Worker)), "the name of all": failure(k.Issue(All, Worker)), "server": failure(k.Issue("server", Worker)),
		"a role": failure(k.Issue("b", "king")),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	again := issue(k.Issue("node-7", Observer))
	want(again)
	if err := failure(k.Issue("node-7", Worker)); err == nil || hint.Of(err) == "" {
		t.Errorf("a name that is taken: %v", err)
	}
	e2e.Must(t, os.WriteFile(filepath.Join(dir, registryFile), []byte("{"), 0o600))
	if _, err := k.List(); err == nil {
		t.Error("a damaged list was read")
	}
}

func failure[T any](_ T, err error) error { return err }

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
