package fleet

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream"
	"vidfilter/internal/e2e"
	"vidfilter/internal/e2e/chrome"
)

const (
	operatorToken = "0123456789abcdef"
	viewerToken   = "fedcba9876543210"
	evilName      = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\u202e.mkv"
)

// pageServer is a server with a status page and both tokens, and its queue.
func pageServer(t *testing.T, args ...string) (*server, *jetstream.Engine) {
	t.Helper()
	s := serve(t, t.TempDir(), "127.0.0.1:0", append(args, "--token", operatorToken, "--view-token", viewerToken)...)
	return s, s.engine()
}

// queued submits jobs of a batch that no worker does, and waits until the page has them.
func (s *server) queued(e *jetstream.Engine, batch string, names ...string) (ids []string) {
	s.t.Helper()
	for i, name := range names {
		id := fmt.Sprintf("job%d-%s", i, batch)
		e2e.Must(s.t, e.Submit(s.t.Context(), queue.Job{ID: id, Digest: "d", Title: name, Site: "away", First: queue.Task{Name: "plan", Site: "away"}}, false))
		ids = append(ids, id)
	}
	e2e.Until(s.t, "the page has the jobs", func() bool {
		return s.request("GET", "api/jobs/"+ids[len(ids)-1], viewerToken) == http.StatusOK
	})
	return ids
}

// request returns the code of the page's answer.
func (s *server) request(method, path, token string) int {
	s.t.Helper()
	r := must(http.NewRequest(method, s.Status+path, nil))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	a := must(http.DefaultClient.Do(r))
	_ = a.Body.Close()
	return a.StatusCode
}

// Each action of the page needs the token of --token. Other tokens are refused without effect. A
// viewer's token opens a private page.
func TestPageRights(t *testing.T) {
	e2e.Start(t, true)
	s, e := pageServer(t, "--private")
	id := s.queued(e, "b1--ann", "a.mp4")[0]
	state := func() string {
		j, err := e.Get(t.Context(), id)
		return fmt.Sprintln(j.State, j.Paused, j.Job.Priority, err)
	}
	for _, path := range []string{"api/jobs", "api/history", "api/workers", "events", "metrics"} {
		for token, want := range map[string]int{"": 401, viewerToken: 200, operatorToken: 200} {
			if got := s.request("HEAD", path, token); got != want {
				t.Errorf("%s with token %q: %d, want %d", path, token, got, want)
			}
		}
	}
	for _, v := range []struct{ verb, want string }{
		{"pause", "queued true 0"}, {"resume", "queued false 0"}, {"priority?value=7", "queued false 7"}, {"cancel", "cancelled false 7"},
		{"retry", "queued false 7"}, {"remove", " false 0 " + queue.ErrNoJob.Error()},
	} {
		for _, path := range []string{"api/jobs/" + id + "/", "api/batches/b1--ann/"} {
			before := state()
			for token, want := range map[string]int{"": 401, viewerToken: 403} {
				if got := s.request("POST", path+v.verb, token); got != want || state() != before {
					t.Errorf("%s%s with token %q: %d, and the job is %s", path, v.verb, token, got, state())
				}
			}
		}
		path := "api/jobs/" + id + "/"
		if v.verb == "pause" || v.verb == "remove" {
			path = "api/batches/b1--ann/"
		}
		if got := s.request("POST", path+v.verb, operatorToken); got != 204 || !strings.HasPrefix(state(), v.want) {
			t.Errorf("%s%s: %d, and the job is %s", path, v.verb, got, state())
		}
		e2e.Until(t, "the page knows", func() bool { return v.verb != "remove" || s.request("GET", "api/jobs/"+id, viewerToken) == 404 })
		time.Sleep(50 * time.Millisecond)
	}
	for token, want := range map[string]int{"": 401, viewerToken: 403, operatorToken: 204} {
		if got := s.request("POST", "api/workers/all/pause", token); got != want {
			t.Errorf("pausing all with token %q: %d", token, got)
		}
	}
	for path, want := range map[string]int{"api/workers/ann/pause": 404, "api/workers/ann/resume": 404, "api/batches/none/cancel": 404, "api/batches/none/priority": 400} {
		if got := s.request("POST", path, operatorToken); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if audit := string(e2e.Read(t, s.State+"/audit.log")); strings.Count(audit, `"by":"status page"`) != 7 || !strings.Contains(audit, "worker:all") {
		t.Errorf("the audit log: %s", audit)
	}
}

type tab struct {
	t   *testing.T
	ctx context.Context
}

func (p tab) run(script string, args ...any) {
	p.t.Helper()
	e2e.Must(p.t, chromedp.Do(p.ctx, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(script, args...))))
}

