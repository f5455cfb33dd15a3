package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
	"vidfilter/internal/sandbox"
)

// A child is this program once more. It asks for its errand, which is one of errands.
func TestMain(m *testing.M) {
	if _, err := sandbox.Inherit(os.Environ()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	box := sandbox.Inside()
	if box == nil {
		os.Exit(m.Run())
	}
	var e errand
	err := box.Ask("errand", nil, &e)
	if err == nil {
		err = errands[e.Name](box, e)
	}
	if err != nil {
		fmt.Fprintln(box.Err, err)
		sandbox.Exit(1)
	}
	sandbox.Exit(0)
}

type errand struct {
	Name    string
	Policy  sandbox.Policy
	Targets sandbox.Targets
	Path    string
}

var errands = map[string]func(*sandbox.Box, errand) error{
	"doors": func(box *sandbox.Box, e errand) error {
		if _, err := sandbox.Enter(e.Policy); err != nil {
			return err
		}
		return box.Ask("doors", sandbox.Try(e.Targets), nil)
	},
	"faults": func(box *sandbox.Box, _ errand) error {
		err := sandbox.Restore(box.Ask("fail", nil, nil), kinds)
		if !errors.Is(err, errKind) || !errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EPIPE) || hint.Of(err) != "advice" {
			return fmt.Errorf("%v, advice %q", err, hint.Of(err))
		}
		return nil
	},
	"memory": func(_ *sandbox.Box, e errand) error {
		if _, err := sandbox.Enter(e.Policy); err != nil {
			return err
		}
		for n := range 6 << 10 {
			b := make([]byte, 1<<20)
			b[0], b[len(b)-1] = byte(n), 1
			hoard = append(hoard, b)
		}
		return nil
	},
	"network": func(box *sandbox.Box, e errand) error {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		if _, err := sandbox.Enter(e.Policy); err != nil {
			return err
		}
		return box.Ask("network", reached(box, l, e.Targets), nil)
	},
	"folder": func(_ *sandbox.Box, e errand) error {
		if _, err := sandbox.Enter(e.Policy); err != nil {
			return err
		}
		name := filepath.Join(e.Path, "a")
		return errors.Join(os.WriteFile(name, nil, 0o600), os.Rename(name, name+"b"), os.Remove(name+"b"))
	},
	"signals": func(box *sandbox.Box, _ errand) error {
		c := make(chan os.Signal, 1)
		defer sandbox.Notify(c, syscall.SIGUSR1, syscall.SIGUSR2)()
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR2); err != nil { // comes directly: is left aside
			return err
		}
		if err := box.Ask("ready", nil, nil); err != nil {
			return err
		}
		if s := <-c; s != syscall.SIGUSR1 {
			return fmt.Errorf("signal %v", s)
		}
		return nil
	},
	"idle": func(box *sandbox.Box, _ errand) error {
		defer box.Watch(func() int64 { return 5 })()
		select {}
	},
	"asks": func(box *sandbox.Box, _ errand) error {
		defer box.Watch(func() int64 { return 5 })()
		return box.Ask("question", nil, nil)
	},
	"unwatched": func(box *sandbox.Box, _ errand) error {
		box.Watch(func() int64 { return 5 })()
		time.Sleep(400 * time.Millisecond)
		return nil
	},
	"panic": func(*sandbox.Box, errand) error { panic("by intent") },
	"exit":  func(*sandbox.Box, errand) error { os.Exit(0); return nil },
	"kill":  func(*sandbox.Box, errand) error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	"numa": func(_ *sandbox.Box, _ errand) error {
		_, _ = os.Stderr.WriteString("Out of memory allocating bitmask: Cannot allocate memory\n")
		os.Exit(1)
		return nil
	},
	"starved": func(*sandbox.Box, errand) error {
		fmt.Fprintln(os.Stderr, "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort")
		err := syscall.Kill(os.Getpid(), syscall.SIGABRT)
		time.Sleep(time.Minute) // another thread may get it
		return err
	},
	"enter": func(_ *sandbox.Box, e errand) error {
		_, err := sandbox.Enter(e.Policy)
		return err
	},
	"nonsense": func(box *sandbox.Box, _ errand) error {
		box.Raw("no message\n")
		return box.Ask("more", nil, nil)
	},
	"words": func(*sandbox.Box, errand) error {
		_, err := os.NewFile(2, "words").WriteString("a library says\n")
		return err
	},
}

