// Package livetest runs the live mode of the built program and looks at its page in a headless Chromium, over the real transport. Where no
// Chromium is installed, it skips.
package livetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"vidfilter/internal/built"
)

var (
	work    string // scratch
	program string // the binary under test
	browser string // the browser; "" where there is none
)

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	var err error
	if work, err = os.MkdirTemp("", "livetest-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	if program, err = built.Program(work, "vidfilter"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			return m.Run()
		}
	}
	fmt.Fprintln(os.Stderr, "livetest: no Chromium on this machine: the page is not tested")
	return m.Run()
}

// browserFlags are those of a browser that talks to nobody else, and has a camera that it makes up.
func browserFlags(path string) []chromedp.ExecAllocatorOption {
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1280, 800))
	for _, f := range []string{
		"disable-quic", "disable-background-networking", "disable-component-update", "use-fake-device-for-media-stream",
		"use-fake-ui-for-media-stream", "disable-dev-shm-usage",
	} {
		o = append(o, chromedp.Flag(f, true))
	}
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox)
	}
	return o
}

// serving is a vidfilter live that runs.
type serving struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string // with the token
	stderr *tail
	once   sync.Once
	ended  chan struct{}
	killed bool // by the test
}

// tail keeps what a program says.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// serve runs vidfilter live until the test ends.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	return serveIn(t, nil, args...)
}

// serveIn is serve with variables of the environment.
func serveIn(t *testing.T, env []string, args ...string) *serving {
	t.Helper()
	built.Note(t)
	s := &serving{t: t, stderr: &tail{}, ended: make(chan struct{})}
	s.cmd = exec.Command(program, append([]string{"live", "--no-open", "--listen", "127.0.0.1:0", "--device", "cpu"}, args...)...)
	s.cmd.Stderr = s.stderr
	s.cmd.Env = append(os.Environ(), env...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if code := s.stop(); code != 0 && !s.killed {
			t.Errorf("exit code %d: %s", code, s.stderr)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v; %s", err, s.stderr)
	}
	s.url = strings.TrimSpace(line)
	return s
}

// stop ends the program as a person does, and returns its exit code.
func (s *serving) stop() int {
	s.once.Do(func() {
		defer close(s.ended)
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		late := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Kill() })
		defer late.Stop()
		_ = s.cmd.Wait()
	})
	<-s.ended
	return s.cmd.ProcessState.ExitCode()
}

// page is a tab that shows it.
type page struct {
	t   *testing.T
	ctx context.Context
}

// look opens an address in a browser of its own. What the page says on the console of errors fails the test.
func look(t *testing.T, url string) *page {
	t.Helper()
	p := blank(t, 2*time.Minute)
	p.navigate(url)
	return p
}

// blank returns a browser with an empty tab, for so long at most.
func blank(t *testing.T, most time.Duration, flags ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	if browser == "" {
		t.Skip("needs Chromium")
	}
	ctx, end := chromedp.NewExecAllocator(context.Background(), append(browserFlags(browser), flags...)...)
	ctx, cancel := chromedp.NewContext(ctx)
	ctx, stop := context.WithTimeout(ctx, most)
	p := &page{t, ctx}
	p.do(chromedp.Navigate("about:blank"))
	messages := chromedp.Console(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for m, err := range messages {
			if err != nil {
				return
			}
			// A connection that is cut is what some tests are about.
			if (m.Type == "error" || m.IsException()) && m.Source != "network" && !strings.Contains(m.Text, "WebSocket connection") {
				t.Errorf("the console: %s", m)
			}
		}
	}()
	t.Cleanup(func() { stop(); cancel(); end(); <-watched })
	return p
}

func (p *page) navigate(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](p *page, expression string, args ...any) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](fmt.Sprintf(expression, args...)))
	if err != nil {
		p.t.Fatalf("%s: %v", fmt.Sprintf(expression, args...), err)
	}
	return v
}

// run evaluates an expression for what it does.
func (p *page) run(expression string, args ...any) {
	p.t.Helper()
	p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(expression, args...)))
}

// until waits for an expression to be true.
func (p *page) until(expression string, args ...any) {
	p.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	for begin := time.Now(); time.Since(begin) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		if eval[bool](p, "!!(%s)", expression) {
			return
		}
	}
	p.t.Fatalf("never: %s; the page has %s", expression,
		eval[string](p, `JSON.stringify([document.body.innerText.slice(0, 600), window.vidfilter && {c: vidfilter.connected, d: vidfilter.drawn, s: vidfilter.state}])`))
}

// pixels returns RGBA of a part of a picture: "original", "filtered" or "screen".
func (p *page) pixels(which string, x, y, w, h int) []byte {
	p.t.Helper()
	values := eval[[]int](p, "Array.from(vidfilter.pixels(%q, %d, %d, %d, %d))", which, x, y, w, h)
	b := make([]byte, len(values))
	for i, v := range values {
		b[i] = byte(v)
	}
	if len(b) != 4*w*h {
		p.t.Fatalf("%d bytes of %s", len(b), which)
	}
	return b
}

// drawn waits for n more pictures on the screen.
func (p *page) drawn(n int) {
	p.t.Helper()
	p.until("vidfilter.drawn > %d", eval[int](p, "vidfilter.drawn")+n)
}

// noise is the mean difference of neighbours in a row, in levels of green.
func noise(rgba []byte, width int) float64 {
	sum, n := 0, 0
	for i := 4; i+1 < len(rgba); i += 4 {
		if i/4%width == 0 {
			continue
		}
		d := int(rgba[i+1]) - int(rgba[i-3])
		sum += max(d, -d)
		n++
	}
	return float64(sum) / float64(n)
}

// mapHosts lets a browser find names on this machine.
func mapHosts() chromedp.ExecAllocatorOption {
	return chromedp.Flag("host-resolver-rules", "MAP *.example 127.0.0.1")
}

// rename puts another host in an address.
func rename(t *testing.T, address, host string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = host + ":" + u.Port()
	return u.String()
}
