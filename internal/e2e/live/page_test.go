package live

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"vidfilter/internal/e2e"
)

func TestPicturesArriveAndMove(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "640x360")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 10")
	if got := eval[string](p, "vidfilter.transport"); got != "avc" {
		t.Errorf("transport %s", got)
	}
	if got := eval[string](p, "location.href"); strings.Contains(got, "#") {
		t.Errorf("the token is still in %s", got)
	}
	p.moves("original", 100, 100, 64, 16)
	if n := eval[int](p, "vidfilter.stampErrors"); n != 0 {
		t.Errorf("%d stamps could not be read", n)
	}
	p.until("vidfilter.stats && vidfilter.stats.fps > 0")
	// A second page of the same browser needs no token.
	p.navigate(strings.Split(s.url, "#")[0])
	p.until("vidfilter.drawn > 3")
}

func TestWrongToken(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180")
	base, token, _ := strings.Cut(s.url, "#")
	p := blank(t, lifetime)
	p.navigate(base + "#wrong")
	p.until("!document.getElementById('login').hidden")
	p.run("document.getElementById('token').value = %q", token)
	p.run("document.querySelector('#login-form button').click()")
	p.until("vidfilter.drawn > 3")
}

// blurred is a filter that removes all texture, so that its effect shows at any bit rate.
var blurred = []string{"-i", "test", "--size", "640x360", "-r", "8", "--sigma-r", "250", "--range", "gaussian"}

// onScreen returns a function that measures the texture of the grass at a horizontal position of
// the page's picture.
func onScreen(p *page) func(x float64) float64 {
	l := eval[struct{ X, Y, Width, Height float64 }](p, "vidfilter.layout")
	return func(x float64) float64 {
		return noise(p.pixels("screen", int(l.X+l.Width*x), int(l.Y+l.Height*0.79), 64, 32), 64)
	}
}

// Left of the line is the original and right of it the filtered picture, and the line moves.
func TestSplit(t *testing.T) {
	t.Parallel()
	s := serve(t, blurred...)
	p := look(t, s.url)
	p.until("vidfilter.drawn > 10")
	texture := onScreen(p)
	p.run("document.getElementById('line').focus()")
	sides := func(key, there string) (left, right float64) {
		p.do(chromedp.KeyEvent(key))
		p.until(there)
		p.drawn(2)
		return texture(0.25), texture(0.7)
	}
	var seen [4]float64
	if !e2e.Within(e2e.Patience, func() bool { // the video moves
		left, right := sides(kb.Home, "vidfilter.split < 0.05")
		originalLeft, originalRight := sides(kb.End, "vidfilter.split > 0.95")
		seen = [4]float64{originalLeft, left, originalRight, right}
		return originalLeft > 1.3*left && originalRight > 1.3*right
	}) {
		t.Errorf("the texture left is %.2f, and %.2f filtered, right %.2f, and %.2f filtered", seen[0], seen[1], seen[2], seen[3])
	}
}

func slide(p *page, name string, value float64) {
	p.run(`(() => {
		const e = [...document.querySelectorAll("#fields input[type=range]")].find((e) => e.id.includes(%q) || e.name.includes(%[1]q));
		e.value = %g;
		e.dispatchEvent(new Event("input", { bubbles: true }));
		e.dispatchEvent(new Event("change", { bubbles: true }));
	})()`, name, value)
}

func TestFreezeAndSlider(t *testing.T) {
	s := serve(t, append(blurred, "-r", "0")...)
	p := look(t, s.url)
	p.until("vidfilter.drawn > 10")
	p.run("document.getElementById('freeze').click()")
	p.until("vidfilter.state.frozen")
	shown := func() int { return eval[int](p, "vidfilter.id") }
	id := e2e.Settled(t, 300*time.Millisecond, "the frozen picture", shown) // some are in flight
	at := func(which string) []byte { return p.pixels(which, 300, 240, 96, 64) }
	original, filtered := at("original"), at("filtered")
	e2e.Stays(t, 500*time.Millisecond, "the frozen picture", func() bool { return shown() == id && bytes.Equal(original, at("original")) })
	before := eval[int](p, "vidfilter.drawn")
	slide(p, "radius", 8)
	p.until("vidfilter.drawn > %d", before)
	e2e.Stays(t, 200*time.Millisecond, "the slider draws at most two pictures", func() bool { return eval[int](p, "vidfilter.drawn")-before <= 2 })
	if now := at("filtered"); noise(now, 96) > 0.7*noise(filtered, 96) {
		t.Errorf("texture %.2f with radius 0 and %.2f with radius 8", noise(filtered, 96), noise(now, 96))
	}
	if got := eval[string](p, "document.getElementById('command').textContent"); got != "vidfilter -i in.mp4 -o out.mp4 --filter bilateral -r 8 --sigma-r 250 --range gaussian" {
		t.Errorf("the command is %s", got)
	}
	p.run("document.getElementById('freeze').click()")
	p.until("vidfilter.id > %d", eval[int](p, "vidfilter.id")+5)
}

