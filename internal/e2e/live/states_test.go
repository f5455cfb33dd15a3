package live

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/internal/e2e/chrome"
)

// screen is a size of the window, and how the page looks there.
type screen struct {
	name          string
	width, height int64
	touch, dark   bool
}

var screens = []screen{
	{"desktop", 1280, 800, false, false},
	{"desktop-dark", 1280, 800, false, true},
	{"large", 2560, 1440, false, false},
	{"zoomed", 640, 400, false, false}, // 1280x800 at 200 %
	{"phone", 390, 844, true, false},
	{"phone-dark", 390, 844, true, true},
	{"phone-side", 844, 390, true, false},
}

func (p *page) setScreen(s screen) {
	p.t.Helper()
	chrome.Look(p.t, p.ctx, s.width, s.height, s.touch, s.dark)
}

// accessible fails on axe violations.
func (p *page) accessible(name string) {
	p.t.Helper()
	for _, v := range chrome.Violations(p.t, func(e string) string { return eval[string](p, "%s", e) }) {
		p.t.Errorf("%s: axe: %v", name, v)
	}
}

func (p *page) shoot(name string) {
	p.t.Helper()
	chrome.Shoot(p.t, p.ctx, name)
}

// TestScreens: on every screen the page fits, has no fault that axe knows, shows the whole
// command, and keeps the picture in sight while the last of the sliders moves.
func TestScreens(t *testing.T) {
	t.Parallel()
	source, why := chrome.Axe()
	e2e.NeedsFFmpeg(t)
	clip := e2e.Clip(t, "screens.mp4", "-f lavfi -i testsrc2=s=640x360:r=15:d=4 -pix_fmt yuv420p")
	s := serve(t, "-i", clip, "--loop", "--record-dir", t.TempDir())
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	if source == "" {
		t.Log("without axe: " + why)
	} else {
		p.run("%s; 0", source)
	}
	slide(p, "strength", 1.5)
	for _, screen := range screens {
		p.setScreen(screen)
		if screen.touch { // a window of before is zoomed, not laid out anew
			p.navigate(strings.Split(s.url, "#")[0])
			p.until("vidfilter.drawn > 5")
			p.run("%s; 0", source)
		}
		p.run("{ document.getElementById('advanced').open = document.getElementById('samples').open = false; scrollTo(0, 0) }")
		p.drawn(5)
		p.until("document.getElementById('stats').childElementCount > 0") // they take room
		p.shoot(screen.name)
		p.run("document.getElementById('advanced').open = document.getElementById('samples').open = true")
		if wide := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%s: the page is %d pixels too wide", screen.name, wide)
		}
		if !eval[bool](p, "(() => { const c = document.getElementById('command'); return c.scrollWidth <= c.clientWidth && c.textContent.includes('--strength 1.5'); })()") {
			t.Errorf("%s: the command is cut off", screen.name)
		}
		if source != "" && screen.name != "large" {
			p.accessible(screen.name)
		}
		// The last slider, moved by keys, and the picture with it.
		p.run("document.getElementById('f-noise').focus()")
		inSight := `((e) => { document.getElementById("f-noise").scrollIntoView({ block: "nearest" });
			const b = document.getElementById(e).getBoundingClientRect();
			const at = document.elementFromPoint(b.x + b.width / 2, b.y + b.height / 2);
			return b.height > 0 && b.top > -b.height / 4 && b.bottom <= innerHeight && (at === document.getElementById(e) || document.getElementById(e).contains(at)); })`
		for _, id := range []string{"stage", "f-noise"} {
			if !p.within(10*time.Second, fmt.Sprintf("%s(%q)", inSight, id)) {
				t.Errorf("%s: %s is out of sight", screen.name, id)
			}
		}
		p.shoot(screen.name + "-advanced")
		p.run("document.getElementById('samples').scrollIntoView({ block: 'end' })")
		p.until("document.getElementById('samples-whole').textContent")
		p.shoot(screen.name + "-samples")
		p.run("document.getElementById('compare-on').click()")
		p.until("document.getElementById('left').textContent.startsWith('A: strength')")
		p.run("document.getElementById('compare-off').scrollIntoView({ block: 'center' })")
		slide(p, "strength", 0.7)
		p.until("document.getElementById('right').textContent.startsWith('B: strength 0.7') && document.getAnimations().length === 0")
		p.shoot(screen.name + "-compare")
		if wide := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
			t.Errorf("%s: two settings are %d pixels too wide", screen.name, wide)
		}
		if source != "" && !screen.dark && screen.name != "large" {
			p.accessible(screen.name + ", two settings")
		}
		p.run("document.querySelector('[data-side=a]').click(); document.getElementById('compare-off').click()")
		p.until("document.getElementById('left').textContent === 'Original'")
	}
}
