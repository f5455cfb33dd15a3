package live

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

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

// A PNG shows the current view: both sides, or one.
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

// The page crops, scales and sharpens by fields under Advanced. Enter applies a text, and a refused
// text has no effect.
func TestFraming(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "640x360", "-r", "1")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	p.run("document.getElementById('advanced').open = true")
	field := func(name string) string { return `document.getElementById("f-` + name + `")` }
	enter := func(name, text, last string) {
		p.run("%[1]s.focus(); %[1]s.select()", field(name))
		p.do(chromedp.KeyEvent(text + last))
	}
	shape := func() string { return eval[string](p, "document.getElementById('stage').dataset.shape") }
	if got := eval[string](p, field("scale")+".placeholder"); got != "SIZE" {
		t.Errorf("the placeholder is %q", got)
	}
	enter("crop", "320:180:0:0", "")
	p.drawn(3)
	if got := shape(); got != "640/360" {
		t.Errorf("while typing: %s", got)
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.until("document.getElementById('stage').dataset.shape === '320/180'")
	enter("scale", "160:-2", kb.Tab)
	p.until("document.getElementById('stage').dataset.shape === '160/90'")
	slide(p, "sharpen", 0.5)
	p.until("vidfilter.state.filter.sharpen > 0.4 && vidfilter.state.shown.width === 160")
	p.until("document.getElementById('what').textContent.includes('640x360 → 160x90')")
	for text, why := range map[string]string{"nonsense": "not W:H:X:Y", "auto": "looks at a whole video", "640:180:64:0": "reaches beyond the picture of 640x360"} {
		enter("crop", text, kb.Enter)
		p.until("document.getElementById('f-crop-wrong').textContent.includes(%q)", why)
		p.until("vidfilter.state.filter.crop === '320:180:0:0'")
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until("document.getElementById('f-crop-wrong').hidden && " + field("crop") + ".value === '320:180:0:0'")
	if got := eval[string](p, "document.getElementById('command').textContent"); !strings.Contains(got, "--crop 320:180:0:0 --sharpen 0.5") || !strings.Contains(got, "--scale 160:-2") {
		t.Errorf("the command is %s", got)
	}
	enter("crop", " ", kb.Enter)
	enter("scale", " ", kb.Enter)
	p.until("document.getElementById('stage').dataset.shape === '640/360'")
}
