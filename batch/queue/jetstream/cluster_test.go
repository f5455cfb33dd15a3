package jetstream

import (
	"bytes"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

func plain(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	o.Host, o.NoSigs, o.NoLog = "127.0.0.1", true, true
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	ns, err := server.NewServer(&o)
	e2e.Must(t, err)
	ns.Start()
	t.Cleanup(func() { ns.Shutdown(); ns.WaitForShutdown() })
	if !ns.ReadyForConnections(10 * time.Second) {
		t.Fatal("server does not start")
	}
	return ns
}

func TestNoJetStream(t *testing.T) {
	ns := plain(t, server.Options{})
	var he *Error
	if e, err := Connect(ns.ClientURL(), "", ConnectOptions{}); e != nil || !errors.As(err, &he) || !strings.Contains(err.Error(), "no JetStream") || hint.Of(err) == "" {
		t.Error(err)
	}
	s := served(t, ServeOptions{})
	if e, err := Connect(strings.Replace(ns.ClientURL(), "nats:", "tls:", 1), s.Creds(pki.Submitter), ConnectOptions{}); e != nil || !errors.As(err, &he) || !strings.Contains(err.Error(), "no TLS") {
		t.Error(err)
	}
}

// Two queues share an account and do not see each other.
func TestPrefix(t *testing.T) {
	ns := plain(t, server.Options{JetStream: true, StoreDir: t.TempDir()})
	engines := map[string]*Engine{}
	for _, p := range []string{"one", "two"} {
		o := quick
		o.Prefix = p
		e, err := connectDirect(ns.ClientURL(), o)
		e2e.Must(t, err)
		defer e.Close()
		engines[p] = e
		defer work(t, e, queue.Worker{}, parts(e, len(engines), nothing))()
		submit(t, e, queue.Job{ID: "a"}, false)
	}
	for p, want := range map[string]string{"one": "2", "two": "3"} {
		if s := awaitEnd(t, engines[p], "a"); string(s.Result) != want {
			t.Errorf("%s: %+v", p, s)
		}
	}
}

// connectDirect connects to a server that asks for no credentials.
func connectDirect(url string, o Options) (*Engine, error) {
	e, err := Connect(url, "", ConnectOptions{Options: o})
	if err != nil {
		return nil, err
	}
	return e.(*Engine), nil
}

// A server may have a public certificate, which its workers then trust. Theirs still come from the
// private authority.
func TestOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	e2e.Must(t, failure(pki.Open(dir, pki.Files{}, []string{"127.0.0.1"})))
	cert, ca := filepath.Join(dir, "server.pem"), filepath.Join(dir, "authority.pem")
	b, err := os.ReadFile(ca)
	e2e.Must(t, err)
	root, _ := pem.Decode(b)
	s := served(t, ServeOptions{Cert: cert, Key: cert, CA: ca})
	connect(t, s.url(), s.Creds(pki.Submitter))
	b, err = os.ReadFile(s.Creds(pki.Submitter))
	if err != nil || !bytes.Contains(b, pem.EncodeToMemory(root)) {
		t.Error("the authority is not in the credentials", err)
	}
	// If the authority is not in the file it can be given separately.
	s = served(t, ServeOptions{Cert: cert, Key: cert})
	if e, err := Connect(s.url(), s.Creds(pki.Submitter), ConnectOptions{}); err == nil {
		e.Close()
		t.Error("trusted by nobody, and taken")
	}
	e, err := Connect(s.url(), s.Creds(pki.Submitter), ConnectOptions{CA: ca})
	e2e.Must(t, err)
	e.Close()
}

func TestEmbeddedTwice(t *testing.T) {
	dir := t.TempDir()
	e, err := Embedded(dir, quick)
	e2e.Must(t, err)
	var he *Error
	if again, err := Embedded(dir, quick); again != nil || !errors.As(err, &he) || !strings.Contains(err.Error(), "in use by another process") {
		t.Error(err)
	}
	e2e.Must(t, errors.Join(e.Close(), e.Close()))
	if e, err = Embedded(dir, quick); err != nil {
		t.Fatal(err)
	}
	e2e.Must(t, e.Close())
	file := filepath.Join(dir, "file")
	e2e.Must(t, os.WriteFile(file, nil, 0o600))
	if e, err := Embedded(file, quick); err == nil {
		e.Close()
		t.Error("a file was taken for a folder")
	}
}

// Pieces left by killed processes are removed when the queue is opened again; whole files stay.
func TestRests(t *testing.T) {
	dir := t.TempDir()
	e, err := Embedded(dir, quick)
	e2e.Must(t, err)
	ctx := t.Context()
	e2e.Must(t, e.Blobs().Put(ctx, "whole", strings.NewReader("all of it")))
	for range 3 {
		e2e.Must(t, failure(e.js.PublishMsg(ctx, &nats.Msg{Subject: "$O.vf-blobs.C.lost", Data: make([]byte, 100<<10)})))
	}
	e2e.Must(t, e.Close())
	if e, err = Embedded(dir, quick); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if n := stored(t, e); n > 100<<10 {
		t.Errorf("%d bytes stored", n)
	}
	var got bytes.Buffer
	if err := e.Blobs().Get(ctx, "whole", &got); err != nil || got.String() != "all of it" {
		t.Errorf("%q, %v", &got, err)
	}
}