// TestFilter: the list of filters brings each one's own options, and keeps the focus.
func TestFilter(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180", "-r", "1")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	choose := func(name string) {
		p.run(`(() => {
			document.getElementById("advanced").open = true;
			const list = document.getElementById("f-filter");
			list.focus();
			list.value = %q;
			list.dispatchEvent(new Event("change", { bubbles: true }));
		})()`, name)
		p.until("vidfilter.state.filter.filter === %q", name)
	}
	shown := func() string {
		return eval[string](p, "[...document.querySelectorAll('#fields select, #fields input[type=range]')].map((e) => e.id).join(' ')")
	}
	before := shown()
	choose("recursive")
	if got := shown(); got != "f-sigma_s f-filter f-sigma_r f-iterations f-sharpen f-field_order" {
		t.Errorf("the recursive filter has %s", got)
	}
	if got := eval[string](p, "document.activeElement.id"); got != "f-filter" {
		t.Errorf("the focus is on %q", got)
	}
	p.until("document.getElementById('f-sigma_s-number').value === '10'")
	slide(p, "iterations", 3)
	p.until("document.getElementById('command').textContent === 'vidfilter -i in.mp4 -o out.mp4 --filter recursive --iterations 3'")
	choose("bilateral")
	if got := shown(); got != before {
		t.Errorf("back again there is %s, before there was %s", got, before)
	}
	p.until("document.getElementById('command').textContent === 'vidfilter -i in.mp4 -o out.mp4 --filter bilateral -r 1'")
}

// After a change of the filter only pictures already on their way show the old one.
func TestSliderWhilePicturesCome(t *testing.T) {
	s := serve(t, append(blurred, "-r", "0")...)
	p := look(t, s.url)
	p.until("vidfilter.drawn > 30")
	p.run(`window.texture = (which) => {
		const d = vidfilter.pixels(which, 300, 240, 64, 32);
		let sum = 0;
		for (let i = 5; i < d.length; i += 4) sum += Math.abs(d[i] - d[i - 4]);
		return sum;
	}`)
	// With radius 0 both are the same, except for coding losses.
	p.until("texture('filtered') > 0.7 * texture('original')")
	p.run(`window.seen = []; addEventListener("input", () => { window.from = seen.length; }, { capture: true, once: true }); (function watch() {
		if (vidfilter.id !== seen.at(-1)?.id) seen.push({ id: vidfilter.id, noise: texture("filtered") });
		if (seen.length < 30) requestAnimationFrame(watch);
	})()`)
	slide(p, "radius", 8)
	p.until("seen.length >= 30")
	first := eval[int](p, "seen.findIndex((s) => s.noise < 0.7 * seen[0].noise) - from")
	if first < 0 {
		t.Fatal("the slider changes nothing")
	}
	// When the slider moves, two pictures are on their way, and one or two in the making.
	if first > 4 {
		t.Errorf("%d pictures until the filter is in force", first)
	}
}

func TestBrowserCamera(t *testing.T) {
	s := serve(t, "-i", "browser", "-r", "3")
	p := look(t, s.url)
	p.until("vidfilter.state")
	if !eval[bool](p, "vidfilter.camera.on") {
		p.run("document.getElementById('camera-start').click()")
	}
	p.until("vidfilter.drawn > 20")
	st := eval[struct {
		Source, Status string
		Width          int
		Camera_wanted  bool
	}](p, "vidfilter.state")
	if st.Source != "browser" || st.Status != "live" || st.Width == 0 || st.Camera_wanted {
		t.Errorf("%+v", st)
	}
	// Chromium's camera shows green.
	for _, which := range []string{"original", "filtered"} {
		b := p.pixels(which, 20, 100, 8, 8)
		if b[1] < 100 || int(b[1]) < int(b[0])+30 || int(b[1]) < int(b[2])+30 {
			t.Errorf("%s: the camera's colour comes back as %v", which, b[:4])
		}
	}
	id := eval[int](p, "vidfilter.id")
	p.until("vidfilter.id > %d", id+10)
	t.Logf("browser to server to screen: %.0f ms", eval[float64](p, "vidfilter.arrivalToScreen"))
	p.run("document.getElementById('camera-stop').click()")
	p.until("vidfilter.state.camera_wanted")
}

