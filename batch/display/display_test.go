package display

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func (c *clock) at(seconds float64) { c.now = begin.Add(time.Duration(seconds * float64(time.Second))) }

// testScreen returns a screen that stays empty until it is flushed.
func testScreen(w io.Writer, mode string) *terminal.Screen {
	c := terminal.NewScreen(terminal.Stdio{Err: w}, terminal.ScreenOptions{Progress: mode, Patient: true})
	c.Mode = mode
	return c
}

// testDisplay returns a display that the test draws.
func testDisplay(mode string) (*Display, *clock, *bytes.Buffer) {
	c, b := &clock{begin}, new(bytes.Buffer)
	return newDisplay(testScreen(b, mode), Options{Now: func() time.Time { return c.now }}), c, b
}

func job(title string, state queue.State, tasks, finished int, active ...queue.Active) queue.Status {
	s := queue.Status{
		Job:   queue.Job{ID: title, Title: title, Retries: 3, First: queue.Task{Name: "plan"}},
		State: state, Tasks: tasks, Finished: finished, Planned: max(0, tasks-2), Active: active, Submitted: begin,
	}
	if state != queue.Queued {
		s.Started = begin
	}
	if state.Ended() {
		s.Ended = begin.Add(50 * time.Second)
	}
	return s
}

func task(name string, frames, total int64, fps float64) queue.Active {
	kind, _, _ := strings.Cut(name, "-")
	return queue.Active{Task: name, Kind: kind, Attempt: 1, Progress: queue.Progress{Frames: frames, Total: total, FPS: fps, Bytes: frames * 1000}}
}

func waiting(note string) queue.Active {
	a := task("whole", 0, 0, 0)
	a.Progress.Note = note
	return a
}

// night fills a display with a batch after 40 s.
func night(d *Display, c *clock) {
	old := job("before.mkv", queue.Done, 2, 2)
	old.Ended = begin.Add(-time.Hour)
	d.Update(old)
	for _, n := range []string{"b.mkv", "c.mkv"} {
		d.Update(job(n, queue.Queued, 1, 0))
	}
	failed := job("damaged.mkv", queue.Failed, 1, 0)
	failed.Reason = "no video in it"
	d.Update(failed)
	for s := 0.0; s <= 40; s++ {
		c.at(s)
		d.Update(job("tape01.mkv", queue.Running, 2, 1, task("whole", int64(30*s), 3000, 30)))
		d.Update(job("a concert of some length, second evening.mkv", queue.Running, 14, 4,
			task("part-0003", int64(10*s), 1000, 10), task("part-0004", int64(10*s), 1000, 10)))
		d.Update(job("\x1b[2J日本語のテープ.mkv", queue.Running, 1, 0, task("plan", 0, 0, 0)))
		d.Update(job("away.mkv", queue.Running, 2, 1, waiting("the mount /tapes is away")))
	}
}

