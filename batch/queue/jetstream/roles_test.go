package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

// fleet is a server whose workers may have tasks of the site "parts".
type fleet struct {
	*Server
	t     *testing.T
	admin *Admin
	notes log
}

func newFleet(t *testing.T, o ServeOptions) *fleet {
	t.Helper()
	f := &fleet{t: t}
	o.Sites, o.Version = []string{"parts"}, "1.0"
	o.Audit = func(n Note) { f.notes.add(strings.Join([]string{n.By, n.Role, n.Action, n.Job, n.Title}, " ")) }
	f.Server = served(t, o)
	a, err := OpenAdmin(f.dir, f.Addr().String(), pki.Files{})
	e2e.Must(t, err)
	f.admin = a
	return f
}

// issue makes a credential and returns its file.
func (f *fleet) issue(name string, role pki.Role) string {
	f.t.Helper()
	file, err := f.admin.Issue(name, role, "")
	e2e.Must(f.t, err)
	return file
}

// issueAgain issues a second file of a credential. Both are valid.
func (f *fleet) issueAgain(name string) string {
	f.t.Helper()
	file, err := f.admin.Rotate(f.t.Context(), name, true, "")
	e2e.Must(f.t, err)
	return file
}

func (f *fleet) client(name string, role pki.Role) *client {
	f.t.Helper()
	return connect(f.t, f.url(), f.issue(name, role))
}

// raw connects without the restraint of a client. The function returns the subjects that are not
// refused.
func (f *fleet) raw(file string) (nc *nats.Conn, allowed func(subjects ...string) []string) {
	f.t.Helper()
	c, err := pki.ReadCredentials(file)
	e2e.Must(f.t, err)
	conf, err := c.TLS(pki.Files{})
	e2e.Must(f.t, err)
	var errs log
	options := append(c.Options(), nats.Secure(conf), nats.CustomInboxPrefix(inbox(c.Name())), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs.add(err.Error()) }))
	nc, err = nats.Connect(f.url(), options...)
	e2e.Must(f.t, err)
	f.t.Cleanup(nc.Close)
	return nc, func(subjects ...string) (left []string) {
		f.t.Helper()
		e2e.Must(f.t, nc.Flush())
		e2e.Within(3*time.Second, func() bool {
			said := strings.Join(errs.all(), "\n")
			left = slices.DeleteFunc(slices.Clone(subjects), func(s string) bool { return strings.Contains(said, `"`+s+`"`) })
			return len(left) == 0
		})
		return left
	}
}

// task puts a job of one task at "parts" in the queue.
func (f *fleet) task(by queue.Engine, id string) {
	f.t.Helper()
	e2e.Must(f.t, by.Submit(f.t.Context(), queue.Job{ID: id, Site: "nowhere", First: queue.Task{Name: "part-0001", Kind: "part", Site: "parts"}}, false))
}

func (f *fleet) fetch(c *client, site string) (*clientSource, *attempt) {
	f.t.Helper()
	d := &clientSource{c: c, w: queue.Worker{Sites: []string{site}}}
	var m message
	e2e.Until(f.t, "a task", func() bool {
		var err error
		m, err = d.next(f.t.Context())
		e2e.Must(f.t, err)
		return m != nil
	})
	claim, err := fromSubject(m.Subject())
	e2e.Must(f.t, err)
	return d, &attempt{id: newID(), worker: "w", m: m, c: claim}
}

func (f *fleet) give(c *client) *attempt {
	f.t.Helper()
	d, a := f.fetch(c, "parts")
	e2e.Must(f.t, d.take(f.t.Context(), a))
	return a
}