func TestFallbacks(t *testing.T) {
	s := serve(t, "-i", "test", "--size", "640x360")
	base, token, _ := strings.Cut(s.url, "#")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 3")
	jpegs(t, p, base)

	plain := blank(t, lifetime) // without script
	if _, err := chromedp.Call(plain.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	plain.navigate(base)
	plain.do(chromedp.SendKeys("noscript input[name=token]", token+"\r"))
	plain.until("document.querySelector('noscript img')?.naturalWidth === 640")
}

// jpegs checks the JPEG fallback and its figures.
func jpegs(t *testing.T, p *page, base string) {
	p.navigate(base + "?video=jpeg")
	p.until("window.vidfilter && vidfilter.transport === 'jpeg' && vidfilter.drawn > 10 && vidfilter.stats")
	p.moves("filtered", 100, 100, 64, 16)
	dropped := eval[int](p, "vidfilter.stats.dropped.viewer")
	p.run("document.querySelector('[data-mode=difference]').click()")
	p.drawn(30)
	figures := eval[struct {
		Sent_fps, Encode, Sent_bitrate float64
		Dropped                        struct{ Viewer int }
	}](p, "vidfilter.stats")
	if figures.Sent_fps < 2 || figures.Encode <= 0 || figures.Sent_bitrate <= 0 || figures.Dropped.Viewer-dropped > 60 {
		t.Errorf("the figures of JPEGs: %+v, %d dropped before", figures, dropped)
	}
	if n := eval[int](p, "vidfilter.stampErrors"); n != 0 {
		t.Errorf("%d stamps of JPEGs could not be read", n)
	}
	if said := eval[string](p, "document.getElementById('way').textContent"); !strings.Contains(said, "single JPEGs") || !strings.Contains(said, "address asks") {
		t.Errorf("the page says of its way: %q", said)
	}
	if shown := eval[string](p, "document.getElementById('shown-fps').textContent"); shown == "0 fps" {
		t.Error("the page counts none of the JPEGs that it shows")
	}
}

// The denoiser is the default. Its options are a slider, a list, a switch, and a measured number.
func TestDenoiserOptions(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 10")
	if got := eval[string](p, "document.getElementById('f-filter').value"); got != "denoise" {
		t.Errorf("the filter is %s", got)
	}
	command := func(want string) {
		t.Helper()
		p.until("document.getElementById('command').textContent === 'vidfilter -i in.mp4 -o out.mp4%s'", want)
	}
	command("")
	slide(p, "strength", 1.5)
	command(" --strength 1.5")
	p.run("document.getElementById('f-temporal_only').click()")
	command(" --strength 1.5 --temporal-only")
	p.run("document.getElementById('f-noise-auto').click()")
	command(" --strength 1.5 --temporal-only --noise 5")
	p.run("document.getElementById('f-noise-auto').click()")
	p.run("{ const e = document.getElementById('f-quality'); e.value = 'good'; e.dispatchEvent(new Event('change')) }")
	command(" --strength 1.5 --quality good --temporal-only")
	p.until("document.getElementById('noise-text').textContent.includes('in luma')")
	p.run(`{
		const stage = document.getElementById("stage"), box = stage.getBoundingClientRect();
		stage.setPointerCapture = () => {}; // there is no such pointer
		const at = (type, part) => stage.dispatchEvent(new PointerEvent(type, { bubbles: true, pointerId: 1, clientX: box.left + part * box.width, clientY: box.top + part * box.height }));
		document.getElementById("noise-box").click();
		at("pointerdown", 0.2);
		at("pointermove", 0.5);
		at("pointerup", 0.6);
	}`)
	p.until("document.getElementById('noise-text').textContent.includes('measured in the box')")
	p.run("document.getElementById('noise-each').click()")
	p.until("document.getElementById('noise-each').hidden")
	drawn := eval[int](p, "vidfilter.drawn")
	p.until("vidfilter.drawn > %d", drawn+5)
}

// When vidfilter ends, the page reports it and reconnects only on request.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 3")
	p.run(`window.sockets = 0; window.WebSocket = class extends WebSocket { constructor(...a) { super(...a); window.sockets++; } }`)
	s.stop()
	over := func() string { return eval[string](p, "document.getElementById('over').innerText") }
	p.until("document.getElementById('over-text').textContent === 'vidfilter has ended'")
	// There would have been two.
	e2e.Stays(t, 1500*time.Millisecond, "the page makes no attempt to connect", func() bool {
		said := over()
		return strings.HasPrefix(said, "vidfilter has ended") && !strings.Contains(said, "Trying") && eval[int](p, "sockets") == 0
	})
	p.run("document.getElementById('over-do').click()")
	p.until("sockets === 1 && document.getElementById('over-text').textContent === 'vidfilter has ended'")
}

