// Package chrome opens pages of the program in a headless Chromium, for tests.
package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"vidfilter/internal/e2e"
)

// Path is the path of Chromium, "" where there is none.
var Path = func() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}()

// Flags keep a browser off the network.
func Flags() []chromedp.ExecAllocatorOption {
	o := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Path), chromedp.WindowSize(1280, 800))
	for _, f := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-dev-shm-usage"} {
		o = append(o, chromedp.Flag(f, true))
	}
	if os.Geteuid() == 0 {
		o = append(o, chromedp.NoSandbox)
	}
	return o
}

// Open returns a browser of its own with an empty tab, closed at the end of the test, or after the
// given time. Errors on its console fail the test. Without Chromium the test is skipped.
func Open(t *testing.T, most time.Duration, flags ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	if Path == "" {
		e2e.Lacks(t, "chromium")
	}
	ctx, end := chromedp.NewExecAllocator(context.Background(), append(Flags(), flags...)...)
	ctx, cancel := chromedp.NewContext(ctx)
	ctx, stop := context.WithTimeout(ctx, most)
	e2e.Must(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	messages := chromedp.Console(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for m, err := range messages {
			if err != nil {
				return
			}
			// Some tests cut the connection.
			if (m.Type == "error" || m.IsException()) && m.Source != "network" && !strings.Contains(m.Text, "WebSocket connection") {
				t.Errorf("the console: %s", m)
			}
		}
	}()
	t.Cleanup(func() { stop(); cancel(); end(); <-watched })
	return ctx
}

// Look gives the window a size, with or without touch, and light or dark colours.
func Look(t *testing.T, ctx context.Context, width, height int64, touch, dark bool) {
	t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	e2e.Must(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, height, func(m *emulation.SetDeviceMetricsOverrideParams, f *emulation.SetTouchEmulationEnabledParams) {
		m.Mobile, f.Enabled = touch, touch
	})))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	e2e.Must(t, err)
}

// Axe installs axe-core by npm once, and returns its source, or "" and the reason.
var Axe = sync.OnceValues(func() (source, why string) {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return "", "needs npm"
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err.Error()
	}
	folder := filepath.Join(cache, "vidfilter", "axe-4.10.2")
	file := filepath.Join(folder, "node_modules", "axe-core", "axe.min.js")
	if b, err := os.ReadFile(file); err == nil {
		return string(b), ""
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err.Error()
	}
	cmd := exec.Command(npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries", "0", "axe-core@4.10.2")
	cmd.WaitDelay = time.Second
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Sprintf("npm cannot install axe-core: %v: %.200s", err, out)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err.Error()
	}
	return string(b), ""
})

// Violations returns the faults that axe finds. The page must have evaluated the source of Axe.
// value returns the text of an expression in the page, of whichever browser.
func Violations(t *testing.T, value func(expression string) string) (all []any) {
	t.Helper()
	value(`(window.found = "", axe.run(document, { resultTypes: ["violations"] }).then(
		(r) => { found = JSON.stringify(r.violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 120))])); }, (e) => { found = JSON.stringify([String(e)]); }), "")`)
	found := ""
	e2e.Until(t, "axe has an answer", func() bool { found = value("found"); return found != "" })
	e2e.Must(t, json.Unmarshal([]byte(found), &all))
	return all
}

// Shoot writes a picture of the page into the folder of VIDFILTER_TEST_SCREENSHOTS, if it is set.
func Shoot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	folder := os.Getenv("VIDFILTER_TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	e2e.Must(t, err)
	e2e.Must(t, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o666))
}