// NATS itself refuses everything that a role does not need: publishing to streams, their API and
// others' names, and subscribing to others' subjects.
func TestRolesAtNATS(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	forbidden := []string{
		"$JS.API.STREAM.DELETE.KV_vf-jobs", "$JS.API.STREAM.PURGE.KV_vf-results", "$JS.API.STREAM.UPDATE.OBJ_vf-blobs", "$JS.API.STREAM.CREATE.x",
		"$JS.API.STREAM.INFO.OBJ_vf-blobs", "$JS.API.STREAM.MSG.GET.KV_vf-jobs", "$JS.API.STREAM.MSG.DELETE.KV_vf-jobs", "$JS.API.INFO",
		"$JS.API.CONSUMER.CREATE.OBJ_vf-blobs.x", "$JS.API.CONSUMER.MSG.NEXT.vf-tasks.on-s_parts", "$JS.API.CONSUMER.DELETE.vf-tasks.on-s_parts",
		"$JS.API.DIRECT.GET.OBJ_vf-blobs", "$JS.ACK.vf-tasks.on-s_parts.1.1.1.1.1", "$KV.vf-jobs.a", "$KV.vf-results.r.a.e.plan", "$KV.vf-workers.x",
		"$O.vf-blobs.C.x", "$O.vf-blobs.M.x", "vf.task.on.s_parts.a.e.part-0001", "vf.event.stop.a.e.job", "vf.event.done.a.e.plan",
		"vf.event.change.a.e.job", "vf.ask.operator.boss.cancel", "vf.ask.worker.other.take", "vf.ask.submitter.other.submit", "_INBOX.other.x", "$SYS.REQ.CLAIMS.UPDATE",
	}
	deaf := []string{">", "_INBOX.>", "_INBOX.other.>", "vf.ask.>", "vf.task.>", "$KV.>", "$O.>", "$JS.>", "vf.drain.other"}
	for _, role := range pki.Roles {
		nc, allowed := f.raw(f.issue("x-"+string(role), role))
		for _, subject := range forbidden {
			e2e.Must(t, nc.Publish(subject, []byte("x")))
		}
		for _, subject := range deaf {
			_, err := nc.SubscribeSync(subject)
			e2e.Must(t, err)
		}
		if left := allowed(append(slices.Clone(forbidden), deaf...)...); len(left) > 0 {
			t.Errorf("%s may use %q", role, left)
		}
	}
	nc, allowed := f.raw(f.Creds(pki.Submitter))
	e2e.Must(t, nc.Publish("vf.drain.all", nil))
	if left := allowed("vf.drain.all"); len(left) > 0 {
		t.Error("a submitter may drain all")
	}
	if s, err := f.e.js.Stream(t.Context(), "KV_vf-jobs"); err != nil || s.CachedInfo().State.Msgs != 0 {
		t.Errorf("the jobs: %v", err)
	}
}

// The server answers only into the inbox of the client that asks. With any other reply subject, a
// client could write to that subject.
func TestAnswerElsewhere(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	f.task(f.Engine(), "a")
	nc, _ := f.raw(f.issue("evil", pki.Worker))
	q, err := pack(&fetchRequest{request{Protocol: queue.Protocol}, []string{"parts"}, false}, nil)
	e2e.Must(t, err)
	for _, reply := range []string{"$KV.vf-jobs.a", "$KV.vf-results.r.a.e.plan", "vf.ask.operator.evil.cancel", "_INBOX.other.x", ""} {
		for _, verb := range []string{"hello", "fetch"} {
			e2e.Must(t, nc.PublishMsg(&nats.Msg{Subject: f.e.names.ask(pki.Worker, "evil", verb), Reply: reply, Data: q.Data}))
		}
	}
	e2e.Must(t, nc.Flush())
	// The server has seen the others when it answers this one.
	e2e.Must(t, failure(connect(t, f.url(), f.Creds(pki.Submitter)).Get(t.Context(), "a")))
	if s, err := f.Engine().Get(t.Context(), "a"); err != nil || s.State != queue.Queued {
		t.Errorf("%+v, %v", s, err)
	}
	if got := f.give(f.client("good", pki.Worker)); got.c.job != "a" {
		t.Errorf("%+v", got)
	}
}

