package live

import (
	"fmt"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/live/access"
)

// stairs returns a clip of 3 seconds, 10 pictures a second, each with another grey: 50 + 6 n.
func stairs(t *testing.T) string {
	t.Helper()
	e2e.NeedsFFmpeg(t)
	return e2e.Clip(t, "stairs.mp4",
		"-f lavfi -i color=black:s=160x90:r=10:d=3,format=yuv420p,geq=lum=50+6*N:cb=128:cr=128 -c:v libx264 -g 12 -qp 0 -pix_fmt yuv420p")
}

// TestPlace: a file is frozen, sought, stepped and repeated, to the picture. The samples are the
// true ones.
func TestPlace(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", stairs(t), "-r", "0", "--loop")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 3 && !document.getElementById('file').hidden")
	if eval[bool](p, "document.getElementById('sound').checkVisibility()") {
		t.Error("a file without sound has a control for it")
	}
	p.run("document.getElementById('samples').open = true; document.getElementById('freeze').click()")
	p.until("vidfilter.state.frozen")
	at := func(n int) {
		t.Helper()
		p.until("document.getElementById('samples-left').textContent === 'Y %d  U 128  V 128'", 50+6*n)
		p.until("Math.abs(document.getElementById('place').value - %g) < 0.02", float64(n)/10)
	}
	seek := func(to float64) {
		t.Helper()
		p.run("{ const e = document.getElementById('place'); e.value = %g; e.dispatchEvent(new Event('input')) }", to)
	}
	seek(1.5)
	at(15)
	p.until("document.getElementById('samples-right').textContent === 'Y 140  U 128  V 128' && document.getElementById('samples-psnr').textContent === 'equal'")
	for _, n := range []int{14, 13, 12, 11} {
		p.run("document.getElementById('step-back').click()")
		at(n)
	}
	p.run("document.getElementById('step-on').click()")
	at(12)
	seek(0)
	at(0)
	p.run("document.getElementById('step-back').click()") // at the first frame
	at(0)
	seek(2.95)
	at(29)

	// The part from 0.5 to 1 plays over and over.
	seek(0.5)
	at(5)
	p.run("document.getElementById('repeat').click()")
	seek(1)
	at(10)
	p.run("document.getElementById('repeat').click()")
	p.until("vidfilter.state.repeat_to > 0.9")
	p.run("document.getElementById('freeze').click()")
	p.until("!vidfilter.state.frozen && document.getElementById('place').value < 0.9")
	p.run("window.places = []; setInterval(() => places.push(Number(document.getElementById('place').value)), 50)")
	if !e2e.Within(e2e.Patience, func() bool { return eval[int](p, "places.length") > 40 }) {
		t.Fatal("no places")
	}
	if got := eval[string](p, "`${Math.min(...places)} ${Math.max(...places)}`"); !inside(got, 0.49, 1.01) {
		t.Errorf("the part from 0.5 to 1 is at %s", got)
	}

	// Viewers without control see samples but cannot move.
	base, token, _ := strings.Cut(s.url, "#")
	looker := look(t, base+"#"+access.ViewToken(token))
	looker.until("vidfilter.drawn > 3")
	looker.run("document.getElementById('samples').open = true")
	looker.until("document.getElementById('samples-psnr').textContent === 'equal'")
	if eval[bool](looker, "document.getElementById('file').checkVisibility()") {
		t.Error("the bar is there for those who only look")
	}
}

func inside(text string, low, high float64) bool {
	var a, b float64
	_, err := fmt.Sscan(text, &a, &b)
	return err == nil && a >= low && b <= high && a < b
}