func joined(all []terminal.ScreenLine) string {
	var b strings.Builder
	for _, l := range all {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

func TestBarLines(t *testing.T) {
	for width, want := range map[int]string{
		20: `tape01.mkv      40%
a conc…ng.mkv   31%
\u001b…プ.mkv    0%
away.mkv       the…
paused: 1.2 GB fre…
1/8 jobs        24%
`,
		40: `tape01.mkv            40%     1:00 left
a concert…ening.mkv   31%     6:50 left
\u001b[2J…ープ.mkv     0%
away.mkv             the mount /tapes …
paused: 1.2 GB free on /x, 2 GB wanted
1/8 jobs, 1 failed    24%
`,
		80: `tape01.mkv      [##----]   40%     1:00 left   30.0 fps  1200/3000 frames
a conc…ing.mkv  [#-----]   31%     6:50 left   20.0 fps  3/12 parts, 2 at work
\u001b…プ.mkv   [------]    0%                           preparing
away.mkv        the mount /tapes is away
paused: 1.2 GB free on /x, 2 GB wanted
1/8 jobs        [#-----]   24%                 50.0 fps  2000 frames
`,
		120: `tape01.mkv                          [##########----------------]   40%     1:00 left   30.0 fps  1200/3000 frames
a concert of som…econd evening.mkv  [########------------------]   31%     6:50 left   20.0 fps  3/12 parts, 2 at work
\u001b[2J日本語のテープ.mkv         [--------------------------]    0%                           preparing
away.mkv                            the mount /tapes is away
paused: 1.2 GB free on /x, 2 GB wanted
1/8 jobs, 1 failed                  [######--------------------]   24%                 50.0 fps  2000 frames
`,
	} {
		d, c, _ := testDisplay("bar")
		d.t = tally.New(tally.Options{Weigh: func(queue.Job) int64 { return 1e9 }})
		night(d, c)
		d.Note("paused: 1.2 GB free on /x, 2 GB wanted")
		if got := joined(d.lines(width-1, 23)); got != want {
			t.Errorf("width %d: got\n%s\nwant\n%s", width, got, want)
		}
	}
}

// The lines fit any size, and the whole is shown if there is a row.
func TestBarFits(t *testing.T) {
	d, c, _ := testDisplay("bar")
	night(d, c)
	d.Note("paused")
	for width := range 130 {
		for rows := range 10 {
			all := d.lines(width, rows)
			for _, l := range all {
				if text.Columns(l.Text) > width {
					t.Errorf("width %d: %q", width, l.Text)
				}
			}
			if len(all) > max(1, rows) || len(all) == 0 || width >= 20 && !strings.HasPrefix(all[len(all)-1].Text, "1/8") {
				t.Errorf("%d columns, %d rows:\n%s", width, rows, joined(all))
			}
		}
	}
}

func TestMoreJobsThanRows(t *testing.T) {
	d, c, _ := testDisplay("bar")
	night(d, c)
	want := "tape01.mkv            40%     1:00 left\nand 3 more\n1/8 jobs, 1 failed    24%     7:33 left\n"
	if got := joined(d.lines(39, 3)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// played returns the rows that a terminal shows for a Display's output.
func played(s string) []string {
	rows, y := []string{""}, 0
	for s != "" {
		var n int
		switch {
		case strings.HasPrefix(s, "\r"):
			s = s[1:]
		case strings.HasPrefix(s, "\n"):
			s, y = s[1:], y+1
			if y == len(rows) {
				rows = append(rows, "")
			}
		case strings.HasPrefix(s, "\x1b[J"):
			s, rows = s[3:], append(rows[:y], "")
		case strings.HasPrefix(s, "\x1b["):
			fmt.Sscanf(s, "\x1b[%dA", &n)
			s, y = s[strings.Index(s, "A")+1:], y-n
		default:
			rows[y] += s[:1]
			s = s[1:]
		}
	}
	return rows
}

func TestBarStream(t *testing.T) {
	width := 60
	d, c, b := testDisplay("bar")
	d.Size = func() (int, int) { return width, 24 }
	d.Flush()
	if b.String() != "" {
		t.Errorf("%q for nothing", b)
	}
	d.Update(job("a.mkv", queue.Running, 2, 1, task("whole", 0, 100, 0)))
	d.Update(job("b.mkv", queue.Queued, 1, 0))
	d.Flush()
	c.at(1)
	d.Warn("mind\nthe gap")
	d.Warn("mind\nthe gap")
	again := job("b.mkv", queue.Running, 1, 0, task("plan", 0, 0, 0))
	again.Retried = 2
	d.Update(again)
	d.Flush()
	rows := played(b.String())
	want := []string{`vidfilter: warning: mind\u000athe gap`, "vidfilter: tried again: b.mkv (2 times so far)", "a.mkv", "b.mkv", "0/2 jobs", ""}
	for i := range want {
		if len(rows) != len(want) || !strings.HasPrefix(rows[i], want[i]) {
			t.Fatalf("got %q, want %q", rows, want)
		}
	}
	d.Update(job("a.mkv", queue.Done, 2, 2))
	failed := job("b.mkv", queue.Failed, 1, 0)
	failed.Retried, failed.Reason = 2, "no video\x1b[2J in it"
	d.Update(failed)
	d.Flush()
	c.at(50)
	d.Close()
	rows = played(b.String())
	text := strings.Join(rows[2:], "\n")
	if text != "vidfilter: done: a.mkv, 100 frames in 0:50 (2.0 fps)\nvidfilter: failed: b.mkv: no video\\u001b[2J in it\n"+
		"vidfilter: 1 of 2 jobs done, 1 failed, 100 frames in 0:50 (2.0 fps)\n" {
		t.Error(text)
	}
}

// A terminal that has become narrower has wrapped the lines, so there are more to erase.
func TestNarrower(t *testing.T) {
	width := 100
	d, _, b := testDisplay("bar")
	d.Size = func() (int, int) { return width, 24 }
	d.Update(job("a.mkv", queue.Running, 2, 1, task("whole", 0, 100, 0)))
	d.Flush()
	n := 0
	for _, l := range d.lines(width-1, 23) {
		n += (text.Columns(l.Text) + 29) / 30
	}
	b.Reset()
	width = 30
	d.Flush()
	if want := fmt.Sprintf("\r\x1b[%dA\x1b[J", n); n <= 2 || !strings.HasPrefix(b.String(), want) {
		t.Errorf("got %q, want %q", b, want)
	}
}

func TestColor(t *testing.T) {
	for _, want := range []bool{true, false} {
		d, _, b := testDisplay("bar")
		d.Colors = want
		d.Update(job("a.mkv", queue.Done, 2, 2))
		d.Update(job("b.mkv", queue.Running, 2, 1, waiting("away")))
		d.Flush()
		if got := strings.Contains(b.String(), "\x1b[32mdone\x1b[0m: a.mkv") && strings.Contains(b.String(), "\x1b[33mb.mkv"); got != want {
			t.Errorf("colours %v: %q", want, b)
		}
	}
}

func TestPlain(t *testing.T) {
	d, c, b := testDisplay("plain")
	old := job("old.mkv", queue.Done, 2, 2)
	old.Ended = begin.Add(-time.Second)
	d.Update(old)
	d.Update(job("a.mkv", queue.Queued, 1, 0))
	for s := 0.0; s <= 35; s++ {
		c.at(s)
		if s < 25 {
			d.Update(job("a.mkv", queue.Running, 2, 1, task("whole", int64(40*s), 1000, 40)))
		}
		switch s {
		case 4:
			d.Update(job("a.mkv", queue.Running, 2, 1, waiting("no room on the device")))
		case 12:
			d.Note("paused: 1 GB free on /x, 2 GB wanted")
		case 13:
			d.Note("")
		case 25:
			d.Update(job("a.mkv", queue.Done, 2, 2))
			d.Info("watching /in")
		}
		d.tick()
	}
	d.Close()
	want := `vidfilter: started: a.mkv
vidfilter: waiting: a.mkv: no room on the device
vidfilter: resumed: a.mkv
vidfilter: 70%, 1 of 2 jobs done, 1 running, 400 frames, 40.0 fps, 0:15 left
vidfilter: paused: 1 GB free on /x, 2 GB wanted
vidfilter: resumed
vidfilter: 90%, 1 of 2 jobs done, 1 running, 800 frames, 40.0 fps
vidfilter: done: a.mkv, 1000 frames in 0:50 (20.0 fps), 960 kB
vidfilter: watching /in
vidfilter: 100%, 2 of 2 jobs done, 1000 frames
vidfilter: 2 of 2 jobs done, 1000 frames in 0:35 (28.6 fps)
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b, want)
	}
}

func TestJSON(t *testing.T) {
	d, c, b := testDisplay("json")
	d.Update(job("a\n.mkv", queue.Running, 2, 1, task("whole", 5, 100, 1)))
	d.Update(job("a\n.mkv", queue.Running, 2, 1, task("whole", 5, 100, 1))) // no change
	c.at(1)
	d.tick()
	d.Note("paused: no room")
	d.Warn("careful")
	d.Info("hello")
	d.Update(job("a\n.mkv", queue.Done, 2, 2))
	d.Close()
	var types []string
	var last map[string]any
	for line := range strings.Lines(b.String()) {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		types = append(types, last["type"].(string))
		switch j, _ := last["job"].(map[string]any); {
		case len(types) == 1 && (j["title"] != "a\n.mkv" || j["part"] != 0.05 || j["state"] != "running"):
			t.Errorf("%s", line)
		case len(types) == 2 && last["totals"].(map[string]any)["running"] != 1.0:
			t.Errorf("%s", line)
		}
	}
	if got := strings.Join(types, " "); got != "job batch note warning info job done" {
		t.Error(got)
	}
	if fmt.Sprint(last["warnings"]) != "[careful]" || last["elapsed"] != 1.0 || last["totals"].(map[string]any)["done"] != 1.0 {
		t.Error(last)
	}
}

func TestNone(t *testing.T) {
	d, _, b := testDisplay("none")
	d.Update(job("a", queue.Failed, 1, 0))
	d.Warn("w")
	d.Info("n")
	d.Note("paused")
	d.tick()
	d.Close()
	if want := "vidfilter: warning: w\nvidfilter: n\n"; b.String() != want {
		t.Errorf("%q", b)
	}
}

// The display draws by itself in every mode, and leaves no goroutine behind: synctest would
// notice.
func TestRuns(t *testing.T) {
	for mode, want := range map[string]string{
		"bar": "\x1b[3A", "plain": "0%, 0 of 1 job done, 1 running", "json": `"type":"batch"`, "none": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			d := New(testScreen(&b, mode), Options{})
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					for s := range 15 {
						d.Update(job("a.mkv", queue.Running, 2, 1, task("whole", int64(s), 0, 1)))
						d.Note(fmt.Sprint(i))
						time.Sleep(time.Second)
					}
				})
			}
			all.Wait()
			d.Note("")
			d.Close()
			d.Close()
			n := b.Len()
			d.Update(job("b.mkv", queue.Failed, 1, 0))
			d.Warn("too late")
			d.Note("too late")
			if !strings.Contains(b.String(), want) || b.Len() != n {
				t.Errorf("%s: %q", mode, b.String())
			}
		})
	}
}

// stopped is a terminal whose writes block until it is freed.
type stopped struct {
	bytes.Buffer
	free chan struct{}
}

func (s *stopped) Write(p []byte) (int, error) { <-s.free; return s.Buffer.Write(p) }

// Updates do not wait for the terminal, and the backlog does not grow with every frame.
func TestStoppedTerminal(t *testing.T) {
	w := &stopped{free: make(chan struct{})}
	d := New(testScreen(w, "json"), Options{})
	for n := range int64(3 * maxBacklog) {
		d.Update(job("a.mkv", queue.Running, 2, 1, task("whole", n, 0, 1)))
	}
	d.Update(job("a.mkv", queue.Done, 2, 2))
	n := d.Backlog()
	close(w.free)
	d.Close()
	if n > maxBacklog+2 || !strings.Contains(w.String(), `"state":"done"`) {
		t.Errorf("%d lines wait, and the end is %q", n, w.String()[max(0, w.Len()-2000):])
	}
}
