package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// Engine is a queue.Engine that keeps its state in the streams of a NATS server.
type Engine struct {
	link
	js jetstream.JetStream

	tasks   jetstream.Stream
	jobs    bucket
	results bucket
	workers bucket
	logs    bucket
	objects jetstream.ObjectStore
	files   jetstream.Stream // of objects

	failures failureRecords // of workers whose attempts end here
	// encodes the site of a credential's task; siteToken but at a server
	token func(user, site string) string
	parts []string // sites whose tasks workers of all credentials do; nil but at a server
	// why the workers of a credential get no tasks, or ""; may be nil
	heldFor func(credential string) string
	// the jobs that Sweep may have to mend, some with their records; nil: it reads all
	unsettled func() []storedRecord
	// told of each file and its size, or -1 if it is gone; may be nil
	fileChanged func(name string, size int64)

	alone    bool        // embedded: no other client can connect
	maxBytes int         // of a message
	tight    atomic.Bool // the store is nearly full: no logs are kept
	forgets  atomic.Bool // there may be markers of jobs that Forget removed
}

var _ queue.Engine = (*Engine)(nil)

// open makes an engine on a connection, and the missing streams and buckets. It takes the
// connection.
func open(nc *nats.Conn, o Options) (*Engine, error) {
	o = o.withDefaults()
	e := &Engine{link: newLink(nc, o), maxBytes: int(nc.MaxPayload()) - 4096, token: func(_, site string) string { return siteToken(site) }}
	if err := e.setUpPatiently(); err != nil {
		e.Close()
		return nil, setUpError(err)
	}
	return e, nil
}

// setUpPatiently waits for a cluster that has no leader yet and does not answer until then.
func (e *Engine) setUpPatiently() error {
	for start := time.Now(); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		err := e.setUp(ctx)
		cancel()
		most := 30 * time.Second
		if errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) { // or its server has yet to hear of it
			most = 3 * time.Second
		} else if !isTimeout(err) && !isUnavailable(err) {
			return err
		}
		if time.Since(start) > most {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// isUnavailable reports whether JetStream is not ready yet.
func isUnavailable(err error) bool {
	const (
		temporarilyUnavailable = 10008 // JSClusterNotAvail
		accountNotFound        = 10035 // JSNoAccount: the server asks the others for it
	)
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == temporarilyUnavailable || api.ErrorCode == accountNotFound)
}

// setUp makes missing streams and buckets.
func (e *Engine) setUp(ctx context.Context) (err error) {
	if e.js, err = jetstream.New(e.nc); err != nil {
		return err
	}
	if e.tasks, err = e.stream(ctx, jetstream.StreamConfig{
		Name:                 e.names.tasks(),
		Subjects:             []string{e.names.allTasks()},
		Retention:            jetstream.WorkQueuePolicy,
		Storage:              jetstream.FileStorage,
		MaxMsgsPerSubject:    1, // queueing a task twice has no effect
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		Replicas:             max(1, e.o.Replicas),
	}); err != nil {
		return err
	}
	if e.jobs, err = e.bucket(ctx, e.names.jobs(), 0, 0); err != nil {
		return err
	}
	if e.results, err = e.bucket(ctx, e.names.results(), 0, 0); err != nil {
		return err
	}
	if e.workers, err = e.bucket(ctx, e.names.workers(), e.o.AckWait, 0); err != nil {
		return err
	}
	if e.logs, err = e.bucket(ctx, e.names.logs(), 0, mostLogs); err != nil {
		return err
	}
	if err := e.lease(ctx); err != nil {
		return err
	}
	return e.objectStore(ctx)
}

// stream returns a stream, after making it or changing its number of replicas.
func (e *Engine) stream(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	s, err := e.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = e.js.CreateStream(ctx, want)
		// another process starts at the same time
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return e.js.Stream(ctx, want.Name)
		}
		return s, err
	}
	if err != nil {
		return nil, err
	}
	return e.replicate(ctx, s)
}

func (e *Engine) replicate(ctx context.Context, s jetstream.Stream) (jetstream.Stream, error) {
	c := s.CachedInfo().Config
	if e.o.Replicas == 0 || c.Replicas == e.o.Replicas {
		return s, nil
	}
	c.Replicas = e.o.Replicas
	return e.js.UpdateStream(ctx, c)
}