// The server refuses each role the requests that it may not make.
func TestRolesAtHead(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner := f.client("owner", pki.Submitter)
	f.task(owner, "a")
	f.task(owner, "b")
	clients := map[pki.Role]*client{}
	for _, role := range pki.Roles {
		clients[role] = f.client("x-"+string(role), role)
	}
	ctx := t.Context()
	for what, c := range map[string]struct {
		may string // roles
		do  func(c *client) error
	}{
		"submit": {"submitter operator", func(c *client) error {
			return c.Submit(ctx, queue.Job{ID: c.who.name, First: queue.Task{Name: "plan"}}, false)
		}},
		"submit another's": {"operator", func(c *client) error {
			return c.Submit(ctx, queue.Job{ID: "a", First: queue.Task{Name: "plan"}, Digest: "b"}, false)
		}},
		"cancel another's": {"operator", func(c *client) error { return c.Cancel(ctx, "b", "x") }},
		"read":             {"submitter observer operator", func(c *client) error { _, err := c.Get(ctx, "a"); return err }},
		"list":             {"submitter observer operator", func(c *client) error { _, err := c.ask(ctx, "jobs", &request{}); return err }},
		"list workers":     {"submitter observer operator", func(c *client) error { _, err := c.Workers(ctx); return err }},
		"see results":      {"operator", func(c *client) error { _, err := c.Results(ctx, "a"); return err }},
		"fetch parts": {"worker submitter operator", func(c *client) error {
			_, err := (&clientSource{c: c, w: queue.Worker{Sites: []string{"none", "parts"}[1:]}}).next(ctx)
			return err
		}},
		"fetch all": {"submitter operator", func(c *client) error {
			_, err := (&clientSource{c: c, w: queue.Worker{Any: true}}).next(ctx)
			return err
		}},
		"fetch elsewhere": {"submitter operator", func(c *client) error {
			_, err := (&clientSource{c: c, w: queue.Worker{Sites: []string{"none"}}}).next(ctx)
			return err
		}},
		"write a file": {"operator", func(c *client) error { return c.Blobs().Put(ctx, "a/in/0001", strings.NewReader("x")) }},
		"read a file":  {"operator", func(c *client) error { err := c.Blobs().Get(ctx, "a/in/0002", io.Discard); return absent(err) }},
		"pause":        {"operator", func(c *client) error { return errors.Join(c.Pause(ctx, "a", true), c.Pause(ctx, "a", false)) }},
		"pause workers": {"operator", func(c *client) error {
			return errors.Join(c.PauseWorkers(ctx, "none", true), c.PauseWorkers(ctx, "none", false))
		}},
		"read the log":  {"operator", func(c *client) error { _, err := c.Log(ctx, "a"); return err }},
		"list files":    {"operator", func(c *client) error { _, err := c.Blobs().List(ctx, "a/"); return err }},
		"remove a file": {"operator", func(c *client) error { return c.Blobs().Delete(ctx, "a/out/0001.1-x") }},
		"nothing":       {"", func(c *client) error { _, err := c.ask(ctx, "sing", &request{}); return err }},
	} {
		for role, x := range clients {
			err := c.do(x)
			if may := strings.Contains(c.may, string(role)); (err == nil) != may || err != nil && !errors.Is(err, queue.ErrRefused) {
				t.Errorf("%s: %s: %v", role, what, err)
			}
		}
	}
	if notes := f.notes.all(); !slices.Contains(notes, "owner submitter submitted a ") || !slices.Contains(notes, "x-operator operator submitted x-operator ") {
		t.Errorf("the audit log: %q", notes)
	}
}

func absent(err error) error {
	if errors.Is(err, queue.ErrNoBlob) {
		return nil
	}
	return err
}

