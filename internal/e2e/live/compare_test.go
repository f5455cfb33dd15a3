package live

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"vidfilter/internal/e2e"
	"vidfilter/live/access"
)

// TestCompareSettings: A and B are set, shown side by side and alone, named on the picture,
// measured and saved; viewers without control see both but cannot change them.
func TestCompareSettings(t *testing.T) {
	t.Parallel()
	s := serve(t, blurred...)
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	press := func(key string) {
		t.Helper()
		p.do(chromedp.KeyEvent(key))
	}
	text := func(page *page, id, want string) {
		t.Helper()
		page.until("document.getElementById(%q).textContent.startsWith(%q)", id, want)
	}
	p.run("document.getElementById('compare-on').click()")
	text(p, "left", "A: bilateral, radius 8")
	text(p, "right", "B: bilateral, radius 8")
	text(p, "command-of", ": settings B")
	slide(p, "radius", 0)
	p.run("document.querySelector('[data-side=a]').click()") // at once: the slider's value is still B's
	text(p, "left", "A: bilateral, radius 8")
	text(p, "right", "B: bilateral, radius 0")
	text(p, "command-of", ": settings A")
	p.until("document.getElementById('f-radius').value === '8' && document.getElementById('command').textContent.includes('-r 8')")
	texture := onScreen(p)
	sides := func(left, right bool) {
		t.Helper()
		settled := func() bool { return texture(0.25) > 4 == left && texture(0.7) > 4 == right }
		if !e2e.Within(20*time.Second, settled) {
			t.Errorf("texture left %.2f, %v expected, right %.2f, %v expected; %v", texture(0.25), left, texture(0.7), right,
				eval[[]any](p, "[vidfilter.mode, vidfilter.scale, vidfilter.has('original'), document.getElementById('left').textContent, vidfilter.layout]"))
		}
	}
	sides(false, true)
	press("s")
	sides(true, false)
	text(p, "left", "B: ")
	press("s")
	press("2")
	sides(false, false)
	if got := eval[string](p, "document.querySelector('[data-mode=original]').textContent + document.getElementById('canvas').ariaLabel"); got != "AThe picture, A" {
		t.Errorf("the single picture is called %q", got)
	}
	press("3")
	sides(true, true)
	press("4")
	text(p, "left", "Difference of A and B")
	press("1")

	// Measured and saved: B is as the original is.
	p.run("document.getElementById('samples').open = true")
	p.until("document.getElementById('samples-left-of').textContent === 'A' && /dB/.test(document.getElementById('samples-whole').textContent)")
	p.run(`window.saved = {}; for (const v of ["left", "right", "original", "filtered"]) fetch("snapshot?view=" + v).then((r) => r.blob()).then((b) => { saved[v] = b.size; }); 0`)
	p.until("Object.keys(saved).length === 4")
	if !eval[bool](p, "saved.right > 1.2 * saved.left && saved.filtered < 1.1 * saved.left") {
		t.Errorf("saved: %v", eval[map[string]int](p, "saved"))
	}

	base, token, _ := strings.Cut(s.url, "#")
	looker := look(t, base+"#"+access.ViewToken(token))
	text(looker, "left", "A: bilateral, radius 8")
	if eval[bool](looker, "document.getElementById('compare').checkVisibility()") {
		t.Error("the buttons are there for those who only look")
	}
	looker.do(chromedp.KeyEvent("b"))

	// By keys: the other, a copy, and back; while the picture stands.
	press(" ")
	p.until("vidfilter.state.frozen")
	press("x")
	text(p, "command-of", ": settings B")
	press("o")
	text(p, "left", "A: bilateral, radius 0")
	p.until("document.getElementById('samples-whole').textContent === 'equal'")
	press("b")
	text(p, "left", "Original")
	text(looker, "right", "Filtered")
	p.until("vidfilter.state.side === '' && vidfilter.state.filter.radius === 0 && document.getElementById('compare-on').checkVisibility()")
}
