package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/internal/machine"
)

// Service carries out a child's requests. Calls come one after the other.
type Service interface {
	// Do does an operation. body and the result are JSON.
	Do(op string, body json.RawMessage) (any, error)
	// Kinds names the errors that the child must recognize.
	Kinds() map[string]error
	// Close undoes the unfinished work of the child, which has ended.
	Close()
}

// Guard is the parent's side of the line to a child. A nil Guard is of a process that is no child.
type Guard struct {
	service Service
	line    *os.File // our end
	words   *os.File
	theirs  []*os.File

	count   atomic.Int64 // the child's progress; below 0 while it is not watched
	busy    atomic.Bool  // the child waits for this process
	serving sync.WaitGroup
	mu      sync.Mutex // of line
	bye     bool
	last    lastWords
	killed  int64 // processes that the system had killed for memory at the start
}

// Prepare makes a command of this program a child that service serves. With signals it gets those
// that Signal passes on, and no others. Start or Abort follows.
func Prepare(cmd *exec.Cmd, service Service, signals bool) (*Guard, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("prepare a child: %w", err)
	}
	g := &Guard{service: service, line: os.NewFile(uintptr(pair[0]), "child")}
	g.count.Store(-1)
	g.theirs = append(g.theirs, os.NewFile(uintptr(pair[1]), "parent"))
	read, write, err := os.Pipe()
	if err != nil {
		g.close()
		return nil, fmt.Errorf("prepare a child: %w", err)
	}
	g.words, g.theirs = read, append(g.theirs, write)
	value := fmt.Sprintf("%d,%d", 3+len(cmd.ExtraFiles), 4+len(cmd.ExtraFiles))
	if signals {
		value += ",signals"
	}
	cmd.ExtraFiles = append(cmd.ExtraFiles, g.theirs...)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, variable+"="+value)
	return g, nil
}

func (g *Guard) close() {
	for _, f := range append(g.theirs, g.line, g.words) {
		if f != nil {
			_ = f.Close()
		}
	}
	g.theirs = nil
}

// Abort gives up a child that could not be started.
func (g *Guard) Abort() {
	if g == nil {
		return
	}
	g.close()
	g.service.Close()
}

// Started begins to serve a child that has been started.
func (g *Guard) Started() {
	if g == nil {
		return
	}
	for _, f := range g.theirs {
		_ = f.Close()
	}
	g.theirs = nil
	g.killed = machine.KilledForMemory()
	g.serving.Go(g.serve)
	g.serving.Go(func() {
		b := make([]byte, 4096)
		for {
			n, err := g.words.Read(b)
			g.last.add(b[:n])
			if err != nil {
				return
			}
		}
	})
}

// longestMessage has room for many names of files.
const longestMessage = 1 << 24

// serve answers requests until the child ends, or sends an invalid message: then it learns that it
// is alone.
func (g *Guard) serve() {
	defer g.line.Close()
	in := bufio.NewScanner(g.line)
	in.Buffer(nil, longestMessage)
	for in.Scan() {
		var m message
		if json.Unmarshal(in.Bytes(), &m) != nil {
			return
		}
		switch {
		case m.Bye:
			g.bye = true
			continue
		case m.Watch != nil:
			g.count.Store(*m.Watch)
			continue
		}
		answer := message{ID: m.ID}
		g.busy.Store(true)
		result, err := g.service.Do(m.Op, m.Body)
		g.busy.Store(false)
		if err == nil {
			answer.Body, err = json.Marshal(result)
		}
		if err != nil {
			answer.Body, answer.Error = nil, faultOf(err, g.service.Kinds())
		}
		g.send(answer)
	}
}

// patience is how long a child may take to read a message.
const patience = time.Second

func (g *Guard) send(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = g.line.SetWriteDeadline(time.Now().Add(patience))
	_, _ = g.line.Write(append(text, '\n')) // a child that is gone, or does not listen, needs no answer
}