var hoard [][]byte

var errKind = errors.New("of a kind")

var kinds = map[string]error{"kind": errKind, "other": io.ErrClosedPipe}

// reached returns the network targets that a child reaches.
func reached(box *sandbox.Box, l net.Listener, b sandbox.Targets) (open []string) {
	try := func(name string, err error) {
		if err == nil {
			open = append(open, name)
		}
	}
	dial := func(network, address string) error {
		c, err := net.Dial(network, address)
		if err == nil {
			err = c.Close()
		}
		return err
	}
	if err := box.Ask("dial", l.Addr().String(), nil); err == nil {
		c, err := l.Accept()
		if err == nil {
			_, err = c.Write([]byte("x"))
		}
		try("accept", err)
	}
	try("tcp", dial("tcp", b.TCP))
	try("udp", dial("udp", b.UDP))
	try("unix", dial("unix", b.Unix))
	return open
}

// parent serves a child.
type parent struct {
	errand  errand
	answers map[string]json.RawMessage
	do      func(op string, body json.RawMessage) error
	closed  bool
}

func (p *parent) Kinds() map[string]error { return kinds }
func (p *parent) Close()                  { p.closed = true }

func (p *parent) Do(op string, body json.RawMessage) (any, error) {
	if op == "errand" {
		return p.errand, nil
	}
	if p.answers == nil {
		p.answers = map[string]json.RawMessage{}
	}
	p.answers[op] = slices.Clone(body)
	if p.do == nil {
		return nil, nil
	}
	return nil, p.do(op, body)
}

// child is one that runs.
type child struct {
	*sandbox.Guard
	*os.Process
}

type ending struct {
	state *os.ProcessState
	words string
	crash error
	says  string // on its stderr
}

// send sends a child on an errand. during may be nil.
func send(t *testing.T, p *parent, signals bool, during func(*child)) ending {
	t.Helper()
	var says strings.Builder
	cmd := exec.Command(os.Args[0])
	cmd.Stderr = &says
	g, err := sandbox.Prepare(cmd, p, signals)
	e2e.Must(t, err)
	if err := cmd.Start(); err != nil {
		g.Abort()
		t.Fatal(err)
	}
	g.Started()
	if during != nil {
		during(&child{g, cmd.Process})
	}
	_ = cmd.Wait()
	e := ending{state: cmd.ProcessState}
	e.words, e.crash = g.End(cmd.ProcessState)
	e.says = says.String()
	if !p.closed {
		t.Error("the service was not closed")
	}
	return e
}

// succeeds sends a child that must succeed.
func succeeds(t *testing.T, p *parent) ending {
	t.Helper()
	e := send(t, p, false, nil)
	if e.crash != nil || e.state.ExitCode() != 0 {
		t.Fatalf("%v, %v: %s%s", e.state, e.crash, e.says, e.words)
	}
	return e
}

// makeTargets makes files and servers to reach.
func makeTargets(t *testing.T) sandbox.Targets {
	t.Helper()
	b, remove, err := sandbox.MakeTargets(t.TempDir())
	e2e.Must(t, err)
	t.Cleanup(remove)
	return b
}

func needs(t *testing.T, landlock int) {
	t.Helper()
	if k := sandbox.Offered(); k.Landlock < landlock || !k.Seccomp {
		t.Skipf("this kernel offers %v", k)
	}
}

func TestDoors(t *testing.T) {
	needs(t, 3)
	targets := makeTargets(t)
	p := &parent{errand: errand{Name: "doors", Targets: targets, Policy: sandbox.Policy{Read: []string{targets.Input}, Write: []string{targets.Output}}}}
	succeeds(t, p)
	var doors []sandbox.Attempt
	if err := json.Unmarshal(p.answers["doors"], &doors); err != nil || len(doors) < 25 {
		t.Fatalf("%d doors: %v", len(doors), err)
	}
	for _, d := range doors {
		if d.Wrong() {
			t.Errorf("%s: open is %v (%s)", d.Name, d.Open, d.Says)
		}
	}
	if _, sealed := p.answers[sandbox.Sealed]; !sealed {
		t.Error("the parent was not told")
	}
	if got, err := os.ReadFile(targets.Secret); err != nil || string(got) != "bait" {
		t.Errorf("%q, %v", got, err)
	}
}

