package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vidfilter/batch/queue"
	"vidfilter/internal/e2e"
)

// roundTime bounds a round, on a machine that is busy.
const roundTime = 10 * time.Minute

// Kills, freezes, cuts, full disks and clocks that jump, at the server, workers and batch: the
// outputs equal an undisturbed batch's, all are there, and no other file is left.
// VIDFILTER_CHAOS is the number of rounds, and VIDFILTER_CHAOS_SEED the number of the first.
func TestChaos(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("VIDFILTER_CHAOS"))
	if err != nil || rounds < 1 {
		t.Skip("a long test: make test-chaos, or VIDFILTER_CHAOS=20")
	}
	seed := uint64(time.Now().Unix())
	if s := os.Getenv("VIDFILTER_CHAOS_SEED"); s != "" {
		seed, err = strconv.ParseUint(s, 10, 64)
		e2e.Must(t, err)
	}
	for i := range uint64(rounds) {
		t.Run(fmt.Sprint("seed-", seed+i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+i, 0))
			runRound(t, plan(r))
		})
	}
}

// One blow of each quick kind to each victim that can take it.
func TestChaosShort(t *testing.T) {
	e2e.Start(t, false)
	runRound(t, []blow{
		{"kill", "worker-0", 300 * time.Millisecond, time.Second, 2 * time.Hour},
		{"cut", "batch", 300 * time.Millisecond, time.Second, 2 * time.Hour},
		{"kill", "batch", time.Second, 300 * time.Millisecond, 2 * time.Hour},
		{"full", "worker-1", 0, time.Second, 2 * time.Hour},
		{"clock", "worker-1", 0, time.Second, 2 * time.Hour},
		{"kill", "serve", 300 * time.Millisecond, 300 * time.Millisecond, 2 * time.Hour},
		{"freeze", "worker-1", 0, 3 * time.Second, 2 * time.Hour},
	})
}

// blow strikes a victim some time after the blow before it, for a while.
type blow struct {
	kind, victim string
	after, lasts time.Duration
	jump         time.Duration // of a clock
}

func (b blow) String() string {
	by := ""
	if b.kind == "clock" {
		by = fmt.Sprintf(" by %v", b.jump)
	}
	return fmt.Sprintf("%v later: %s of %s for %v%s", b.after.Round(time.Millisecond), b.kind, b.victim, b.lasts.Round(time.Millisecond), by)
}

// plan draws the blows of a round.
func plan(r *rand.Rand) (all []blow) {
	for range 3 + r.IntN(3) {
		k := kinds[r.IntN(len(kinds))]
		all = append(all, blow{k.name, victims[r.IntN(len(victims))].name, between(r, 0, 1500*time.Millisecond), between(r, k.least, k.most), jumps[r.IntN(len(jumps))]})
	}
	return all
}

// kind is a kind of blow. hit returns its end, or nil if the victim cannot take it.
type kind struct {
	name        string
	least, most time.Duration
	hit         func(c *chaos, b blow, v *victim) (end func())
}

var kinds = []kind{
	{"kill", 0, 3 * time.Second, func(_ *chaos, _ blow, v *victim) func() {
		v.Kill()
		v.down = true
		return func() { v.down = false }
	}},
	{"freeze", 5 * time.Second, 45 * time.Second, func(_ *chaos, _ blow, v *victim) func() {
		v.Signal(syscall.SIGSTOP)
		return func() { v.Signal(syscall.SIGCONT) }
	}},
	{"cut", time.Second, 20 * time.Second, func(c *chaos, _ blow, v *victim) func() { return c.each(v, (*line).cut) }},
	{"stall", time.Second, 20 * time.Second, func(c *chaos, _ blow, v *victim) func() { return c.each(v, (*line).stall) }},
	{"full", 3 * time.Second, 10 * time.Second, func(_ *chaos, _ blow, v *victim) func() {
		if !v.small {
			return nil
		}
		return fill(v.t, v.disk)
	}},
	{"clock", time.Second, 20 * time.Second, func(_ *chaos, b blow, v *victim) func() { return v.clock.jump(v.t, b.jump) }},
}