func (p tab) value(expression string) string {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	e2e.Must(p.t, err)
	return v
}

func (p tab) until(expression string, args ...any) {
	p.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	if !e2e.Within(e2e.Patience, func() bool { return p.value("!!("+expression+")") == "true" }) {
		p.t.Fatalf("never: %s; the page has %s", expression, p.value("document.body.innerText"))
	}
}

// click clicks a button of a table by its name for a screen reader.
func (p tab) click(label string) {
	p.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll('button')].find((b) => !b.hidden && (b.ariaLabel || b.textContent) === %q)", label)
	p.until("%s && !%s.disabled", find, find)
	p.run("%s.click(); 0", find)
}

// An operator pauses, resumes, prioritizes, cancels, retries and removes jobs and batches, and
// pauses the queue, on a page that fits a phone, in light and dark, without faults that axe knows.
// A viewer sees the jobs and no button, and names are text.
func TestPageInBrowser(t *testing.T) {
	e2e.Start(t, true)
	s, e := pageServer(t)
	s.queued(e, "b1--ann", evilName, "b.mp4")
	p := tab{t, chrome.Open(t, 5*time.Minute)}
	e2e.Must(t, chromedp.Do(p.ctx, chromedp.Navigate(s.Status)))
	sign := func(token string) {
		p.until("!document.getElementById('token').hidden && !document.getElementById('sign').hidden")
		p.run("document.getElementById('token').value = %q; document.querySelector('#sign [type=submit]').click(); 0", token)
	}
	buttons := "[...document.querySelectorAll('main button')].filter((b) => b.offsetParent && !b.value).length"
	p.until("document.querySelectorAll('#jobs tr').length === 2 && document.getElementById('batches').rows.length === 1")
	if n := p.value(buttons); n != "0" {
		t.Errorf("a stranger has %s buttons", n)
	}
	sign(viewerToken)
	p.until("document.getElementById('forget').offsetParent && document.getElementById('live').textContent === 'live'")
	time.Sleep(time.Second)
	if n := p.value(buttons); n != "0" {
		t.Errorf("a viewer has %s buttons", n)
	}
	p.run("document.getElementById('forget').click(); 0")
	sign(operatorToken)
	p.until("%s > 8", buttons)

	const job, batch = "b.mp4", "batch b1--ann"
	is := func(what string, ok func(j queue.Status) bool) {
		t.Helper()
		e2e.Until(t, what, func() bool {
			j, err := e.Get(t.Context(), "job1-b1--ann")
			return err == nil && ok(j)
		})
	}
	p.click("pause " + job)
	is("paused", func(j queue.Status) bool { return j.Paused })
	p.click("resume " + job)
	is("resumed", func(j queue.Status) bool { return !j.Paused })
	p.click("first " + job)
	is("first", func(j queue.Status) bool { return j.Job.Priority > 0 })
	p.click("in turn " + job)
	is("in turn", func(j queue.Status) bool { return j.Job.Priority == 0 })
	p.click("pause " + batch)
	is("paused with its batch", func(j queue.Status) bool { return j.Paused })
	p.click("cancel " + batch)
	is("cancelled", func(j queue.Status) bool { return j.State == queue.Cancelled && j.Reason == queue.WithBatch })
	p.click("retry " + job)
	is("retried", func(j queue.Status) bool { return j.State == queue.Queued })
	p.click("log of " + job)
	p.until("document.getElementById('log').open && document.querySelector('#log pre').textContent")
	p.run("document.querySelector('#log button').click(); 0")
	p.click("pause the queue")
	p.until("document.getElementById('paused').innerText.includes('The queue is paused')")
	p.click("resume the workers of all")
	p.until("document.getElementById('paused').innerText === ''")

	source, why := chrome.Axe()
	if source == "" {
		t.Log("without axe: " + why)
	} else {
		p.run("%s; 0", source)
	}
	for _, width := range []int64{360, 1280} {
		for _, dark := range []bool{false, true} {
			p.run("document.getElementById('submit').open = %v; 0", dark)
			name := fmt.Sprintf("status-%d-dark-%v", width, dark)
			chrome.Look(t, p.ctx, width, 900, false, dark)
			p.run(`import("./charts.js").then((m) => { const s = (span) => ({ span, words: ["of frames", "of jobs"],
				fps: Array.from({ length: 60 }, (_, i) => Math.max(0, 20 + 20 * Math.sin(i / 5))), done: Array.from({ length: 60 }, (_, i) => i %% 4) });
				m.drawHistory({ hour: s("hour"), day: s("day") }); }); 0`)
			p.until("document.querySelector('#fps path') && document.querySelectorAll('#done rect').length === 45")
			if wide := p.value("document.documentElement.scrollWidth - innerWidth"); wide != "0" {
				t.Errorf("%s: the page is %s pixels too wide", name, wide)
			}
			chrome.Shoot(t, p.ctx, name)
			if source == "" {
				continue
			}
			for _, v := range chrome.Violations(t, p.value) {
				t.Errorf("%s: axe: %v", name, v)
			}
		}
	}
	p.run("document.querySelector('#spans [value=day]').click(); 0")
	p.until("document.querySelector('#fps .from').textContent === '1 day ago'")

	p.run("document.querySelector('[aria-label=\"pause b.mp4\"]').focus(); 0")
	s.queued(e, "b2--ann", "c.mp4") // the page is drawn again
	p.until("document.querySelectorAll('#jobs tr').length === 3")
	if focus := p.value("document.activeElement.ariaLabel"); focus != "pause b.mp4" {
		t.Errorf("the focus went to %s", focus)
	}
	p.click("remove " + batch)
	p.until("document.getElementById('sure').open")
	p.run("document.querySelector('#sure [value=keep]').click(); 0")
	p.click("remove " + batch)
	p.until("document.getElementById('sure').open")
	p.run("document.querySelector('#sure [value=remove]').click(); 0")
	p.until("document.querySelectorAll('#jobs tr').length === 1 && document.querySelectorAll('#batches tr').length === 1")
	if title := p.value("document.title"); strings.Contains(title, "owned") {
		t.Error("a name became part of the page")
	}
}

