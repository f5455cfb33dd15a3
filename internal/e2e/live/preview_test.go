package live

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/e2e/chrome"
)

// TestPreviewPage: the page of vidfilter preview shows both pictures and the command, and reacts to
// keys and the mouse, in Chromium and Firefox, on every screen.
func TestPreviewPage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page.html")
	e2e.Run(t, e2e.Program, "preview", "../../../samples/noisy.mp4", "-o", name, "--samples", "2", "--device", "cpu")
	st, err := os.Stat(name)
	e2e.Must(t, err)
	if st.Size() > 10e6 {
		t.Errorf("the page has %d bytes", st.Size())
	}
	source, why := chrome.Axe()
	if source == "" {
		t.Log("without axe: " + why)
	}
	use := func(t *testing.T, p *page) {
		p.until("[...document.images].every(i => i.complete && i.naturalWidth === 640)")
		shown := func() string {
			return eval[string](p, "[...document.querySelectorAll('code')].find(c => c.offsetParent).textContent")
		}
		press := func(key string) {
			p.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true }))", key)
		}
		if got := shown(); !strings.HasSuffix(got, "noisy.clean.mp4 --device=cpu --strength=0.7") {
			t.Errorf("the command is %q", got)
		}
		press("3")
		if got := shown(); !strings.HasSuffix(got, "--strength=1.4") {
			t.Errorf("the third command is %q", got)
		}
		if n := eval[int](p, "[...document.querySelectorAll('.after')].filter(i => i.offsetParent).length"); n != 2 {
			t.Errorf("%d filtered pictures are shown, not 2", n)
		}
		p.run("{ const s = document.querySelector('.split'); s.value = 250; s.dispatchEvent(new Event('input')); }")
		if at := eval[string](p, "getComputedStyle(document.querySelector('.stack')).getPropertyValue('--at')"); at != "25%" {
			t.Errorf("the line is at %s", at)
		}
		press("z")
		press("z")
		if wide := eval[int](p, "document.querySelector('.stack').clientWidth * devicePixelRatio"); wide != 1280 {
			t.Errorf("at 200 %% the picture is %d pixels wide, not 1280", wide)
		}
		press("z")
		p.run("{ const l = document.querySelector('.line'); l.setPointerCapture = () => {}; l.hasPointerCapture = () => true;" +
			"const b = l.parentElement.getBoundingClientRect();" +
			"l.dispatchEvent(new PointerEvent('pointermove', { pointerId: 1, clientX: b.left + b.width * 0.75 })); }")
		if at := eval[int](p, "Math.round(document.querySelector('.split').value / 10)"); at != 75 {
			t.Errorf("the dragged line is at %d %%", at)
		}
	}
	check := func(t *testing.T, p *page, name string) {
		if wide := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%s: the page is %d pixels too wide", name, wide)
		}
		if source != "" {
			p.run("%s; 0", source)
			p.accessible(name)
		}
	}
	t.Run("chromium", func(t *testing.T) {
		p := look(t, "file://"+name)
		use(t, p)
		for _, s := range screens {
			p.setScreen(s)
			check(t, p, s.name)
			p.shoot("preview-" + s.name)
		}
	})
	t.Run("firefox", func(t *testing.T) {
		f := openFirefox(t)
		p := f.page("file://" + name)
		use(t, p)
		for _, size := range [][2]int{{1280, 800}, {390, 844}} {
			f.setSize(size[0], size[1])
			check(t, p, fmt.Sprint(size))
		}
	})
}