// The doors are open without a sandbox: each attempt is one that works.
func TestDoorsOutside(t *testing.T) {
	for _, d := range sandbox.Try(makeTargets(t)) {
		switch d.Name {
		case "trace another process", "make a namespace", "load a BPF program", "use io_uring", "use the kernel's keys":
			continue // a container may refuse them
		}
		if !d.Open {
			t.Errorf("%s: %s", d.Name, d.Says)
		}
	}
}

func TestNetwork(t *testing.T) {
	needs(t, 4)
	targets := makeTargets(t)
	address, err := net.ResolveTCPAddr("tcp", targets.TCP)
	e2e.Must(t, err)
	for _, test := range []struct {
		policy sandbox.Policy
		open   string
	}{
		{sandbox.Policy{}, ""},
		{sandbox.Policy{Network: sandbox.Accept}, "accept"},
		{sandbox.Policy{Network: sandbox.Peer}, "accept udp"},
		{sandbox.Policy{Network: sandbox.Client}, "accept udp"},
		{sandbox.Policy{Network: sandbox.Client, Ports: []uint16{uint16(address.Port)}}, "accept tcp udp"},
	} {
		p := &parent{errand: errand{Name: "network", Policy: test.policy, Targets: targets}}
		p.do = func(op string, body json.RawMessage) error {
			if op != "dial" {
				return nil
			}
			var address string
			if err := json.Unmarshal(body, &address); err != nil {
				return err
			}
			_, err := net.Dial("tcp", address) // ends with this process: the child is to write to it
			return err
		}
		succeeds(t, p)
		var open []string
		e2e.Must(t, json.Unmarshal(p.answers["network"], &open))
		if got := strings.Join(open, " "); got != test.open {
			t.Errorf("%+v: open %q, want %q", test.policy, got, test.open)
		}
	}
}

func TestFolder(t *testing.T) {
	needs(t, 3)
	dir := t.TempDir()
	succeeds(t, &parent{errand: errand{Name: "folder", Path: dir, Policy: sandbox.Policy{Folders: []string{dir}}}})
	e := send(t, &parent{errand: errand{Name: "folder", Path: t.TempDir(), Policy: sandbox.Policy{Folders: []string{dir}}}}, false, nil)
	if e.crash != nil || e.state.ExitCode() != 1 || !strings.Contains(e.says, "permission denied") {
		t.Errorf("another folder: %v, %v, %q", e.state, e.crash, e.says)
	}
}

// The sandbox accepts names that lead nowhere. They fail when opened.
func TestNamesThatLeadNowhere(t *testing.T) {
	dir := t.TempDir()
	loop, file := filepath.Join(dir, "loop"), filepath.Join(dir, "file")
	for _, err := range []error{os.Symlink("loop", loop), os.WriteFile(file, nil, 0o600)} {
		e2e.Must(t, err)
	}
	names := []string{loop, file + "/x", filepath.Join(dir, strings.Repeat("x", 300)), filepath.Join(dir, "none")}
	succeeds(t, &parent{errand: errand{Name: "enter", Policy: sandbox.Policy{Read: names, Write: names, Devices: names, Folders: names}}})
}

func TestMemory(t *testing.T) {
	p := &parent{errand: errand{Name: "memory", Policy: sandbox.Policy{Memory: 64 << 20}}}
	if e := send(t, p, false, nil); e.crash == nil || !strings.Contains(e.crash.Error(), "out of memory") {
		t.Errorf("%v, %v", e.state, e.crash)
	}
}

func TestFaults(t *testing.T) {
	p := &parent{errand: errand{Name: "faults"}}
	p.do = func(string, json.RawMessage) error {
		return hint.Wrap(fmt.Errorf("%w, %w", errKind, syscall.ENOSPC), "advice")
	}
	succeeds(t, p)
}