// A worker has the files and the result of the tasks that it was given, and of no others.
func TestTickets(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, good, evil := f.client("owner", pki.Submitter), f.client("good", pki.Worker), f.client("evil", pki.Worker)
	ctx := t.Context()
	f.task(owner, "a")
	e2e.Must(t, owner.Blobs().Put(ctx, "a/in/0001", strings.NewReader("packets")))
	e2e.Must(t, owner.Blobs().Put(ctx, "a/in/0002", strings.NewReader("other packets")))
	a := f.give(good)
	goods := (&clientSource{c: good}).context(ctx, a)
	var got bytes.Buffer
	if err := good.Blobs().Get(goods, "a/in/0001", &got); err != nil || got.String() != "packets" {
		t.Errorf("%q, %v", &got, err)
	}
	e2e.Must(t, good.Blobs().Put(goods, "a/out/0001.1-x", strings.NewReader("result")))
	for what, err := range map[string]error{
		"another task's packets": good.Blobs().Get(goods, "a/in/0002", io.Discard),
		"its packets, written":   good.Blobs().Put(goods, "a/in/0001", strings.NewReader("x")),
		"another's result":       good.Blobs().Put(goods, "a/out/0002.1-x", strings.NewReader("x")),
		"another job":            good.Blobs().Put(goods, "b/out/0001.1-x", strings.NewReader("x")),
		"no ticket":              good.Blobs().Get(ctx, "a/in/0001", io.Discard),
		"another's ticket":       evil.Blobs().Get(goods, "a/in/0001", io.Discard),
		"another's ticket, put":  evil.Blobs().Put(goods, "a/out/0001.2-x", strings.NewReader("x")),
		"another's ticket, gone": evil.Blobs().Delete(goods, "a/out/0001.1-x"),
		"up":                     good.Blobs().Put(goods, "../a/out/0001.1-x", strings.NewReader("x")),
	} {
		if !errors.Is(err, queue.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	part := ending{How: endDone, Outcome: &queue.Outcome{Result: json.RawMessage(`"mine"`)}}
	false1 := ending{How: endDone, Outcome: &queue.Outcome{End: true, Result: json.RawMessage(`"false"`)}}
	more := ending{How: endDone, Outcome: &queue.Outcome{Next: []queue.Task{{Name: "part-0009"}}}}
	wantErr(t, "another's result was taken", (&clientSource{c: evil}).settle(ctx, a, part), queue.ErrRefused)
	forged := *a
	forged.m = &issuedTask{c: evil, t: &ticket{Subject: a.m.Subject(), Reply: a.m.(*issuedTask).t.Reply, MAC: a.m.(*issuedTask).t.MAC}, body: a.m.Data()}
	wantErr(t, "another's task was taken", (&clientSource{c: evil}).take(ctx, &forged), queue.ErrRefused)
	for what, end := range map[string]ending{"the end of the job": false1, "further tasks": more} {
		if err := (&clientSource{c: good}).settle(ctx, a, end); !errors.Is(err, queue.ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if s, err := owner.Get(ctx, "a"); err != nil || s.State != queue.Running {
		t.Errorf("%+v, %v", s, err)
	}
	e2e.Must(t, (&clientSource{c: good}).settle(ctx, a, part))
	if all, err := owner.Results(ctx, "a"); err != nil || string(all["part-0001"]) != `"mine"` {
		t.Errorf("%s, %v", all, err)
	}
}

// A submitter gets no task on files of another's job, and so cannot report its result.
func TestOthersJobs(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	owner, evil, boss := f.client("owner", pki.Submitter), f.client("evil", pki.Submitter), f.client("boss", pki.Operator)
	e2e.Must(t, owner.Submit(t.Context(), queue.Job{ID: "a", Site: "there", First: queue.Task{Name: "whole", Site: "there"}}, false))
	take := func(c *client) error {
		d, a := f.fetch(c, "there")
		if err := d.take(t.Context(), a); err != nil {
			return err
		}
		return d.settle(t.Context(), a, ending{How: endBack})
	}
	if m, err := (&clientSource{c: evil, w: queue.Worker{Sites: []string{"there"}, Any: true}}).next(t.Context()); m != nil || err != nil {
		t.Errorf("another's task: %v, %v", m, err)
	}
	for _, c := range []*client{owner, boss} {
		if err := take(c); err != nil {
			t.Errorf("%s: %v", c.who.name, err)
		}
	}
	if s, err := owner.Get(t.Context(), "a"); err != nil || s.State.Ended() {
		t.Errorf("%+v, %v", s, err)
	}
}

// Revocation disconnects a worker at work, which reports the reason and cannot connect again.
// Others stay, and the server remembers the revocation after a restart.
func TestRevoke(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	file, other := f.issue("lost", pki.Worker), f.client("other", pki.Worker)
	e, err := Connect(f.url(), file, ConnectOptions{})
	e2e.Must(t, err)
	defer e.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- e.Work(t.Context(), queue.Worker{Name: "w", Sites: []string{"parts"}, Slots: 1}, func(context.Context, queue.Job, queue.Task, func(queue.Progress)) (queue.Outcome, error) {
			return queue.Outcome{}, nil
		})
	}()
	e2e.Until(t, "the worker is there", func() bool {
		all, err := f.Engine().Workers(t.Context())
		e2e.Must(t, err)
		return len(all) == 1 && all[0].Credential == "lost"
	})
	if _, n, err := f.admin.List(t.Context()); err != nil || n["lost"] != 1 || n["other"] != 1 {
		t.Errorf("connected: %v, %v", n, err)
	}
	e2e.Must(t, f.admin.Revoke(t.Context(), "lost", false))
	if err := <-ended; err == nil || !strings.Contains(err.Error(), `the credentials of "lost" were revoked`) || hint.Of(err) == "" {
		t.Errorf("the worker: %v", err)
	}
	refused := func(file string) {
		t.Helper()
		if e, err := Connect(f.url(), file, ConnectOptions{}); err == nil || !strings.Contains(err.Error(), "rejects the credentials") {
			t.Errorf("%v, %v", e, err)
		}
	}
	refused(file)
	if _, err := other.ask(t.Context(), "hello", &request{}); err != nil {
		t.Errorf("another one: %v", err)
	}
	old := f.issue("node", pki.Worker)
	kept := filepath.Join(t.TempDir(), "old.creds")
	b, err := os.ReadFile(old)
	e2e.Must(t, err)
	e2e.Must(t, os.WriteFile(kept, b, 0o600))
	_, err = f.admin.Rotate(t.Context(), "node", true, "")
	e2e.Must(t, err)
	connect(t, f.url(), kept)
	connect(t, f.url(), old)
	e2e.Must(t, f.admin.Revoke(t.Context(), "node", true))
	refused(kept)
	connect(t, f.url(), old)
	e2e.Must(t, f.Close())
	// The registry may be lost: the accounts remember.
	e2e.Must(t, os.Remove(filepath.Join(f.dir, "keys", "credentials.json")))
	f.Server = served(t, ServeOptions{Dir: f.dir})
	refused(file)
	refused(kept)
	connect(t, f.url(), old)
}

// A worker with revoked credentials ends its task, whose result would be refused. A worker whose
// server is away continues its task.
func TestRevokeAtWork(t *testing.T) {
	f := newFleet(t, ServeOptions{Options: Options{AckWait: time.Second}})
	work := func(name string) (begun <-chan context.Context, ended <-chan error, stop func()) {
		c := f.client(name, pki.Worker)
		tasks, end := make(chan context.Context, 1), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		f.task(f.Engine(), name)
		go func() {
			end <- c.Work(ctx, queue.Worker{Name: name, Sites: []string{"parts"}, Slots: 1},
				func(ctx context.Context, _ queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
					tasks <- ctx
					<-ctx.Done()
					return queue.Outcome{}, context.Cause(ctx)
				})
		}()
		return tasks, end, cancel
	}
	begun, ended, _ := work("lost")
	task := <-begun
	e2e.Must(t, f.admin.Revoke(t.Context(), "lost", false))
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), `the credentials of "lost" were revoked`) || !errors.Is(context.Cause(task), errShutOut) {
			t.Errorf("the worker: %v; its task: %v", err, context.Cause(task))
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the task goes on")
	}
	e2e.Must(t, f.Engine().Cancel(t.Context(), "lost", ""))
	begun, ended, stop := work("good")
	task = <-begun
	at := f.Addr().String()
	e2e.Must(t, f.Close())
	select {
	case <-task.Done():
		t.Errorf("the server is away, and the task ended: %v", context.Cause(task))
	case <-time.After(2 * time.Second):
	}
	f.Server = served(t, ServeOptions{Dir: f.dir, Addr: at})
	stop()
	e2e.Must(t, <-ended)
}

// Clients with an unsupported protocol get an error that names the side to update.
func TestProtocol(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	for protocol, want := range map[int]string{queue.Protocol + 1: "update the machine of the queue", queue.OldestProtocol - 1: "update this one"} {
		if protocol == 0 {
			protocol = -1 // 0 stands for the present one
		}
		e, err := Connect(f.url(), f.Creds(pki.Worker), ConnectOptions{Version: "9.9", protocol: protocol})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "9.9") || !strings.Contains(err.Error(), "vidfilter 1.0") {
			t.Errorf("%v: %v", e, err)
		}
	}
	e, err := Connect(f.url(), f.Creds(pki.Worker), ConnectOptions{Version: "9.9"})
	e2e.Must(t, err)
	e2e.Must(t, e.Close())
}