// each does something to a victim's line, or to all that the server has.
func (c *chaos) each(v *victim, hit func(*line) (end func())) (end func()) {
	var ends []func()
	for _, other := range c.victims {
		if l := other.line; l != nil && (v.line == nil || v == other) {
			ends = append(ends, hit(l))
		}
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}
}

// victims are the processes that blows strike. Their own folders are small disks.
var victims = []struct {
	name string
	args func(c *chaos, v *victim) []string
}{
	{"serve", func(c *chaos, v *victim) []string {
		return []string{"serve", "--state", v.disk, "--listen", c.server.Listen, "--lease", lease}
	}},
	{"worker-0", workerArgs},
	{"worker-1", workerArgs},
	{"batch", func(c *chaos, v *victim) []string {
		return (&server{URL: v.line.url(), Submitter: c.server.Submitter}).batchArgs(filepath.Join(v.disk, "tapes"), filepath.Join(v.disk, "out"))
	}},
	{"agent", func(c *chaos, v *victim) []string { // goes on while the batch is down
		run(c.t, "serve", "credentials", "issue", "agent", "--role", "agent", "--state", c.server.State).exit(0)
		return []string{"agent", c.named("batch").disk, "--server", v.line.url(), "--creds", filepath.Join(c.server.State, "agent.creds")}
	}},
}

func workerArgs(c *chaos, v *victim) []string {
	return []string{"worker", "--jobs", "1", "--work", v.disk, "--server", v.line.url(), "--creds", c.server.Creds}
}

// victim is a process that is started again whenever it ends.
type victim struct {
	*process
	name  string
	args  []string
	disk  string
	small bool  // the disk is its own
	line  *line // to the server; nil for the server
	clock *clock
	down  bool // not to be started now
	hurt  func()
	until time.Time // the end of hurt
}

type chaos struct {
	t       *testing.T
	server  *server
	victims []*victim
	began   time.Time
}

func runRound(t *testing.T, blows []blow) {
	for _, b := range blows {
		t.Log(b)
	}
	c := &chaos{t: t, server: &server{Listen: fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])}, began: time.Now()}
	for _, d := range victims {
		v := &victim{name: d.name, clock: newClock(t)}
		v.disk, v.small = e2e.Disk(t, "96m") // serve and workers need a few megabytes free
		if d.name == "serve" {
			c.server.State = v.disk
			c.server.Creds, c.server.Submitter = filepath.Join(v.disk, "worker.creds"), filepath.Join(v.disk, "submitter.creds")
		} else {
			v.line = newLine(t, c.server.Listen)
		}
		if d.name == "batch" {
			e2e.Must(t, os.CopyFS(filepath.Join(v.disk, "tapes"), os.DirFS(madeClips(t))))
		}
		v.args = d.args(c, v)
		c.victims = append(c.victims, v)
		c.start(v)
		if d.name == "serve" {
			c.server.process = v.process
			v.Until("credentials", func() bool { return e2e.Exists(c.server.Creds) && e2e.Exists(c.server.Submitter) })
		}
	}
	c.strike(blows)
	c.check()
}

func (c *chaos) start(v *victim) {
	cmd := exec.Command(e2e.Program, v.args...)
	cmd.Env = append(os.Environ(), append(v.clock.env(), "GOTRACEBACK=all")...)
	v.process = &process{e2e.Begin(c.t, cmd), c.t}
}

func (c *chaos) named(name string) *victim {
	return c.victims[slices.IndexFunc(c.victims, func(v *victim) bool { return v.name == name })]
}

