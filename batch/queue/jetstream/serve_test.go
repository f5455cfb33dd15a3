package jetstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

func served(t *testing.T, o ServeOptions) *Server {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.AckWait == 0 {
		o.Options = quick
	}
	o.Log = logTo(t.Output()).With("of", "server")
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	s, err := Serve(o)
	e2e.Must(t, err)
	t.Cleanup(func() {
		e2e.Must(t, s.Close())
	})
	return s
}

func (s *Server) url() string { return "tls://" + s.Addr().String() }

func connect(t *testing.T, url, creds string) *client {
	t.Helper()
	o := quick
	o.AckWait = 0 // the server's
	o.Log = logTo(t.Output()).With("of", "client")
	e, err := Connect(url, creds, ConnectOptions{Options: o})
	e2e.Must(t, err)
	t.Cleanup(func() { e.Close() })
	return e.(*client)
}

func TestBlobsThroughTLS(t *testing.T) {
	s := served(t, ServeOptions{})
	c := connect(t, s.url(), s.Creds(pki.Submitter))
	submit(t, c, queue.Job{ID: "a", Site: "nowhere"}, false)
	b := c.Blobs()
	data := make([]byte, 20<<20)
	rand.Read(data)
	ctx := t.Context()
	e2e.Must(t, b.Put(ctx, "a/part 1.mkv", bytes.NewReader(data)))
	e2e.Must(t, b.Put(ctx, "a/empty", strings.NewReader("")))
	for from, b := range map[string]queue.Blobs{"the server": s.Engine().Blobs(), "a client": b} {
		var got bytes.Buffer
		if err := b.Get(ctx, "a/part 1.mkv", &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%s: %d bytes, %v", from, got.Len(), err)
		}
		if err := b.Get(ctx, "a/empty", &got); err != nil || got.Len() != len(data) {
			t.Errorf("%s: %d bytes, %v", from, got.Len(), err)
		}
	}
	for prefix, want := range map[string][]string{"a/": {"a/empty", "a/part 1.mkv"}, "a/p": {"a/part 1.mkv"}, "a/c": nil} {
		if names, err := b.List(ctx, prefix); err != nil || !slices.Equal(names, want) {
			t.Errorf("%q: %v, %v", prefix, names, err)
		}
	}
	if n := stored(t, s.Engine()); n < uint64(len(data)) {
		t.Errorf("%d bytes stored", n)
	}
	for range 2 {
		e2e.Must(t, b.Delete(ctx, "a/part 1.mkv"))
	}
	wantErr(t, "a deleted file", b.Get(ctx, "a/part 1.mkv", io.Discard), queue.ErrNoBlob)
	if n := stored(t, s.Engine()); n > 1<<20 {
		t.Errorf("%d bytes stored", n)
	}
}

// Transfers survive a killed server, in both directions.
func TestBlobsAndKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, out := spawn(t, "serve", dir, "127.0.0.1:0")
	addr := strings.TrimPrefix(line(t, out, "serving"), "serving ")
	c := connect(t, "tls://"+addr, filepath.Join(dir, "submitter.creds"))
	submit(t, c, queue.Job{ID: "a", Site: "nowhere"}, false)
	b := c.Blobs()
	data := make([]byte, 9<<20+1)
	rand.Read(data)
	passed := 0
	restart := func(p []byte) {
		if passed += len(p); passed > 3<<20 && cmd != nil {
			kill(cmd)
			cmd = nil
			_, out := spawn(t, "serve", dir, addr)
			line(t, out, "serving")
		}
	}
	if err := b.Put(t.Context(), "a/x", io.TeeReader(bytes.NewReader(data), writerFunc(func(p []byte) (int, error) {
		restart(p)
		return len(p), nil
	}))); err != nil {
		t.Fatal(err)
	}
	if passed != len(data) || cmd != nil {
		t.Errorf("%d bytes read, killed: %v", passed, cmd == nil)
	}
	var got bytes.Buffer
	if err := b.Get(t.Context(), "a/x", &got); err != nil || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
}

// Readers and writers may fail; a file that was not stored whole does not exist.
func TestBlobsFail(t *testing.T) {
	e := embedded(t, quick)
	b := e.Blobs()
	ctx := t.Context()
	wantErr(t, "a reader that fails", b.Put(ctx, "a", io.MultiReader(bytes.NewReader(make([]byte, 3<<20)), iotest.ErrReader(errBusy))), errBusy)
	wantErr(t, "a file that was not stored whole", b.Get(ctx, "a", io.Discard), queue.ErrNoBlob)
	if n := stored(t, e); n > 1<<20 {
		t.Errorf("%d bytes stored", n)
	}
	for _, text := range []string{"first", "second"} {
		e2e.Must(t, b.Put(ctx, "a", strings.NewReader(text)))
		var got bytes.Buffer
		if err := b.Get(ctx, "a", &got); err != nil || got.String() != text {
			t.Errorf("%q, %v", &got, err)
		}
	}
	err := b.Get(ctx, "a", writerFunc(func([]byte) (int, error) { return 0, errBusy }))
	if !errors.Is(err, errBusy) {
		t.Error(err)
	}
}