// A drained worker finishes its task, takes no other, and returns.
func TestDrain(t *testing.T) {
	f := newFleet(t, ServeOptions{})
	boss, owner := f.client("boss", pki.Operator), f.client("owner", pki.Submitter)
	f.path("node")
	for _, drain := range []func() error{
		func() error { return boss.Drain("node") }, func() error { return f.admin.Drain("node", "") }, func() error { return boss.Drain(everyone) },
	} {
		if err := drain(); err == nil || !strings.Contains(err.Error(), "nobody to drain") || hint.Of(err) == "" {
			t.Errorf("nobody is there: %v", err)
		}
		w := connect(t, f.url(), map[bool]string{true: f.path("node"), false: f.path("node")}[true])
		began, release, ended := make(chan string, 4), make(chan bool), make(chan error, 1)
		id := newID()
		f.task(owner, id)
		f.task(owner, id+"-2")
		go func() {
			ended <- w.Work(t.Context(), queue.Worker{Name: "w", Sites: []string{"parts"}, Slots: 1},
				func(_ context.Context, j queue.Job, _ queue.Task, _ func(queue.Progress)) (queue.Outcome, error) {
					began <- j.ID
					<-release
					return queue.Outcome{Result: json.RawMessage(`"x"`)}, nil
				})
		}()
		first := <-began
		e2e.Must(t, drain())
		e2e.Until(t, "the worker drains", func() bool {
			all, err := f.Engine().Workers(t.Context())
			e2e.Must(t, err)
			return slices.ContainsFunc(all, func(w queue.WorkerStatus) bool { return w.Draining && w.Busy == 1 })
		})
		close(release)
		e2e.Must(t, <-ended)
		if len(began) > 0 {
			t.Error("it took another task")
		}
		if all, err := owner.Results(t.Context(), first); err != nil || string(all["part-0001"]) != `"x"` {
			t.Errorf("the result of the drained worker: %v, %v", all, err)
		}
		for _, id := range []string{id, id + "-2"} {
			e2e.Must(t, owner.Cancel(t.Context(), id, "x"))
		}
	}
}