// bucket is a key-value bucket and its stream.
type bucket struct {
	jetstream.KeyValue
	stream jetstream.Stream
}

// subject returns the subject of a key, which may have wildcards.
func (b bucket) subject(key string) string { return "$KV." + b.Bucket() + "." + key }

// erase removes the messages of keys.
func (b bucket) erase(ctx context.Context, keys string) error {
	return b.stream.Purge(ctx, jetstream.WithPurgeSubject(b.subject(keys)))
}

// bucket returns a key-value bucket, of the latest entries if most is not 0. Unlike
// nats.go, it reads keys from the leader only: a lagging replica would miss a job that was just
// submitted. It is created like that rather than changed later, since a kill while a server
// rewrites a stream's configuration makes it drop the stream.
func (e *Engine) bucket(ctx context.Context, name string, ttl time.Duration, most int64) (b bucket, err error) {
	discard := jetstream.DiscardNew
	if most > 0 {
		discard = jetstream.DiscardOld
	}
	window := 2 * time.Minute
	if ttl > 0 {
		window = min(window, ttl)
	}
	if b.stream, err = e.stream(ctx, jetstream.StreamConfig{
		Name:              "KV_" + name,
		Subjects:          []string{"$KV." + name + ".>"},
		MaxMsgsPerSubject: 1,
		MaxAge:            ttl,
		Duplicates:        window,
		Storage:           jetstream.FileStorage,
		Replicas:          max(1, e.o.Replicas),
		AllowRollup:       true,
		DenyDelete:        true,
		Discard:           discard,
		MaxMsgs:           cmp.Or(most, -1),
	}); err != nil {
		return b, err
	}
	b.KeyValue, err = e.js.KeyValue(ctx, name)
	return b, err
}

func (e *Engine) objectStore(ctx context.Context) (err error) {
	e.objects, err = e.js.ObjectStore(ctx, e.names.blobs())
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		e.objects, err = e.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{
			Bucket: e.names.blobs(), Storage: jetstream.FileStorage, Replicas: max(1, e.o.Replicas),
		})
	}
	if err != nil {
		return err
	}
	if e.files, err = e.js.Stream(ctx, "OBJ_"+e.names.blobs()); err != nil {
		return err
	}
	e.files, err = e.replicate(ctx, e.files)
	return err
}

func consumerName(class, site string) string { return class + "-" + site }

// consumerEnds returns the idle time after which the consumer of a site ends. Consumers of unused
// folders would stay otherwise.
func (e *Engine) consumerEnds() time.Duration { return max(10*time.Minute, 10*e.o.AckWait) }

// consumer returns the consumer of a class and site. The first worker sets its AckWait.
func (e *Engine) consumer(ctx context.Context, class, site string) (jetstream.Consumer, error) {
	c, err := e.tasks.Consumer(ctx, consumerName(class, site))
	if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return c, err
	}
	return e.tasks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable:           consumerName(class, site),
		FilterSubject:     e.names.task(class, site, all, all, all),
		AckPolicy:         jetstream.AckExplicitPolicy,
		AckWait:           e.o.AckWait,
		MaxDeliver:        -1, // attempts are counted in tries
		MaxAckPending:     -1,
		MaxRequestBatch:   1,
		InactiveThreshold: e.consumerEnds(),
		// An embedded queue ends with its workers, so their tasks are free when it is opened
		// again.
		MemoryStorage: e.alone,
	})
}

// lease agrees with the server on how long a worker may be silent: as in Options if set,
// otherwise as stored with the queue. Connected workers keep the old value until they reconnect.
func (e *Engine) lease(ctx context.Context) error {
	c := e.workers.stream.CachedInfo().Config
	asked := e.o.AckWait
	if !e.o.lease || asked == c.MaxAge {
		e.o.AckWait = c.MaxAge
		return nil
	}
	c.MaxAge = asked
	c.Duplicates = min(c.Duplicates, asked)
	if _, err := e.js.UpdateStream(ctx, c); err != nil {
		return fmt.Errorf("queue: setting the lease: %w", err)
	}
	list := e.tasks.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Config.AckWait == asked {
			continue
		}
		info.Config.AckWait = asked
		if _, err := e.tasks.UpdateConsumer(ctx, info.Config); err != nil {
			return fmt.Errorf("queue: setting the lease: %w", err)
		}
	}
	return list.Err()
}
