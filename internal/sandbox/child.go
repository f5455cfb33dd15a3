package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// variable gives a child the descriptors of its parent: the line to it, and its last words. With
// "signals" at the end, signals come over the line.
const variable = "VIDFILTER_CHILD" // av's check of limits also reads it

// message goes over the line, one a line of JSON. A request has an ID, and the answer the same.
type message struct {
	ID     int             `json:"id,omitempty"`
	Op     string          `json:"op,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Error  *Fault          `json:"error,omitempty"`
	Signal syscall.Signal  `json:"signal,omitempty"` // from the parent
	Bye    bool            `json:"bye,omitempty"`    // from the child: it ends as it meant to
	Watch  *int64          `json:"watch,omitempty"`  // from the child: its progress; below 0: watch no longer
}

// Box is the child's side of the line.
type Box struct {
	Err *os.File // the true stderr: descriptor 2 takes last words, such as those of a crash

	line    *os.File
	signals bool

	mu      sync.Mutex
	next    int
	waiting map[int]chan message
	notify  chan<- os.Signal
	ended   error
}

var inside *Box

// Inside returns the box of a process that is a child, or else nil.
func Inside() *Box { return inside }

// Inherit makes a process that Prepare started a child. It returns the environment without the
// parent's additions. It must be called before any other goroutine opens a file.
func Inherit(env []string) ([]string, error) {
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, variable+"=") })
	if i < 0 {
		return env, nil
	}
	_, value, _ := strings.Cut(env[i], "=")
	box, err := open(value)
	if err != nil {
		return env, fmt.Errorf("%s=%s is not from a parent: %w", variable, value, err)
	}
	inside = box
	return slices.Delete(slices.Clone(env), i, i+1), os.Unsetenv(variable)
}

func open(value string) (*Box, error) {
	fields := strings.Split(value, ",")
	if len(fields) < 2 {
		return nil, syscall.EINVAL
	}
	line, err := descriptor(fields[0])
	if err != nil {
		return nil, err
	}
	words, err := descriptor(fields[1])
	if err != nil {
		return nil, err
	}
	if kind, err := unix.GetsockoptInt(line, unix.SOL_SOCKET, unix.SO_TYPE); err != nil || kind != unix.SOCK_STREAM {
		return nil, syscall.ENOTSOCK
	}
	screen, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup3(words, 2, 0); err != nil {
		return nil, err
	}
	_ = unix.Close(words)
	if err := unix.SetNonblock(line, true); err != nil {
		return nil, err
	}
	b := &Box{
		Err: os.NewFile(uintptr(screen), "/dev/stderr"), line: os.NewFile(uintptr(line), "parent"),
		signals: slices.Contains(fields[2:], "signals"), waiting: map[int]chan message{},
	}
	go b.listen()
	return b, nil
}

func descriptor(text string) (int, error) {
	fd, err := strconv.Atoi(text)
	if err == nil && fd < 3 {
		err = syscall.EBADF
	}
	if err != nil {
		return 0, err
	}
	unix.CloseOnExec(fd)
	return fd, nil
}

// listen hands out answers and signals until the parent is gone.
func (b *Box) listen() {
	in := json.NewDecoder(b.line)
	for {
		var m message
		if err := in.Decode(&m); err != nil {
			b.end(fmt.Errorf("the parent process is gone: %w", err))
			return
		}
		b.mu.Lock()
		switch {
		case m.Signal != 0 && b.notify != nil:
			select {
			case b.notify <- m.Signal:
			default:
			}
		case m.ID != 0 && b.waiting[m.ID] != nil:
			b.waiting[m.ID] <- m
			delete(b.waiting, m.ID)
		}
		b.mu.Unlock()
	}
}

func (b *Box) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = err
	for id, answer := range b.waiting {
		close(answer)
		delete(b.waiting, id)
	}
}

// Ask has the parent do something, and waits for it. in and out are JSON; out may be nil. An error
// of the parent is a *Fault.
func (b *Box) Ask(op string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	answer, err := b.send(message{Op: op, Body: body})
	if err != nil {
		return err
	}
	m, ok := <-answer
	switch {
	case !ok:
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.ended
	case m.Error != nil:
		return m.Error
	case out == nil:
		return nil
	}
	return json.Unmarshal(m.Body, out)
}

func (b *Box) send(m message) (<-chan message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return nil, b.ended
	}
	b.next++
	m.ID = b.next
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	answer := make(chan message, 1)
	b.waiting[m.ID] = answer
	if _, err := b.line.Write(append(text, '\n')); err != nil {
		delete(b.waiting, m.ID)
		return nil, err
	}
	return answer, nil
}

// Notify has signals sent to a channel: those that the parent passes on, or else those that come.
// Then the terminal's reach parent and child, and the child leaves its own aside.
func Notify(c chan<- os.Signal, wanted ...os.Signal) (stop func()) {
	b := inside
	if b == nil || !b.signals {
		signal.Notify(c, wanted...)
		return func() { signal.Stop(c) }
	}
	own := make(chan os.Signal, 1)
	signal.Notify(own, wanted...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notify = c
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.notify = nil
	}
}

// beat is the time between two reports of progress.
const beat = time.Second

// Watch reports progress, a count that must rise, until the returned function is called. The
// parent ends a child whose count has not changed for long: see Guard.Idle.
func (b *Box) Watch(count func() int64) (stop func()) {
	quit := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(beat)
		defer ticks.Stop()
		for n := int64(0); ; n = count() {
			b.tell(message{Watch: &n})
			select {
			case <-ticks.C:
			case <-quit:
				n = -1
				b.tell(message{Watch: &n})
				return
			}
		}
	})
	return func() {
		close(quit)
		watching.Wait()
	}
}

// tell sends a message without an answer.
func (b *Box) tell(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if text, err := json.Marshal(m); err == nil && b.ended == nil {
		_, _ = b.line.Write(append(text, '\n'))
	}
}

// Exit ends the process. A child announces it to its parent first.
func Exit(code int) {
	if b := inside; b != nil {
		b.tell(message{Bye: true})
	}
	os.Exit(code)
}