// path returns the file of a worker's credential, which it issues once.
func (f *fleet) path(name string) string {
	f.t.Helper()
	file := filepath.Join(f.dir, name+".creds")
	if _, err := os.Stat(file); err != nil {
		return f.issue(name, pki.Worker)
	}
	return file
}

// Quotas limit a file, the files of a job, and all.
func TestQuota(t *testing.T) {
	f := newFleet(t, ServeOptions{Quota: Quota{Store: 20 << 20, Job: 5 << 20, Object: 3 << 20}})
	c := f.client("owner", pki.Submitter)
	ctx := t.Context()
	put := func(name string, size int) error {
		return c.Blobs().Put(ctx, name, bytes.NewReader(make([]byte, size)))
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		f.task(c, id)
	}
	if err := put("a/in/0001", 4<<20); !errors.Is(err, queue.ErrQuota) || !strings.Contains(err.Error(), "--max-object") {
		t.Errorf("a large file: %v", err)
	}
	for _, name := range []string{"a/in/0001", "a/in/0002"} {
		e2e.Must(t, put(name, 2<<20))
	}
	if err := put("a/in/0003", 2<<20); !errors.Is(err, queue.ErrQuota) || !strings.Contains(err.Error(), "--max-job") {
		t.Errorf("too many files: %v", err)
	}
	for _, name := range []string{"b/in/0001", "b/in/0002"} {
		e2e.Must(t, put(name, 2<<20))
	}
	if err := put("d/in/0001", 1<<20); !errors.Is(err, queue.ErrStoreFull) || !strings.Contains(err.Error(), `for "owner"`) {
		t.Errorf("packets of a credential that has most of them: %v", err)
	}
	other := f.client("other", pki.Submitter)
	f.task(other, "e")
	e2e.Must(t, other.Blobs().Put(ctx, "e/in/0001", bytes.NewReader(make([]byte, 2<<20))))
	wantErr(t, "packets in a store that is half full", other.Blobs().Put(ctx, "e/in/0002", bytes.NewReader(make([]byte, 2<<20))), queue.ErrStoreFull)
	false1 := pieceRequest{fileRequest{request{data: []byte("a piece")}, "e/out/0001.1-x"}, newID(), 0}
	_, err := other.ask(ctx, "piece-in", &false1)
	e2e.Must(t, err)
	whole := fileInRequest{fileRequest{Name: false1.Name}, false1.NUID, &jetstream.ObjectInfo{Size: 1, Chunks: 1}}
	wantErr(t, "a file of another size than its pieces", failure(other.ask(ctx, "file-in", &whole)), errMalformed)
	e2e.Must(t, put("d/out/0001.1-x", 2<<20))
	wantErr(t, "a large job", c.Submit(ctx, queue.Job{ID: "big", Title: strings.Repeat("x", 65<<10), First: queue.Task{Name: "plan"}}, false), queue.ErrQuota)
	used, limit, err := f.Store()
	if err != nil || used < 12<<20 || limit != 20<<20 {
		t.Errorf("%d of %d, %v", used, limit, err)
	}
	for id := range maps.Keys(map[string]bool{"a": true, "b": true}) {
		names, err := c.Blobs().List(ctx, id+"/")
		e2e.Must(t, err)
		for _, n := range names {
			e2e.Must(t, c.Blobs().Delete(ctx, n))
		}
	}
	e2e.Until(t, "there is room again", func() bool { return put("d/in/0001", 1<<20) == nil })
}