// Idle calls stalled once the child has reported no progress for so long, until the returned
// function is called. Time does not count in which this process is stopped, or carries out a
// request of the child, such as to ask the user.
func (g *Guard) Idle(limit time.Duration, stalled func()) (stop func()) {
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(limit / 20)
		defer ticks.Stop()
		for was, idle := int64(-1), 0; ; {
			select {
			case <-ticks.C:
			case <-quit:
				return
			}
			now := g.count.Load()
			if idle++; now != was || now < 0 || g.busy.Load() {
				was, idle = now, 0
			}
			if idle >= 20 {
				stalled()
				return
			}
		}
	})
	return func() {
		close(quit)
		watching.Wait()
	}
}

// Signal passes a signal on.
func (g *Guard) Signal(s syscall.Signal) { g.send(message{Signal: s}) }

// End returns the outcome of the child, after it has ended and been waited for: nil if it ended as
// it meant to, or else a *CrashError. Its output to descriptor 2 is in words.
func (g *Guard) End(state *os.ProcessState) (words string, err error) {
	if g == nil || state == nil { // state is nil where it was never started
		return "", nil
	}
	g.serving.Wait()
	g.close()
	g.service.Close()
	words = g.last.String()
	if g.bye {
		return words, nil
	}
	return words, crashOf(state, words, g.killed)
}

// CrashError is the error of a child that did not end as it meant to.
type CrashError struct {
	Why Why
	how string
}

// Why distinguishes crashes that are no fault of the program.
type Why uint8

// The values of Why.
const (
	Crashed Why = iota // a fault of the program
	Memory             // it was exhausted
	Threads            // no more could be started
	Killed             // by a user or the system
)

func (e *CrashError) Error() string {
	before := map[Why]string{
		Crashed: "the process that reads it crashed: ", Memory: "out of memory: ",
		Threads: "no more threads can be started: ", Killed: "the process that reads it was ",
	}[e.Why]
	if strings.HasPrefix(e.how, strings.TrimSuffix(before, ": ")) {
		return e.how
	}
	return before + e.how
}

// scarce are words of Go's runtime and of C libraries that begin a report, or are in it, in
// lower case.
var scarce = []struct {
	words string
	why   Why
}{
	{"out of memory", Memory}, {"cannot allocate memory", Memory}, {"std::bad_alloc", Memory},
	{"pthread_create failed", Threads}, {"failed to create new os thread", Threads}, {"no more threads can be started", Threads},
}

func crashOf(state *os.ProcessState, words string, killed int64) *CrashError {
	e := &CrashError{how: howEnded(state, words)}
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && status.Signal() == syscall.SIGKILL:
		if e.Why = Killed; machine.KilledForMemory() > killed {
			e.Why, e.how = Memory, "the system has killed the process that reads it"
		}
		return e
	case ok && status.Signaled() && status.Signal() != syscall.SIGABRT:
		return e
	}
	for line := range strings.Lines(words) {
		for _, s := range scarce {
			if strings.Contains(strings.ToLower(line), s.words) {
				e.Why, e.how = s.why, strings.TrimPrefix(strings.TrimSpace(line), "vidfilter: ")
				return e
			}
		}
	}
	return e
}

// howEnded describes in a line how a process has ended.
func howEnded(state *os.ProcessState, words string) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("killed by signal %d (%v)", status.Signal(), status.Signal())
	}
	for line := range strings.Lines(words) {
		line = strings.TrimSpace(line)
		for _, begins := range []string{"SIG", "fatal error: ", "panic: ", "runtime: out of memory"} {
			if strings.HasPrefix(line, begins) {
				return line
			}
		}
	}
	return state.String()
}

// lastWords keeps the beginning and the end of a text.
type lastWords struct{ head, tail []byte }

const wordsKept = 32 << 10

func (l *lastWords) add(b []byte) {
	n := min(len(b), wordsKept-len(l.head))
	l.head = append(l.head, b[:n]...)
	l.tail = append(l.tail, b[n:]...)
	if over := len(l.tail) - wordsKept; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
}

func (l *lastWords) String() string { return string(l.head) + string(l.tail) }