// Each refusal names the missing or invalid part.
func TestRefused(t *testing.T) {
	one, other := served(t, ServeOptions{}), served(t, ServeOptions{})
	read := func(file string) string {
		b := e2e.Read(t, file)
		return string(b)
	}
	write := func(parts ...string) string {
		file := filepath.Join(t.TempDir(), "creds")
		e2e.Must(t, os.WriteFile(file, []byte(strings.Join(parts, "")), 0o600))
		return file
	}
	split := func(creds string) (user, roots, client string) {
		i := regexp.MustCompile("-----BEGIN CERTIFICATE").FindAllStringIndex(creds, -1)
		return creds[:i[0][0]], creds[i[0][0]:i[1][0]], creds[i[1][0]:]
	}
	user, roots, client := split(read(one.Creds(pki.Submitter)))
	user2, roots2, client2 := split(read(other.Creds(pki.Submitter)))

	for name, c := range map[string]struct{ url, creds, want, hint string }{
		"no server":         {"tls://127.0.0.1:1", one.Creds(pki.Submitter), "connection refused", "vidfilter serve"},
		"no file":           {one.url(), "/nowhere", "no such file", "worker.creds"},
		"not a file of it":  {one.url(), write("hello"), "holds no credentials", "worker.creds"},
		"no credentials":    {one.url(), "", "not signed by an authority", "worker.creds"},
		"no certificate":    {one.url(), write(user, roots), "asks for a client certificate", "--creds"},
		"their certificate": {one.url(), write(user, roots, client2), "asks for a client certificate", "--creds"},
		"their authority":   {one.url(), write(user, roots2, client), "not signed by an authority", "worker.creds"},
		"their user":        {one.url(), write(user2, roots, client), "rejects the credentials", "worker.creds"},
		"all of it theirs":  {one.url(), other.Creds(pki.Submitter), "not signed by an authority", "worker.creds"},
		"another's key":     {one.url(), write(user, roots, client[:strings.Index(client, "-----BEGIN PRIVATE")], client2[strings.Index(client2, "-----BEGIN PRIVATE"):]), "no certificate fits", "worker.creds"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Connect(c.url, c.creds, ConnectOptions{})
			var he *Error
			if e != nil || !errors.As(err, &he) || !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.hint) {
				t.Errorf("%v", err)
			}
			t.Log(err, "/", hint.Of(err))
		})
	}
	if e, err := Connect(one.url(), write(user, roots, client), ConnectOptions{}); err != nil {
		t.Error("all of it:", err)
	} else {
		e.Close()
	}
}

// Errors report a wrong clock, on either side.
func TestClocks(t *testing.T) {
	old := x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: time.Now().AddDate(1, 0, 0)}, Reason: x509.Expired}
	for _, c := range []struct {
		err        error
		want, hint string
	}{
		{&tls.CertificateVerificationError{Err: old}, "the clock of this machine says 20", "set the clock"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: expired certificate")}, "another time", "compare the clocks of both machines: this one says 20"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, "asks for a client certificate", "--creds"},
	} {
		err := connectError("tls://head:1", "w.creds", c.err)
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(hint.Of(err), c.hint) {
			t.Errorf("%v: %v; %s", c.err, err, hint.Of(err))
		}
	}
}

func TestServeTwice(t *testing.T) {
	s := served(t, ServeOptions{})
	for _, c := range []struct {
		o    ServeOptions
		want string
	}{
		{ServeOptions{Dir: filepath.Dir(s.Creds(pki.Submitter)), Addr: "127.0.0.1:0"}, "in use by another"},
		{ServeOptions{Dir: t.TempDir(), Addr: s.Addr().String()}, "is in use"},
		{ServeOptions{Dir: t.TempDir(), Addr: "here"}, "listen address"},
		{ServeOptions{Dir: t.TempDir(), Cert: "x"}, "needs its key"},
	} {
		again, err := Serve(c.o)
		var he *Error
		if again != nil || !errors.As(err, &he) || hint.Of(err) == "" || !strings.Contains(err.Error(), c.want) {
			t.Error(err)
		}
	}
	before := e2e.Read(t, s.Creds(pki.Submitter))
	e2e.Must(t, s.Close())
	again := served(t, ServeOptions{Dir: filepath.Dir(s.Creds(pki.Submitter))})
	after, err := os.ReadFile(again.Creds(pki.Submitter))
	if err != nil || !bytes.Equal(before, after) {
		t.Error("another file at the second start", err)
	}
}

// The lease is stored with the queue, until somebody sets another.
func TestLease(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ asked, want time.Duration }{
		{0, 30 * time.Second}, {2 * time.Second, 2 * time.Second}, {0, 2 * time.Second}, {5 * time.Minute, 5 * time.Minute}, {0, 5 * time.Minute},
	} {
		s, err := Serve(ServeOptions{Dir: dir, Addr: "127.0.0.1:0", Options: Options{AckWait: c.asked}})
		e2e.Must(t, err)
		e, err := Connect(s.Addr().String(), s.Creds(pki.Submitter), ConnectOptions{})
		e2e.Must(t, err)
		ctx := context.Background()
		consumer, err := s.e.consumer(ctx, classOn, anySite)
		e2e.Must(t, err)
		ttl, err := s.e.workers.Status(ctx)
		e2e.Must(t, err)
		if got := consumer.CachedInfo().Config.AckWait; got != c.want || e.(*client).o.AckWait != c.want || ttl.TTL() != c.want {
			t.Errorf("asked for %v: consumer %v, engine %v, bucket %v, want %v", c.asked, got, e.(*client).o.AckWait, ttl.TTL(), c.want)
		}
		e2e.Must(t, e.Close())
		e2e.Must(t, s.Close())
	}
}

// Passwords stay out of errors.
func TestRedacted(t *testing.T) {
	got := redacted("nats://ann:secret@a:4222,tls://b:4222,nats://token@c")
	if want := "nats://...@a:4222,tls://b:4222,nats://...@c"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