func TestCrashes(t *testing.T) {
	for name, want := range map[string]string{
		"panic":   "crashed: panic: by intent",
		"exit":    "crashed: exit status 0",
		"kill":    "was killed by signal 9",
		"numa":    "Out of memory allocating bitmask",
		"starved": "no more threads can be started: runtime/cgo: pthread_create failed",
	} {
		e := send(t, &parent{errand: errand{Name: name}}, false, nil)
		crash, ok := errors.AsType[*sandbox.CrashError](e.crash)
		if !ok || !strings.Contains(crash.Error(), want) || (name == "numa") != (crash.Why == sandbox.Memory) {
			t.Errorf("%s: %v", name, e.crash)
		}
	}
}

func TestWords(t *testing.T) {
	if e := succeeds(t, &parent{errand: errand{Name: "words"}}); e.words != "a library says\n" || e.says != "" {
		t.Errorf("%q, %q", e.words, e.says)
	}
}

// A child that sends anything but messages gets no more answers.
func TestNonsense(t *testing.T) {
	p := &parent{errand: errand{Name: "nonsense"}}
	e := send(t, p, false, nil)
	if _, answered := p.answers["more"]; answered || e.state.ExitCode() != 1 {
		t.Errorf("%v, answered %v", e.state, answered)
	}
}

func TestSignals(t *testing.T) {
	ready := make(chan bool, 1)
	p := &parent{errand: errand{Name: "signals"}}
	p.do = func(op string, _ json.RawMessage) error { ready <- true; return nil }
	e := send(t, p, true, func(g *child) {
		select {
		case <-ready:
			g.Guard.Signal(syscall.SIGUSR1)
		case <-time.After(30 * time.Second):
			t.Error("the child is not ready")
		}
	})
	if e.crash != nil || e.state.ExitCode() != 0 {
		t.Errorf("%v, %v: %s", e.state, e.crash, e.says)
	}
}

// A child without progress is noticed. One that is not watched, or waits for an answer, is left
// alone.
func TestIdle(t *testing.T) {
	for name, want := range map[string]bool{"idle": true, "unwatched": false, "asks": false} {
		var stalled atomic.Bool
		var stop func()
		p := &parent{errand: errand{Name: name}}
		p.do = func(string, json.RawMessage) error { time.Sleep(600 * time.Millisecond); return nil }
		e := send(t, p, false, func(g *child) {
			stop = g.Idle(200*time.Millisecond, func() {
				stalled.Store(true)
				_ = g.Process.Kill()
			})
		})
		stop()
		if stalled.Load() != want || (e.crash != nil) != want {
			t.Errorf("%s: stalled %v, %v", name, stalled.Load(), e.crash)
		}
	}
}

// A variable that no parent has set is an error, and no way out of the checks.
func TestInheritForged(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	e2e.Must(t, err)
	defer file.Close()
	for _, value := range []string{"", "3", "0,1", "x,y", "9999,9998", fmt.Sprintf("%d,%d", file.Fd(), file.Fd())} {
		env := []string{"A=b", "VIDFILTER_CHILD=" + value}
		if got, err := sandbox.Inherit(env); err == nil || len(got) != 2 {
			t.Errorf("%q: %v, %q", value, err, got)
		}
	}
	if sandbox.Inside() != nil {
		t.Error("this process is a child now")
	}
	if env, err := sandbox.Inherit([]string{"A=b"}); err != nil || len(env) != 1 {
		t.Errorf("%q, %v", env, err)
	}
}

func TestNotifyOutside(t *testing.T) {
	c := make(chan os.Signal, 1)
	stop := sandbox.Notify(c, syscall.SIGUSR1)
	defer signal.Reset(syscall.SIGUSR1)
	e2e.Must(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
	if s := <-c; s != syscall.SIGUSR1 {
		t.Error(s)
	}
	stop()
}

func TestMissing(t *testing.T) {
	for _, test := range []struct {
		kernel sandbox.Kernel
		want   int
	}{{sandbox.Kernel{}, 3}, {sandbox.Kernel{Landlock: 2, Seccomp: true}, 1}, {sandbox.Kernel{Landlock: 3}, 2}, {sandbox.Kernel{Landlock: 6, Seccomp: true}, 0}} {
		if got := test.kernel.Missing(); len(got) != test.want {
			t.Errorf("%v: %q", test.kernel, got)
		}
	}
}