func TestLatency(t *testing.T) {
	s := serve(t, "-i", "test")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 60")
	all := eval[[]float64](p, "vidfilter.arrivalToScreenLately")
	slices.Sort(all)
	stats := eval[struct {
		FPS, Filter, Encode, Arrival_to_sent float64
		Bitrate                              float64
	}](p, "vidfilter.stats")
	t.Logf("720p30: from arrival to screen %.0f ms (95 of 100 within %.0f), server %.1f ms, %.1f fps, %.1f Mbit/s",
		all[len(all)/2], all[len(all)*95/100], stats.Arrival_to_sent, stats.FPS, stats.Bitrate/1e6)
	if all[len(all)/2] > 400 { // of a machine that does other things at the same time
		t.Errorf("from arrival to screen takes %.0f ms", all[len(all)/2])
	}
	if name := os.Getenv("VIDFILTER_SCREENSHOT"); name != "" {
		screenshot(t, p, name)
	}
}

// screenshot writes the page as a picture for people.
func screenshot(t *testing.T, p *page, name string) {
	t.Helper()
	p.do(chromedp.EmulateViewport(1280, 840))
	p.drawn(60)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	e2e.Must(t, err)
	e2e.Must(t, os.WriteFile(name, png, 0o666))
}

// TestPresets: four buttons set how much is filtered; off leaves every pixel as it is. The settings
// are kept for the next visit, but not against options of the command line.
func TestPresets(t *testing.T) {
	s := serve(t, "-i", "test", "--size", "320x180")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	press := func(name string) {
		t.Helper()
		p.run("[...document.querySelectorAll('#presets button')].find((b) => b.textContent === %q).click()", name)
		p.until("[...document.querySelectorAll('#presets [aria-pressed=true]')].map((b) => b.textContent).join() === %q", name)
	}
	command := func(want string) {
		t.Helper()
		p.until("document.getElementById('command').textContent === %q", "vidfilter -i in.mp4 -o out.mp4"+want)
	}
	press("Strong")
	command(" --strength 1.5")
	press("Off")
	command(" --filter bilateral -r 0")
	p.run("document.getElementById('freeze').click()")
	p.until("vidfilter.state.frozen")
	texture := map[string]float64{}
	t.Cleanup(func() { t.Logf("the texture of halves: %v", texture) })
	e2e.Until(t, "a picture with the filter off", func() bool {
		for _, which := range []string{"original", "filtered"} {
			texture[which] = noise(p.pixels(which, 60, 60, 64, 32), 64)
		}
		return texture["original"] < 1.6*texture["filtered"] // coded with loss; twice when filtered
	})
	p.run("document.getElementById('freeze').click()")
	slide(p, "strength", 1.2) // switches it on
	command(" --strength 1.2")
	p.until("document.querySelectorAll('#presets [aria-pressed=true]').length === 0")
	press("Light")
	p.until("JSON.parse(localStorage['vidfilter.filter']).strength === 0.7")

	again := func(more ...string) *page {
		port := strings.TrimSuffix(s.url[strings.LastIndex(s.url, ":")+1:], "\n")
		port, _, _ = strings.Cut(port, "/")
		s.stop()
		s = serve(t, append([]string{"-i", "test", "--size", "320x180", "--listen", "127.0.0.1:" + port}, more...)...)
		p.navigate("about:blank")
		p.navigate(s.url)
		p.until("vidfilter.drawn > 5")
		return p
	}
	again()
	p.until("vidfilter.state.filter.strength === 0.7")
	command(" --strength 0.7")
	p.run("document.getElementById('reset').click()")
	command("")
	press("Strong")
	again("--strength", "1.1")
	p.drawn(10)
	command(" --strength 1.1")
}

