package jetstream

import (
	"context"
	"testing"
	"time"

	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

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
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Passwords stay out of errors.
func TestRedacted(t *testing.T) {
	got := redacted("nats://ann:secret@a:4222,tls://b:4222,nats://token@c")
	if want := "nats://...@a:4222,tls://b:4222,nats://...@c"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
