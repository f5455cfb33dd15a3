package live

import (
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// Where one picture of the pair is shown, the other is not sent, by each way to the screen; back in
// the split mode both come, also of a frozen picture.
func TestModesSendWhatTheyShow(t *testing.T) {
	t.Parallel()
	s := serve(t, blurred...)
	for _, way := range []string{"", "?video=jpeg"} {
		p := blank(t, lifetime)
		p.navigate(insert(s.url, way))
		p.until("vidfilter.drawn > 5 && vidfilter.has('both')")
		for _, mode := range []string{"filtered", "original"} {
			p.run("document.querySelector('[data-mode=%s]').click()", mode)
			p.until("vidfilter.has(%q) && !vidfilter.has('both')", mode)
			p.drawn(3)
			if rough := onScreen(p)(0.25); (rough > 4) != (mode == "original") {
				t.Errorf("%s %s: texture %.2f", way, mode, rough)
			}
		}
		p.run("document.getElementById('freeze').click()")
		p.until("vidfilter.state.frozen")
		p.run("document.querySelector('[data-mode=split]').click()")
		p.until("vidfilter.has('both')")
		texture := onScreen(p)
		settled := func() bool { return texture(0.25) > 1.3*texture(0.7) }
		if !e2e.Within(20*time.Second, settled) {
			t.Errorf("%s: left of the line the texture is %.2f, right of it %.2f", way, texture(0.25), texture(0.7))
		}
		p.run("document.getElementById('freeze').click()")
		p.until("!vidfilter.state.frozen")
	}
}

// A PNG has what is shown: both sides, or the one.
func TestSave(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	for mode, width := range map[string]int{"split": 640, "difference": 640, "original": 320, "filtered": 320} {
		p.run("document.querySelector('[data-mode=%s]').click()", mode)
		p.run("window.saved = 0; fetch(document.getElementById('save').href).then((r) => r.blob()).then(createImageBitmap).then((b) => { saved = b.width; }); 0")
		p.until("saved > 0")
		if got := eval[int](p, "saved"); got != width {
			t.Errorf("%s: %d columns", mode, got)
		}
	}
}

// insert puts a query before the token of an address.
func insert(address, query string) string {
	base, token, _ := strings.Cut(address, "#")
	return base + query + "#" + token
}
