package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/machine"
)

// TestMain lets the test binary act as the program, according to VIDFILTER_PLAY.
func TestMain(m *testing.M) {
	if play := os.Getenv("VIDFILTER_PLAY"); play != "" {
		os.Exit(plays[play]())
	}
	os.Exit(m.Run())
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func frames(n int) {
	say(`{"type":"progress","frame":%d,"total":10,"fps":5,"size":%d}`, n, 100*n)
}

func playWell() int {
	frames(3)
	frames(10)
	say(`{"type":"done","exit_code":0,"frame":10,"size":1000,"elapsed":0.5,"warnings":["w"]}`)
	return 0
}

var plays = map[string]func() int{
	"well": playWell,
	"damaged": func() int {
		say(`{"type":"done","exit_code":6,"error":"it is damaged","frame":7,"damage":{"x":1}}`)
		return 6
	},
	"unverified": func() int {
		for i, a := range os.Args {
			if a == "-o" {
				_ = os.WriteFile(os.Args[i+1], []byte("new"), 0o666)
			}
		}
		say(`{"type":"done","exit_code":6,"error":"it holds 9 frames instead of 10","frame":10,"unverified":true}`)
		return 6
	},
	"full": func() int {
		say(`{"type":"done","exit_code":4,"error":"disk full","cause":"no_space"}`)
		return 4
	},
	"session": func() int {
		say(`{"type":"done","exit_code":5,"error":"no further session","cause":"session"}`)
		return 5
	},
	"input": func() int { say(`{"type":"done","exit_code":3,"error":"no video"}`); return 3 },
	"plain": func() int { say("vidfilter: no such thing\nhint: make it"); return 1 },
	"crash": func() int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
	"stuck": func() int {
		for frames(1); ; {
			frames(1)
			time.Sleep(10 * time.Millisecond)
		}
	},
	"slow": func() int {
		for i := range 150 {
			frames(i)
			time.Sleep(10 * time.Millisecond)
		}
		return playWell()
	},
	// A process that starts another one, writes down its own number and waits to be killed.
	"parent": func() int {
		p := player("stuck")
		_, _ = p.Media(context.Background(), []string{"x"}, func(queue.Progress) {
			_ = os.WriteFile(os.Getenv("VIDFILTER_SIGN"), []byte(strconv.Itoa(os.Getpid())), 0o666)
		})
		return 0
	},
}

func player(play string) Program {
	return Program{Path: "/proc/self/exe", Env: append(os.Environ(), "VIDFILTER_PLAY="+play, "GORACE=atexit_sleep_ms=0")}
}

func TestMedia(t *testing.T) {
	var seen []queue.Progress
	done, err := player("well").Media(context.Background(), nil, func(p queue.Progress) { seen = append(seen, p) })
	if err != nil || done.Frame != 10 || done.Size != 1000 || len(done.Warnings) != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if len(seen) != 2 || seen[1] != (queue.Progress{Frames: 10, Total: 10, FPS: 5, Bytes: 1000}) {
		t.Errorf("progress %+v", seen)
	}
	done, err = player("damaged").Media(context.Background(), nil, func(queue.Progress) {})
	if err != nil || done.ExitCode != contract.ExitDamaged || done.Damage["x"] != 1 {
		t.Errorf("damaged: %+v, %v", done, err)
	}
}

func TestMediaFails(t *testing.T) {
	for play, want := range map[string]ExitError{
		"input": {Code: 3, Reason: "no video"},
		"full":  {Code: 4, Reason: "disk full", Cause: contract.CauseNoSpace},
		"plain": {Code: 1, Reason: "no such thing"},
		"crash": {Code: -1, Signaled: true, Reason: "the process was killed by signal 9 (killed)"},
	} {
		var exit *ExitError
		if _, err := player(play).Media(context.Background(), nil, func(queue.Progress) {}); !errors.As(err, &exit) || *exit != want {
			t.Errorf("%s: %v, want %+v", play, err, want)
		}
	}
	if _, err := (Program{Path: "/no/such/program"}).Media(context.Background(), nil, func(queue.Progress) {}); err == nil {
		t.Error("a program that is not there is no error")
	}
}

func TestStall(t *testing.T) {
	p := player("stuck")
	p.Stall = 300 * time.Millisecond
	var stall *StallError
	if _, err := p.Media(context.Background(), nil, func(queue.Progress) {}); !errors.As(err, &stall) {
		t.Errorf("%v", err)
	}
	p = player("slow")
	p.Stall = time.Second
	if _, err := p.Media(context.Background(), nil, func(queue.Progress) {}); err != nil {
		t.Errorf("one that gets on: %v", err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	begun := time.Now()
	_, err := player("stuck").Media(ctx, nil, func(queue.Progress) { cancel(why) })
	if !errors.Is(err, why) || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
}

// A closed gate stops a process, which is no stall, and opens again.
func TestGate(t *testing.T) {
	p := player("slow")
	p.Stall, p.Gate = time.Second, new(Gate)
	held := make(chan struct{})
	closed := false
	_, err := p.Media(context.Background(), nil, func(g queue.Progress) {
		if g.Frames < 5 || closed {
			return
		}
		closed = true
		p.Gate.Set(true)
		go func() {
			defer close(held)
			time.Sleep(1300 * time.Millisecond)
			p.Gate.Set(false)
		}()
	})
	if err != nil || !closed {
		t.Errorf("closed %t: %v", closed, err)
	}
	<-held
}

// A machine whose disk stays full takes no tasks, and returns those that others may do.
func TestGivesBack(t *testing.T) {
	for _, c := range []struct {
		site string
		back bool
	}{{"here", false}, {partSiteOf(queue.Protocol), true}} {
		r := &Runner{Program: player("stuck"), Own: func(string) (queue.Job, bool) {
			spec, err := json.Marshal(Spec{Settings: Settings{Root: t.TempDir(), Remote: true}})
			e2e.Must(t, err)
			return queue.Job{ID: "a", Spec: spec}, true
		}}
		r.Program.Gate = new(Gate)
		before := giveBackAfter
		giveBackAfter = 200 * time.Millisecond
		defer func() { giveBackAfter = before }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if c.back {
			ctx, cancel = context.WithCancel(t.Context())
		}
		defer cancel()
		if r.Hold() != "" {
			t.Error("held with room")
		}
		r.Program.Gate.Set(true) // just after the task was fetched
		_, err := r.Handle(ctx, queue.Job{ID: "a"}, queue.Task{Name: "whole", Kind: "whole", Site: c.site}, func(queue.Progress) {})
		if _, later := errors.AsType[*queue.Postponed](err); later != c.back || c.back != errors.Is(err, ErrFull) || r.Hold() == "" {
			t.Errorf("%q: %v, held %q", c.site, err, r.Hold())
		}
	}
}

func TestIsStarved(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		before int64
		crash  error
		want   bool
	}{
		{syscall.SIGKILL, -1, nil, true}, {syscall.SIGKILL, machine.KilledForMemory() + 9, nil, false}, {syscall.SIGSEGV, -1, nil, false},
		{0, 0, errors.New("crashed: runtime: out of memory"), true}, {0, -1, errors.New("crashed: panic: x"), false},
	} {
		if got := isStarved(c.signal, c.before, c.crash); got != c.want {
			t.Errorf("%+v", c)
		}
	}
}

func TestGuard(t *testing.T) {
	g, notes := new(Gate), make(chan string, 4)
	rooms := []bool{true, false, false, true, true}
	ctx, cancel := context.WithCancel(context.Background())
	i := 0
	g.Guard(ctx, time.Millisecond, func() (string, bool) {
		if i == len(rooms) {
			cancel()
			return "", true
		}
		i++
		return fmt.Sprint(i), rooms[i-1]
	}, func(s string) { notes <- s })
	close(notes)
	var all []string
	for s := range notes {
		all = append(all, s)
	}
	if strings.Join(all, " ") != "2 4" || g.Closed() {
		t.Errorf("notes %q, closed %t", all, g.Closed())
	}
}

// The children of a killed process die with it.
func TestParentDies(t *testing.T) {
	sign := filepath.Join(t.TempDir(), "sign")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "VIDFILTER_PLAY=parent", "VIDFILTER_SIGN="+sign)
	e2e.Must(t, cmd.Start())
	e2e.Until(t, "the parent runs its child", func() bool { return e2e.Exists(sign) })
	child := children(t, cmd.Process.Pid)
	if len(child) != 1 {
		t.Fatalf("children %v", child)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	e2e.Until(t, "the child is dead", func() bool {
		state, err := os.ReadFile("/proc/" + child[0] + "/stat")
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}

func children(t *testing.T, pid int) []string {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	e2e.Must(t, err)
	var all []string
	for _, name := range tasks {
		b, _ := os.ReadFile(name)
		all = append(all, strings.Fields(string(b))...)
	}
	return all
}

func init() { plays["hungry"] = hungry }

// hungry takes 300 MB.
func hungry() int {
	b := make([]byte, 300<<20)
	for i := range b {
		b[i] = 1
	}
	return plays["stuck"]()
}

// The youngest process is killed when all together take more than the limit. The older one goes
// on, and the younger one counts as killed for lack of memory.
func TestLimitMemory(t *testing.T) {
	g := new(Gate)
	ctx, cancel := context.WithCancel(t.Context())
	old, young := make(chan error), make(chan error)
	begun := make(chan bool, 1)
	first := player("slow")
	first.Gate = g
	go func() {
		_, err := first.Media(ctx, nil, func(queue.Progress) {
			select {
			case begun <- true:
			default:
			}
		})
		old <- err
	}()
	<-begun
	second := player("hungry")
	second.Gate = g
	go func() {
		_, err := second.Media(ctx, nil, func(queue.Progress) {})
		young <- err
	}()
	watched := make(chan bool)
	go func() { g.LimitMemory(ctx, 200<<20); close(watched) }()
	var exit *ExitError
	if err := <-young; !errors.As(err, &exit) || !exit.Starved || exit.Reason != starvedReason {
		t.Errorf("the younger one: %v", err)
	}
	e2e.Must(t, <-old)
	cancel()
	<-watched
	if len(g.procs)+len(g.starved) > 0 {
		t.Errorf("kept: %v, %v", g.procs, g.starved)
	}
}

// FuzzLines reads arbitrary output of a child, whole and in pieces: the result does not depend on
// the pieces, no count is negative, and memory has a bound.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"vidfilter: no GPU\n{\"type\":\"progress\",\"frame\":7,\"total\":50,\"fps\":2.5,\"size\":1000}\n",
		"{\"type\":\"done\",\"exit_code\":4,\"error\":\"disk full\",\"cause\":\"no-space\"}\nhint: free some space\n",
		"{\"type\":\"progress\",\"frame\":-7,\"total\":-1,\"fps\":-1e308,\"size\":9223372036854775807}", "{}\n\n{", "\r\n\x00",
	} {
		f.Add([]byte(s), uint16(5))
	}
	f.Fuzz(func(t *testing.T, b []byte, piece uint16) {
		whole, pieces := read(t, b, len(b)+1), read(t, b, int(piece)+1)
		if len(b) < longestLine && (whole.last != pieces.last || !slices.Equal(whole.seen, pieces.seen)) {
			t.Errorf("at once: %+v, in pieces: %+v", whole, pieces)
		}
	})
}

// heard is the parsed output of a child.
type heard struct {
	last string
	seen []queue.Progress
}

func read(t *testing.T, b []byte, piece int) (h heard) {
	f := &follower{report: func(p queue.Progress) {
		if p.Frames < 0 || p.Total < 0 || p.Bytes < 0 || !(p.FPS >= 0) {
			t.Errorf("progress %+v", p)
		}
		h.seen = append(h.seen, p)
	}}
	was := int64(0)
	l := &lines{seen: func(line []byte) {
		f.line(line)
		if now := f.last.Load(); now < was {
			t.Errorf("progress goes back from %d to %d", was, now)
		} else {
			was = now
		}
	}}
	for part := range slices.Chunk(b, piece) {
		if n, err := l.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
		if len(l.rest) > longestLine {
			t.Errorf("%d bytes are kept", len(l.rest))
		}
	}
	l.flush()
	if strings.ContainsRune(l.last, '\n') {
		t.Errorf("the last line is %q", l.last)
	}
	h.last = l.last
	return h
}
