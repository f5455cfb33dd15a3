package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"vidfilter/internal/e2e"
	"vidfilter/internal/e2e/chrome"
)

// preferences keep Firefox off the network and give it a fake camera.
const preferences = `
user_pref("media.navigator.streams.fake", true);
user_pref("media.navigator.permission.disabled", true);
user_pref("app.update.enabled", false);
user_pref("browser.aboutwelcome.enabled", false);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("datareporting.healthreport.uploadEnabled", false);
user_pref("extensions.update.enabled", false);
user_pref("media.gmp-manager.url", "");
user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("services.settings.server", "data:,");
user_pref("toolkit.telemetry.enabled", false);
`

// firefox is a Firefox without a window, spoken to by WebDriver BiDi.
type firefox struct {
	t       *testing.T
	ctx     context.Context
	conn    *websocket.Conn
	id      int
	context string // the tab
}

// openFirefox starts Firefox, until the test ends.
func openFirefox(t *testing.T) *firefox {
	t.Helper()
	path, err := exec.LookPath("firefox-esr")
	if err != nil {
		if path, err = exec.LookPath("firefox"); err != nil {
			e2e.Lacks(t, "firefox-esr")
		}
	}
	home := t.TempDir()
	e2e.Must(t, os.WriteFile(filepath.Join(home, "user.js"), []byte(preferences), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", "0", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "MOZ_CRASHREPORTER_DISABLE=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.StderrPipe()
	e2e.Must(t, err)
	e2e.Must(t, cmd.Start())
	f := &firefox{t: t, ctx: ctx}
	t.Cleanup(func() {
		if f.conn != nil {
			_, _ = f.ask("browser.close", map[string]any{})
			_ = f.conn.CloseNow()
		}
		cancel()
		_ = cmd.Wait()
	})
	address := ""
	lines := bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "WebDriver BiDi listening on ")
	}
	if address == "" {
		t.Fatal("Firefox says no address")
	}
	go func() { // it must not wait for a reader
		for lines.Scan() {
		}
	}()
	f.conn, _, err = websocket.Dial(ctx, address+"/session", nil)
	e2e.Must(t, err)
	f.conn.SetReadLimit(16 << 20)
	f.must("session.new", map[string]any{"capabilities": map[string]any{}})
	var tree struct {
		Contexts []struct{ Context string }
	}
	f.decode(f.must("browsingContext.getTree", map[string]any{}), &tree)
	f.context = tree.Contexts[0].Context
	return f
}

// ask sends a command and returns its result.
func (f *firefox) ask(method string, params map[string]any) (json.RawMessage, error) {
	f.id++
	b, err := json.Marshal(map[string]any{"id": f.id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if err := f.conn.Write(f.ctx, websocket.MessageText, b); err != nil {
		return nil, err
	}
	for {
		_, b, err := f.conn.Read(f.ctx)
		if err != nil {
			return nil, err
		}
		var m struct {
			ID             int
			Result         json.RawMessage
			Error, Message string
		}
		if err := json.Unmarshal(b, &m); err != nil {
			return nil, err
		}
		switch {
		case m.ID != f.id: // an event
		case m.Error != "":
			return nil, fmt.Errorf("%s: %s: %s", method, m.Error, m.Message)
		default:
			return m.Result, nil
		}
	}
}

func (f *firefox) must(method string, params map[string]any) json.RawMessage {
	f.t.Helper()
	b, err := f.ask(method, params)
	e2e.Must(f.t, err)
	return b
}

func (f *firefox) decode(b json.RawMessage, to any) {
	f.t.Helper()
	if err := json.Unmarshal(b, to); err != nil {
		f.t.Fatalf("%v: %.300s", err, b)
	}
}

// evaluate runs a script in the tab and returns its value, if that is a string.
func (f *firefox) evaluate(script string) (string, error) {
	b, err := f.ask("script.evaluate", map[string]any{"expression": script, "target": map[string]any{"context": f.context}, "awaitPromise": false})
	if err != nil {
		return "", err
	}
	var m struct {
		Type   string
		Result struct {
			Type  string
			Value json.RawMessage
		}
		ExceptionDetails struct{ Text string }
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return "", err
	}
	if m.Type != "success" {
		return "", errors.New(m.ExceptionDetails.Text)
	}
	text := ""
	if m.Result.Type == "string" {
		err = json.Unmarshal(m.Result.Value, &text)
	}
	return text, err
}

// page returns the tab as a page at an address.
func (f *firefox) page(url string) *page {
	f.t.Helper()
	f.must("browsingContext.navigate", map[string]any{"context": f.context, "url": url, "wait": "complete"})
	return &page{t: f.t, evaluate: f.evaluate}
}

func (f *firefox) setSize(width, height int) {
	f.t.Helper()
	f.must("browsingContext.setViewport", map[string]any{"context": f.context, "viewport": map[string]any{"width": width, "height": height}})
}

// TestFirefox: in Firefox pictures move, settings apply, two of them can be compared, the page is
// accessible on a desktop and a phone, and its own camera comes to the server and back.
func TestFirefox(t *testing.T) {
	t.Parallel()
	source, why := chrome.Axe()
	if source == "" {
		t.Log("without axe: " + why)
	}
	f := openFirefox(t)
	s := serve(t, blurred...)
	f.setSize(1280, 800)
	p := f.page(s.url)
	p.until("window.vidfilter?.drawn > 5")
	t.Log("shown by " + eval[string](p, "vidfilter.transport"))
	p.moves("original", 0, 0, 320, 200)
	texture := func(which string) float64 { return noise(p.pixels(which, 300, 240, 96, 64), 96) }
	if rough, smooth := texture("original"), texture("filtered"); smooth > 0.7*rough {
		t.Errorf("texture %.2f of the original, %.2f of the filtered picture", rough, smooth)
	}
	slide(p, "radius", 0)
	p.until("vidfilter.state.filter.radius === 0 && document.getElementById('command').textContent.includes('-r 0')")
	e2e.Until(t, "a picture with radius 0", func() bool { return texture("filtered") > 0.7*texture("original") })
	p.run("document.getElementById('compare-on').click()")
	p.until("document.getElementById('left').textContent.startsWith('A: ')")
	for _, size := range [][2]int{{1280, 800}, {390, 844}} {
		f.setSize(size[0], size[1])
		p.drawn(3)
		if wide := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%v: the page is %d pixels too wide", size, wide)
		}
		if source != "" {
			p.run("%s; 0", source)
			p.until("document.getAnimations().length === 0")
			p.accessible(fmt.Sprint("Firefox ", size))
		}
	}
	s.stop()

	f.setSize(1280, 800)
	s = serve(t, "-i", "browser", "-r", "1")
	p = f.page(s.url)
	p.until("window.vidfilter?.state?.camera_wanted && !document.getElementById('camera-start').hidden")
	p.run("document.getElementById('camera-start').click()")
	p.until("vidfilter.camera.announced && vidfilter.state.status === 'live' && vidfilter.drawn > 10")
	t.Log("its camera: " + eval[string](p, "vidfilter.camera.what"))
	p.until("vidfilter.arrivalToScreen > 0 && vidfilter.arrivalToScreen < 1000") // ms, from the camera and back
}