// TestJobFile: the settings leave as a file for batch, and come back.
func TestJobFile(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180", "--strength", "1.3", "--temporal-only")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 5")
	p.run("fetch(document.getElementById('export').href).then((r) => r.text()).then((t) => { window.job = t; })")
	p.until("window.job")
	file := filepath.Join(t.TempDir(), "job.yaml")
	e2e.Must(t, os.WriteFile(file, []byte(eval[string](p, "job")), 0o666))
	e2e.Note(t)
	out, err := exec.Command(e2e.Program, "batch", file, "--dry-run").CombinedOutput()
	if !strings.Contains(string(out), "in.mp4") || strings.Contains(string(out), "job.yaml:1:") {
		t.Errorf("batch with the exported file: %v: %s\n%s", err, out, eval[string](p, "job"))
	}
	p.run("document.getElementById('reset').click()")
	send := func(text string) {
		p.run(`{
			const files = new DataTransfer(), input = document.getElementById("import-file");
			files.items.add(new File([%q], "night.yaml"));
			input.files = files.files;
			input.dispatchEvent(new Event("change"));
		}`, text)
	}
	send("defaults: {radius: 4, crf: 20}\njobs: [a.mp4]\n")
	p.until("document.getElementById('command').textContent.endsWith(' --filter bilateral -r 4')")
	p.until("document.getElementById('settings-note').textContent.endsWith(': crf')")
	send(eval[string](p, "job"))
	p.until("document.getElementById('command').textContent.endsWith(' --strength 1.3 --temporal-only')")
	send("defaults: {radus: 4}\njobs: [a.mp4]\n")
	p.until("document.getElementById('alert').textContent.includes('job file:1: unknown option \"radus\"')")
}

// TestRecordFromThePage: viewers begin, pause and end recordings, each gets a name of its own, and
// the sandbox allows all of it. After a kill the recording is in the folder at the next
// start.
func TestRecordFromThePage(t *testing.T) {
	t.Parallel()
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	clip := flag(t, "null", 0) // 2 seconds, 10 a second
	s := serve(t, "-i", clip, "--loop", "--record-dir", dir)
	p := look(t, s.url)
	p.until("vidfilter.drawn > 3")
	press := func(id string) { p.run("document.getElementById('record-%s').click()", id) }
	press("start")
	p.until("vidfilter.state.recording?.seconds > 1")
	other := p.tab(strings.Split(s.url, "#")[0])
	other.until("document.getElementById('recording').textContent.startsWith('Recording 0:0')")
	p.shoot("recording")
	press("pause")
	p.until("vidfilter.state.recording.paused && document.getElementById('record-pause').textContent === 'Resume'")
	at := e2e.Settled(t, 500*time.Millisecond, "the paused recording", func() float64 {
		p.until("vidfilter.state")
		return eval[float64](p, "vidfilter.state.recording.seconds")
	})
	press("pause")
	p.until("vidfilter.state.recording.seconds > %g", at+0.5)
	press("stop")
	p.until("vidfilter.state.recording.ended && !document.getElementById('record-start').hidden")
	other.until("document.getElementById('recording').hidden && document.getElementById('record-note').textContent.startsWith('Recorded ')")
	p.shoot("recorded")
	name := eval[string](p, "vidfilter.state.recording.file")
	length := eval[float64](p, "vidfilter.state.recording.seconds")
	if filepath.Dir(name) != dir || !strings.HasPrefix(filepath.Base(name), "live-") {
		t.Errorf("recorded as %q", name)
	}
	// 10 a second by the file's own times, and no gap where the pause was.
	if n := count(t, name); n < int(length*10) || n > int(length*10)+2 {
		t.Errorf("%d pictures in %.2f s", n, length)
	}
	press("start") // perhaps in the same second
	p.until("vidfilter.state.recording.file !== %q && vidfilter.state.recording.seconds > 1.5", name)
	s.Kill()
	s.Wait()
	s = serve(t, "-i", clip, "--loop", "--record-dir", dir)
	left, _ := filepath.Glob(filepath.Join(dir, "*.recording.mp4"))
	if len(left) != 1 || count(t, left[0]) < 5 {
		t.Errorf("after a kill there is %q", left)
	}
	p = look(t, s.url)
	p.until("vidfilter.drawn > 3")
	press("start")
	p.until("vidfilter.state.recording?.seconds > 0.3")
	s.stop() // ends and names it
	all, _ := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(all) != 3 || len(hidden) != 0 {
		t.Errorf("in the end there are %q and %q", all, hidden)
	}
}
