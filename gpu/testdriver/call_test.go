package testdriver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// process is a program that makes driver calls for a test (testdata/call.c), on threads 0 to 3.
type process struct {
	t       *testing.T
	in      io.WriteCloser
	stderr  *bytes.Buffer
	answers [4]chan string
	log     string
	finish  func() // ends the program
}

// caller is a thread of a process.
type caller struct {
	*process
	thread int
}

const patience = 20 * time.Second

// start starts a program with the test driver configured by options, and only initializes the
// driver.
func start(t *testing.T, options string) *caller {
	t.Helper()
	c := launch(t, options)
	c.must("cuInit", 0)
	return c
}

func launch(t *testing.T, options string) *caller {
	t.Helper()
	if *gpu {
		t.Skip("not about a real GPU")
	}
	e2e.Needs(t, "clang-19")
	folder, err := testFolder()
	e2e.Must(t, err)
	return launchIn(t, folder, options)
}

func launchIn(t *testing.T, folder, options string) *caller {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	return newProcess(t, Environ(folder, strings.Trim(options+",log="+log, ",")), log)
}

// startAnywhere opens the first device of the test driver, or with -gpu of this machine, for tests
// of behaviour that both share.
func startAnywhere(t *testing.T, options string) *caller {
	t.Helper()
	if !*gpu {
		return start(t, options).open(0)
	}
	c := newProcess(t, os.Environ(), "")
	c.must("cuInit", 0)
	return c.open(0)
}

func newProcess(t *testing.T, environ []string, log string) *caller {
	t.Helper()
	program, err := callProgram()
	e2e.Must(t, err)
	p := &process{t: t, stderr: new(bytes.Buffer), log: log}
	cmd := exec.Command(program)
	cmd.Env = environ
	cmd.Stderr = p.stderr
	out, err := cmd.StdoutPipe()
	e2e.Must(t, err)
	if p.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	e2e.Must(t, cmd.Start())
	for i := range p.answers {
		p.answers[i] = make(chan string, 1)
	}
	read := make(chan struct{})
	go func() { p.readAnswers(out); close(read) }()
	p.finish = sync.OnceFunc(func() {
		p.in.Close()
		<-read
		_ = cmd.Wait() // tests check stderr if they expect a failure
	})
	t.Cleanup(func() {
		if p.finish(); t.Failed() {
			t.Logf("stderr:\n%s", p.stderr)
		}
	})
	return &caller{p, 0}
}

func (p *process) readAnswers(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		thread, answer, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.Atoi(thread)
		p.answers[n] <- answer
	}
	for _, c := range p.answers {
		close(c)
	}
}

// on returns the numbered thread of the process.
func (c *caller) on(thread int) *caller { return &caller{c.process, thread} }

// begin starts a call, and end returns its answer.
func (c *caller) begin(words ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, append([]any{c.thread}, words...)...); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) end() string {
	c.t.Helper()
	select {
	case answer, ok := <-c.answers[c.thread]:
		if !ok {
			c.t.Fatal("the program died")
		}
		return answer
	case <-time.After(patience):
		c.t.Fatal("no answer")
	}
	return ""
}

func (c *caller) number(words ...any) uint64 {
	c.t.Helper()
	c.begin(words...)
	n, err := strconv.ParseUint(c.end(), 10, 64)
	e2e.Must(c.t, err)
	return n
}

// call calls a function of the driver and returns its CUresult.
func (c *caller) call(name string, args ...any) int {
	c.t.Helper()
	return int(c.number(append([]any{name}, args...)...))
}

// must fails the test unless the call returns 0.
func (c *caller) must(name string, args ...any) { c.t.Helper(); c.want(0, name, args...) }

// want fails the test unless the call returns result.
func (c *caller) want(result int, name string, args ...any) {
	c.t.Helper()
	if got := c.call(name, args...); got != result {
		c.t.Fatalf("%s answers %d, want %d", name, got, result)
	}
}

// dies fails the test unless the call ends the program.
func (c *caller) dies(words ...any) {
	c.t.Helper()
	c.begin(words...)
	select {
	case answer, ok := <-c.answers[c.thread]:
		if ok {
			c.t.Fatalf("%v answers %s", words, answer)
		}
	case <-time.After(patience):
		c.t.Fatal("no answer")
	}
}

// Access to the program's memory.
func (c *caller) alloc(size int) uint64 { c.t.Helper(); return c.number("new", size) }

func (c *caller) write(address uint64, data []byte) {
	c.t.Helper()
	c.number("write", address, hex.EncodeToString(data))
}

func (c *caller) read(address uint64, size int) []byte {
	c.t.Helper()
	c.begin("read", address, size)
	data, err := hex.DecodeString(c.end())
	e2e.Must(c.t, err)
	return data
}

// get calls a function whose first argument points to its output, a handle, an address or a
// number, and returns that.
func (c *caller) get(name string, args ...any) uint64 {
	c.t.Helper()
	out := c.alloc(8)
	c.must(name, append([]any{out}, args...)...)
	return binary.LittleEndian.Uint64(c.read(out, 8))
}

// text copies a string into the program's memory and returns its address.
func (c *caller) text(s string) uint64 {
	c.t.Helper()
	at := c.alloc(len(s) + 1)
	c.write(at, []byte(s+"\x00"))
	return at
}

// open makes the context of a device current.
func (c *caller) open(device int) *caller {
	c.t.Helper()
	c.must("cuCtxSetCurrent", c.get("cuDevicePrimaryCtxRetain", device))
	return c
}

// complained ends the program and fails the test unless its stderr contains text.
func (c *caller) complained(text string) {
	c.t.Helper()
	if c.finish(); !strings.Contains(c.stderr.String(), text) {
		c.t.Errorf("stderr does not contain %q", text)
	}
}

// count returns how many lines of the log start with prefix.
func (c *caller) count(prefix string) (n int) {
	c.t.Helper()
	data, err := os.ReadFile(c.log)
	e2e.Must(c.t, err)
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, prefix) {
			n++
		}
	}
	return n
}

var (
	gpu  = flag.Bool("gpu", false, "test what the CPU's side does alike on this machine's GPU instead")
	kept = flag.String("built", "", "a `folder` that keeps what the tests compile, for machines without a compiler")
)

// compileOnce compiles a file into the folder -built, unless it is there, and returns its name.
func compileOnce(name string, clang ...string) (string, error) {
	file := filepath.Join(*kept, name)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if out, err := exec.Command("clang-19", append(clang, "-o", file)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return file, nil
}

var callProgram = sync.OnceValues(func() (string, error) {
	return compileOnce("call", "-O1", "-Wall", "-Werror", "testdata/call.c", "-ldl", "-lpthread")
})

const kernelList = "gpu/testdriver/testdata/kernels.list"

var testFolder = sync.OnceValues(func() (string, error) { return Build(kernelList) })

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	flag.Parse()
	var err error
	if *kept == "" {
		*kept, err = os.MkdirTemp("", "testdriver")
		defer func() { os.RemoveAll(*kept) }()
	} else {
		*kept, err = filepath.Abs(*kept)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