func (c *chaos) logf(format string, args ...any) {
	c.t.Logf("%6.2f s: %s", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// strike strikes while the batch runs, until it is done.
func (c *chaos) strike(blows []blow) {
	batch, at := c.named("batch"), time.Now()
	for batch.down || !batch.Ended() || batch.Code() != 0 {
		if time.Since(c.began) > roundTime {
			c.t.Fatalf("the batch does not end: %s", jobsText(c))
		}
		well := func(b blow) bool { return c.named(b.victim).hurt == nil }
		if i := slices.IndexFunc(blows, well); i >= 0 && time.Since(at) > blows[i].after {
			c.hit(blows[i], c.named(blows[i].victim))
			at, blows = time.Now(), slices.Delete(blows, i, i+1)
		}
		c.tend()
		time.Sleep(10 * time.Millisecond)
	}
	c.logf("the batch is done, before %d blows", len(blows))
	for _, v := range c.victims {
		v.heal()
	}
	e2e.Until(c.t, "all are back", func() bool {
		c.tend()
		return !slices.ContainsFunc(c.victims, func(v *victim) bool { return !v.works() })
	})
}

// works reports whether a process is at work again, or has done its work.
func (v *victim) works() bool {
	ready := map[string]string{"serve": "", "agent": "runs the batches of"}
	word, ok := ready[v.name]
	if !ok {
		word = "at once"
	}
	return v.name == "batch" || !v.Ended() && strings.Contains(v.Said(), word)
}

func (c *chaos) hit(b blow, v *victim) {
	k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == b.kind })]
	if v.hurt = k.hit(c, b, v); v.hurt == nil {
		c.logf("%s cannot take a %s", v.name, k.name)
		return
	}
	v.until = time.Now().Add(b.lasts)
	c.logf("%s of %s", k.name, v.name)
}

// tend ends blows, and restarts ended processes.
func (c *chaos) tend() {
	for _, v := range c.victims {
		if v.hurt != nil && time.Now().After(v.until) {
			v.heal()
			c.logf("%s is well", v.name)
		}
		if v.down || !v.Ended() || v.name == "batch" && v.Code() == 0 {
			continue
		}
		if !v.Killed {
			c.logf("%s ended with %d: %s", v.name, v.Code(), lastLines(v.Said()))
			c.mayEnd(v)
			time.Sleep(200 * time.Millisecond)
		}
		c.start(v)
	}
}

// mayEnd fails the round if a process ended that should have waited.
func (c *chaos) mayEnd(v *victim) {
	const disk, noQueue = 4, 7
	code, elsewhere := v.Code(), strings.Contains(v.Said(), "another process runs this batch")
	if code != disk && code != noQueue && !(v.name == "batch" && elsewhere) {
		c.t.Fatalf("%s ended with %d", v.name, code)
	}
}

func (v *victim) heal() {
	if v.hurt != nil {
		v.hurt()
	}
	v.hurt = nil
}

// check checks the files of the round, and ends the processes.
func (c *chaos) check() {
	t, batch := c.t, c.named("batch")
	whole(t, filepath.Join(batch.disk, "out"))
	e := c.server.engine()
	storeIsEmpty(t, e)
	states := map[string]string{}
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Watch(ctx, func(s queue.Status) { states[s.Job.Title] = string(s.State) }, cancel)
	if states["long.mp4"] != "done" || states["other.mov"] != "done" || len(states) != 2 {
		t.Errorf("the jobs: %v, %v", states, err)
	}
	for _, v := range c.victims {
		if strings.HasPrefix(v.name, "worker") {
			v.ended(v.disk)
		}
	}
	_ = e.Close()
	c.victims[0].Signal(syscall.SIGTERM)
	if code := c.victims[0].Wait(); code != 0 && code != 143 {
		t.Errorf("serve ended with %d", code)
	}
}

func jobsText(c *chaos) string {
	out, said, err := e2e.Output(e2e.Program, "jobs", "--server", "tls://"+c.server.Listen, "--creds", c.server.Submitter)
	return fmt.Sprintf("%s%s%v", out, said, err)
}

func lastLines(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}