// A job file is checked, with the line of an error selected, and submitted. The batch waits for an
// agent, which makes its output, and is removed with its jobs.
func TestPageSubmit(t *testing.T) {
	e2e.Start(t, true)
	s, _ := pageServer(t)
	folder, err := filepath.EvalSymlinks(clips(t))
	e2e.Must(t, err)
	out := filepath.Join(folder, "out")
	p := tab{t, chrome.Open(t, 5*time.Minute)}
	e2e.Must(t, chromedp.Do(p.ctx, chromedp.Navigate(s.Status)))
	p.until("!document.getElementById('sign').hidden")
	p.run("document.getElementById('token').value = %q; document.querySelector('#sign [type=submit]').click(); 0", operatorToken)
	p.until("!document.getElementById('submit').hidden")
	p.run("document.getElementById('submit').open = true")
	send := func(document, button string) {
		t.Helper()
		p.run("document.getElementById('submitted').textContent = ''; document.getElementById('document').value = %q; 0", document)
		p.click(button)
	}
	send("output: "+out+"\njobs:\n  - input: "+folder+"/a.mp4\n    option: {}\n", "Check")
	p.until("document.getElementById('submitted').textContent.startsWith('jobs.yaml:4: ') && document.getElementById('submitted').textContent.includes('\\nhint: ')")
	if line := p.value("getSelection().toString() || document.getElementById('document').value.slice(document.getElementById('document').selectionStart, document.getElementById('document').selectionEnd)"); line != "    option: {}" {
		t.Errorf("%q is selected", line)
	}
	for document, want := range map[string]string{
		"output: out\njobs: [/a.mp4]": "not an absolute name", "output: " + out + "\njobs: [/a.mp4]\ndefaults: {crf: x}": "jobs.yaml:3: ",
	} {
		send(document, "Submit")
		p.until("document.getElementById('submitted').textContent.includes(%q)", want)
	}
	good := "output: " + out + "\njobs:\n  - " + folder + "/long.mp4\n"
	send(good, "Check")
	p.until("document.getElementById('submitted').textContent.includes('no errors')")
	send(good, "Submit")
	p.until("document.getElementById('submitted').textContent.includes('waits: no agent for')")
	p.until("document.getElementById('batches').innerText.includes('no agent for')")

	run(t, "serve", "credentials", "issue", "archive", "--role", "agent", "--state", s.State).exit(0)
	run(t, "agent", folder, "--server", s.URL, "--creds", filepath.Join(s.State, "archive.creds"))
	e2e.Until(t, "the agent makes the output", func() bool {
		found, _ := filepath.Glob(filepath.Join(out, "*.mp4"))
		return len(found) == 1
	})
	p.until("document.getElementById('batches').innerText.includes('1 done')")
	p.run("document.querySelector('#batches [aria-label^=remove]').click(); document.querySelector('#sure [value=remove]').click(); 0")
	p.until("document.querySelectorAll('#batches tr, #jobs tr').length === 0")
	e2e.Contains(t, string(e2e.Read(t, s.State+"/audit.log")), `"by":"status-page"`)
}
