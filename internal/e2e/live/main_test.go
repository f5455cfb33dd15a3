// Package live tests the live mode of the built program, with its page in a headless Chromium and
// Firefox over the real transport. Without a browser the tests of the page are skipped.
//
// Tests that measure time run alone, before those that run side by side.
package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"vidfilter/internal/e2e"
	"vidfilter/internal/e2e/chrome"
)

// serving is a running vidfilter live.
type serving struct {
	*e2e.Process
	t   *testing.T
	url string // with the token
}

// serve runs vidfilter live until the test ends.
func serve(t *testing.T, args ...string) *serving {
	t.Helper()
	return serveIn(t, nil, args...)
}

// serveIn is serve with variables of the environment.
func serveIn(t *testing.T, env []string, args ...string) *serving {
	t.Helper()
	e2e.Note(t)
	cmd := exec.Command(e2e.Program, append([]string{"live", "--no-open", "--listen", "127.0.0.1:0", "--device", "cpu"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	s := &serving{Process: e2e.Begin(t, cmd), t: t}
	t.Cleanup(func() {
		if code := s.stop(); code != 0 && !s.Killed {
			t.Errorf("exit code %d: %s", code, s.Err)
		}
	})
	s.Until("address", func() bool { return strings.Contains(s.Out.String(), "\n") })
	s.url, _, _ = strings.Cut(s.Out.String(), "\n")
	return s
}

// stop ends the program by Ctrl-C and returns its exit code.
func (s *serving) stop() int {
	s.t.Helper()
	s.Signal(syscall.SIGINT)
	return s.Wait()
}

// page is a tab of the browser.
type page struct {
	t   *testing.T
	ctx context.Context

	evaluate func(script string) (string, error) // in another browser than Chromium, or nil
}

// look opens an address in a browser of its own. Errors on its console fail the test.
func look(t *testing.T, url string) *page {
	t.Helper()
	p := blank(t, lifetime)
	p.navigate(url)
	return p
}

// lifetime bounds the time of a browser: tests share the cores.
const lifetime = 5 * time.Minute

// blank returns a browser with an empty tab, closed after the given time.
func blank(t *testing.T, most time.Duration, flags ...chromedp.ExecAllocatorOption) *page {
	t.Helper()
	flags = append([]chromedp.ExecAllocatorOption{chromedp.Flag("use-fake-device-for-media-stream", true), chromedp.Flag("use-fake-ui-for-media-stream", true)}, flags...)
	return &page{t: t, ctx: chrome.Open(t, most, flags...)}
}

// tab opens an address in another tab of the same browser.
func (p *page) tab(url string) *page {
	p.t.Helper()
	ctx, cancel := chromedp.NewContext(p.ctx)
	p.t.Cleanup(cancel)
	other := &page{t: p.t, ctx: ctx}
	other.navigate(url)
	return other
}

func (p *page) navigate(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	e2e.Must(p.t, chromedp.Do(p.ctx, steps...))
}

// eval returns the value of an expression.
func eval[T any](p *page, expression string, args ...any) T {
	p.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	v, err := valueOf[T](p, expression)
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

func valueOf[T any](p *page, expression string) (v T, err error) {
	if p.evaluate == nil {
		return chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	}
	text, err := p.evaluate("JSON.stringify(" + expression + ")")
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal([]byte(text), &v)
}

// run evaluates an expression for its side effects.
func (p *page) run(expression string, args ...any) {
	p.t.Helper()
	if p.evaluate == nil {
		p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(expression, args...)))
	} else if _, err := p.evaluate(fmt.Sprintf(expression, args...)); err != nil {
		p.t.Fatalf("%.200s: %v", expression, err)
	}
}

// until waits for an expression to be true.
func (p *page) until(expression string, args ...any) {
	p.t.Helper()
	expression = fmt.Sprintf(expression, args...)
	if p.within(e2e.Patience, expression) {
		return
	}
	p.t.Fatalf("never: %s; the page has %s", expression,
		eval[string](p, `JSON.stringify([document.body.innerText.slice(0, 600), window.vidfilter && {c: vidfilter.connected, d: vidfilter.drawn, s: vidfilter.state}])`))
}

func (p *page) within(d time.Duration, expression string) bool {
	return e2e.Within(d, func() bool { return eval[bool](p, "!!(%s)", expression) })
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

// moves waits for a part of a picture to change.
func (p *page) moves(which string, x, y, w, h int) {
	p.t.Helper()
	before := p.pixels(which, x, y, w, h)
	changed := func() bool { return !bytes.Equal(before, p.pixels(which, x, y, w, h)) }
	if !e2e.Within(e2e.Patience, changed) {
		p.t.Errorf("the %s picture stands still", which)
	}
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
	e2e.Must(t, err)
	u.Host = host + ":" + u.Port()
	return u.String()
}
