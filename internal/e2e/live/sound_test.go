package live

import (
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"vidfilter/internal/e2e"
	"vidfilter/live/livetest"
)

// eavesdrop notes when flashes are drawn and when beeps leave the speakers, by the page's clock, in
// ms. A beep begins in the samples that the page hands to WebAudio, at a time of its clock.
const eavesdrop = `
	window.flashes = []; window.beeps = []; window.peak = window.loudest = 0;
	const start = AudioBufferSourceNode.prototype.start, stop = AudioBufferSourceNode.prototype.stop;
	const connect = AudioNode.prototype.connect;
	let quiet = Infinity; // samples since the last loud one
	AudioNode.prototype.connect = function (to, ...more) {
		if (to instanceof AudioDestinationNode) {
			const a = new AnalyserNode(this.context);
			connect.call(this, a);
			const data = new Float32Array(a.fftSize);
			setInterval(() => { a.getFloatTimeDomainData(data); peak = Math.max(peak, ...data); loudest = Math.max(loudest, ...data); }, 20);
		}
		return connect.call(this, to, ...more);
	};
	AudioBufferSourceNode.prototype.start = function (when, offset = 0) {
		const samples = this.buffer.getChannelData(0), { contextTime, performanceTime } = this.context.getOutputTimestamp();
		for (let i = 0; i < samples.length; i++) {
			if (Math.abs(samples[i]) < 0.1) { quiet++; continue; }
			if (quiet > 2400) {
				const at = when + (i / this.buffer.sampleRate - offset) / this.playbackRate.value;
				this.beep = performanceTime + (at - contextTime) * 1000;
				beeps.push(this.beep);
			}
			quiet = 0;
		}
		start.call(this, when, offset);
	};
	AudioBufferSourceNode.prototype.stop = function (...when) {
		if (this.beep > performance.now()) { beeps.splice(beeps.indexOf(this.beep), 1); quiet = Infinity; }
		stop.call(this, ...when);
	};
	let white = true;
	setInterval(() => {
		const now = performance.now(), [, g] = vidfilter.pixels("filtered", 80, 45, 1, 1);
		if (g > 128 && !white) flashes.push(now);
		white = g > 128;
	}, 4);`

// apart returns how long after its flash a beep is heard, in ms: the median.
func (p *page) apart() float64 {
	p.t.Helper()
	flashes, beeps := eval[[]float64](p, "flashes"), eval[[]float64](p, "beeps")
	var all []float64
	for _, at := range flashes {
		near := math.Inf(1)
		for _, b := range beeps {
			if math.Abs(b-at) < math.Abs(near) {
				near = b - at
			}
		}
		all = append(all, near)
	}
	slices.Sort(all)
	p.t.Logf("beeps after their flashes by %.0f ms; %s", all, eval[string](p, "JSON.stringify(vidfilter.sound)"))
	return all[len(all)/2]
}

// TestSound: the sound of a file is heard when its picture is shown. It is off at first, it is kept
// for the next visit, and it keeps quiet while the picture is frozen.
func TestSound(t *testing.T) {
	s := serve(t, "-i", livetest.Flashing(t), "--loop", "-r", "1")
	p := blank(t, lifetime, chromedp.Flag("autoplay-policy", "document-user-activation-required"))
	p.navigate(s.url)
	const pressed = "document.getElementById('sound-on').getAttribute('aria-pressed') === '%v'"
	p.until("vidfilter.drawn > 3 && document.getElementById('sound').checkVisibility()")
	p.until(pressed, false)
	if eval[bool](p, "vidfilter.sound.packets > 0 || localStorage.getItem('vidfilter.sound') !== null") {
		t.Error("sound is sent to a page that plays none")
	}
	// Where it was on at the last visit, the browser still wants a click.
	p.run("localStorage.setItem('vidfilter.sound', 'true')")
	p.do(chromedp.Reload())
	p.until("vidfilter.drawn > 3 && document.getElementById('sound-note').checkVisibility()")
	p.until(pressed, false)
	p.run(eavesdrop)
	p.do(chromedp.Click("#canvas"))
	p.until(pressed, true)
	p.do(chromedp.Click("#sound-on"))
	p.until(pressed+" && localStorage.getItem('vidfilter.sound') === 'false'", false)
	p.do(chromedp.Click("#sound-on"))
	p.until(pressed+" && localStorage.getItem('vidfilter.sound') === 'true'", true)
	p.until("flashes.length > 0 && beeps.length > 2")
	p.run("flashes.length = 0")
	p.until("flashes.length > 4 && peak > 0.1")
	if d := p.apart(); math.Abs(d) > 60 {
		t.Errorf("beeps are heard %.0f ms after their flashes", d)
	}

	p.run("document.getElementById('freeze').click()")
	p.until("vidfilter.state.frozen")
	time.Sleep(100 * time.Millisecond) // on its way to the speakers
	p.run("loudest = 0")
	time.Sleep(600 * time.Millisecond) // a beep
	if got := eval[float64](p, "loudest"); got > 0.01 {
		t.Errorf("sound of %g behind a frozen picture", got)
	}
	p.run("document.getElementById('freeze').click()")
	p.until("loudest > 0.1")
	p.run("{ const e = document.getElementById('volume'); e.value = 0; e.dispatchEvent(new Event('input')) }")
	time.Sleep(100 * time.Millisecond)
	p.run("loudest = 0")
	time.Sleep(600 * time.Millisecond) // a beep
	if got := eval[float64](p, "loudest"); got > 0.01 {
		t.Errorf("sound of %g at no volume", got)
	}
}

// TestMicrophone: a page sends its microphone beside its camera where its user wants that. Another
// page hears it, the recording has it, and the page itself does not play it.
func TestMicrophone(t *testing.T) {
	e2e.Needs(t, "ffprobe")
	out := filepath.Join(t.TempDir(), "out.mkv")
	s := serve(t, "-i", "browser", "-r", "1", "--record", out)
	own := look(t, s.url)
	own.until("vidfilter.state && document.getElementById('camera-start').checkVisibility()")
	own.run("document.getElementById('camera-size').value = '640x480'; document.getElementById('camera-size').dispatchEvent(new Event('change'))")
	if eval[bool](own, "document.getElementById('camera-sound').checked") {
		t.Error("the microphone is on at first")
	}
	own.do(chromedp.Click("#camera-sound"))
	own.do(chromedp.Click("#camera-start"))
	own.until("vidfilter.camera.heard > 10 && vidfilter.drawn > 5 && vidfilter.state.sound")
	own.do(chromedp.Click("#sound-on"))

	other := look(t, s.url)
	other.until("vidfilter.drawn > 3 && document.getElementById('sound').checkVisibility()")
	other.run(eavesdrop)
	other.do(chromedp.Click("#sound-on"))
	other.until("peak > 0.05") // the fake microphone beeps
	if n := eval[int](own, "vidfilter.sound.packets"); n > 0 {
		t.Errorf("the page gets %d packets of its own microphone", n)
	}
	if code := s.stop(); code != 0 {
		t.Fatalf("exit code %d: %s", code, s.Err)
	}
	b, err := exec.Command("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-count_packets", "-show_entries", "stream=nb_read_packets",
		"-of", "csv=p=0", out).CombinedOutput()
	if got := strings.Fields(string(b)); err != nil || len(got) != 2 || !strings.HasPrefix(got[1], "opus,") || len(got[1]) < len("opus,10") {
		t.Errorf("the recording: %v %s", err, b)
	}
}
