package live

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"vidfilter/internal/e2e"
)

// TestClock measures the delay from a picture's making to the screen by a clock in the picture,
// which a generator draws and the page's canvas or video shows. Ways, programs and sizes take
// turns, so that other work on the machine meets all of them. VIDFILTER_CLOCK is the number of
// rounds, VIDFILTER_CLOCK_ONLY a part of the names of the ways. VIDFILTER_BEFORE may name an older
// vidfilter, to compare with; go2rtc is measured if it is installed.
func TestClock(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("VIDFILTER_CLOCK"))
	if err != nil || rounds < 1 {
		t.Skip("a measurement: make latency, or VIDFILTER_CLOCK=3")
	}
	for _, size := range []string{"640x360", "1280x720", "1920x1080"} {
		var rows []*clockRow
		for _, c := range contenders(t) {
			rows = append(rows, &clockRow{contender: c})
		}
		t.Run(size, func(t *testing.T) {
			for range rounds {
				for _, r := range rows {
					t.Run(r.name, func(t *testing.T) { r.measure(t, size) })
				}
			}
		})
		fmt.Printf("\n| %s | fps | p50 ms | p95 ms | server ms CPU/picture | browser ms CPU/picture | load |\n| --- | --- | --- | --- | --- | --- | --- |\n", size)
		for _, r := range rows {
			fmt.Println(r)
		}
	}
}

// contender is a way to the screen.
type contender struct {
	name string
	open func(t *testing.T, size string) (*e2e.Process, *page)
}

func contenders(t *testing.T) (all []contender) {
	programs := []struct{ name, path string }{{"", e2e.Program}, {"before: ", os.Getenv("VIDFILTER_BEFORE")}}
	for _, p := range programs {
		if p.path == "" {
			continue
		}
		for _, mode := range []string{"split", "filtered"} {
			all = append(all, contender{p.name + "page, " + mode, func(t *testing.T, size string) (*e2e.Process, *page) {
				return clockPage(t, p.path, size, mode)
			}})
		}
		all = append(all, contender{p.name + "WHEP", func(t *testing.T, size string) (*e2e.Process, *page) { return clockWHEP(t, p.path, size) }})
	}
	if path, err := exec.LookPath("go2rtc"); err == nil {
		all = append(all, contender{"go2rtc", func(t *testing.T, size string) (*e2e.Process, *page) { return clockGo2RTC(t, path, size) }})
	} else {
		t.Log("go2rtc is not installed")
	}
	only := os.Getenv("VIDFILTER_CLOCK_ONLY")
	return slices.DeleteFunc(all, func(c contender) bool { return !strings.Contains(c.name, only) })
}

// clockSource is the command of the generator.
func clockSource(size string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), generating+"="+size)
	return cmd
}

// clockServe runs a program that shows the clock.
func clockServe(t *testing.T, path, size string, args ...string) *serving {
	t.Helper()
	source := clockSource(size)
	pipe, err := source.StdoutPipe()
	e2e.Must(t, err)
	cmd := exec.Command(path, append([]string{"live", "--no-open", "--listen", "127.0.0.1:0", "--device", "cpu", "-r", "3", "-i", "-"}, args...)...)
	cmd.Stdin = pipe
	e2e.Must(t, source.Start())
	t.Cleanup(func() { _ = source.Process.Kill(); _ = source.Wait() })
	s := &serving{Process: e2e.Begin(t, cmd), t: t}
	s.Until("address", func() bool { return strings.Contains(s.Out.String(), "\n") })
	s.url, _, _ = strings.Cut(s.Out.String(), "\n")
	return s
}

func clockPage(t *testing.T, path, size, mode string) (*e2e.Process, *page) {
	s := clockServe(t, path, size)
	p := look(t, s.url)
	p.until("vidfilter.drawn > 10")
	p.run("document.querySelector('[data-mode=%s]').click()", mode)
	width, _, _ := strings.Cut(size, "x")
	p.run("%s", watchClock)
	p.run(`{
		const canvas = document.getElementById("canvas");
		const look = () => {
			const l = vidfilter.layout;
			clock.read(canvas, l.x, l.y, l.width / %s);
			requestAnimationFrame(look);
		};
		look();
	}`, width)
	return s.Process, p
}

// playClock reads the clock from the video that a negotiation has given.
const playClock = `{
	const v = rtc.video;
	const look = () => { clock.read(v, 0, 0, v.videoWidth / %s); v.requestVideoFrameCallback(look); };
	v.requestVideoFrameCallback(look);
}`

func clockPlayer(t *testing.T, address, path, token, size string) *page {
	p := blank(t, lifetime, chromedp.Flag("allow-loopback-in-peer-connection", true))
	p.navigate(address)
	p.run("document.body.innerHTML = ''")
	p.run(negotiate)
	p.run(strings.ReplaceAll(whep, `"/whep"`, strconv.Quote(path)), token)
	p.until("rtc.shown > 10 || rtc.error")
	if got := eval[string](p, `rtc.error || ""`); got != "" {
		t.Fatal(got)
	}
	p.run("document.body.append(rtc.video); rtc.video.style.width = '100%%'")
	width, _, _ := strings.Cut(size, "x")
	p.run("%s", watchClock)
	p.run(playClock, width)
	return p
}

func clockWHEP(t *testing.T, path, size string) (*e2e.Process, *page) {
	s := clockServe(t, path, size, "--webrtc")
	base, token, _ := strings.Cut(s.url, "#")
	return s.Process, clockPlayer(t, base+"healthz", "/whep", token, size)
}

// clockGo2RTC has go2rtc encode the clock by ffmpeg, without a filter.
func clockGo2RTC(t *testing.T, path, size string) (*e2e.Process, *page) {
	dir := t.TempDir()
	api, rtc, rtsp := freePort(t), freePort(t), freePort(t)
	source := filepath.Join(dir, "source.sh")
	script := fmt.Sprintf("#!/bin/sh\n%s=%s %q | exec ffmpeg -v error -f yuv4mpegpipe -i - -c:v libx264 -preset ultrafast -tune zerolatency -b:v 8M -g 60 -f rtsp \"$1\"\n",
		generating, size, os.Args[0])
	e2e.Must(t, os.WriteFile(source, []byte(script), 0o700))
	config := fmt.Sprintf("api: {listen: '127.0.0.1:%d'}\nrtsp: {listen: '127.0.0.1:%d'}\nwebrtc: {listen: '127.0.0.1:%d', candidates: ['127.0.0.1:%[3]d']}\n"+
		"streams: {clock: 'exec:%s {output}'}\n", api, rtsp, rtc, source)
	file := filepath.Join(dir, "go2rtc.yaml")
	e2e.Must(t, os.WriteFile(file, []byte(config), 0o600))
	s := e2e.Begin(t, exec.Command(path, "-config", file))
	base := fmt.Sprintf("http://127.0.0.1:%d/", api)
	s.Until("port", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", api))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return s, clockPlayer(t, base+"api", "/api/webrtc?src=clock", "", size)
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	e2e.Must(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// watchClock reads the clock from anything that can be drawn, and keeps each new time with its
// age.
var watchClock = fmt.Sprintf(`window.clock = (() => {
	const block = %d, bits = %d, left = %d, top = %d;
	const canvas = document.createElement("canvas");
	canvas.width = 4 * bits;
	canvas.height = 8;
	const c = canvas.getContext("2d", { willReadFrequently: true });
	let last = -1;
	const ages = [];
	let unread = 0;
	return {
		ages,
		get unread() { return unread; },
		read(source, x, y, scale) {
			const now = Date.now();
			c.drawImage(source, x + left * scale, y + top * scale, bits * block * scale, 2 * block * scale, 0, 0, 4 * bits, 8);
			const d = c.getImageData(0, 0, 4 * bits, 8).data;
			const word = (row) => {
				let w = 0;
				for (let i = 0; i < bits; i++) w = w * 2 + (d[(row * 4 * bits + 4 * i + 1) * 4 + 1] + d[(row * 4 * bits + 4 * i + 2) * 4 + 1] > 255 ? 1 : 0);
				return w;
			};
			const time = word(1);
			if (time + word(6) !== 2 ** 32 - 1) { unread++; return; }
			if (time === last) return;
			last = time;
			ages.push(now %% 2 ** 32 - time);
		},
	};
})()`, clockBlock, clockBits, clockX, clockY)

// clockRow holds the measurements of a contender.
type clockRow struct {
	contender
	ages            []float64
	seconds         float64
	server, browser float64 // seconds of CPU
	scale           float64 // divisor of the size, at the end of a run
	loads           []string
}

// measure adds one run.
func (r *clockRow) measure(t *testing.T, size string) {
	const warm, length = 4 * time.Second, 6 * time.Second
	s, p := r.open(t, size)
	time.Sleep(warm) // presets and bit rates settle
	ours, theirs := cpuOf(s.PID()), cpuOf(browserOf(p))
	p.run("clock.ages.length = 0")
	begin := time.Now()
	time.Sleep(length)
	ages := eval[[]float64](p, "clock.ages")
	took := time.Since(begin).Seconds()
	r.server += cpuOf(s.PID()) - ours
	r.browser += cpuOf(browserOf(p)) - theirs
	if len(ages) == 0 {
		t.Fatalf("no clock was read (%d pictures had none)", eval[int](p, "clock.unread"))
	}
	r.ages, r.seconds = append(r.ages, ages...), r.seconds+took
	load, _ := os.ReadFile("/proc/loadavg")
	r.loads = append(r.loads, strings.Fields(string(load) + " ?")[0])
	slices.Sort(ages)
	r.look(t, p)
	t.Logf("%.1f fps, %.0f ms, 95 of 100 within %.0f, load %s", float64(len(ages))/took, ages[len(ages)/2], ages[len(ages)*95/100], r.loads[len(r.loads)-1])
}

// look notes at which scale a page got its pictures, and logs its own figures.
func (r *clockRow) look(t *testing.T, p *page) {
	if !eval[bool](p, "Boolean(window.vidfilter?.stats)") {
		return
	}
	f := eval[struct {
		Filter, Encode, Arrival_to_sent, Sent_bitrate, RTT, Latency, Scale float64
	}](p, "({...vidfilter.stats, latency: vidfilter.arrivalToScreen, scale: vidfilter.scale ?? 1})")
	r.scale = max(r.scale, f.Scale)
	t.Logf("by the page itself: filter %.1f ms, encode %.1f, arrival to sent %.1f, round trip %.1f, arrival to screen %.1f, %.1f Mbit/s, 1/%g of the size",
		f.Filter, f.Encode, f.Arrival_to_sent, f.RTT, f.Latency, f.Sent_bitrate/1e6, f.Scale)
}

func (r *clockRow) String() string {
	if len(r.ages) == 0 {
		return fmt.Sprintf("| %s | – | – | – | – | – | – |", r.name)
	}
	if r.scale > 1 {
		r.name += fmt.Sprintf(" (at 1/%g of the size)", r.scale)
	}
	slices.Sort(r.ages)
	n := float64(len(r.ages))
	return fmt.Sprintf("| %s | %.1f | %.0f | %.0f | %.1f | %.1f | %s |", r.name, n/r.seconds, r.ages[len(r.ages)/2], r.ages[len(r.ages)*95/100],
		1e3*r.server/n, 1e3*r.browser/n, strings.Join(r.loads, " "))
}

// cpuOf returns the seconds of CPU that a process and its children have used.
func cpuOf(pid int) (seconds float64) {
	const perSecond = 100 // USER_HZ
	for _, pid := range e2e.Family(pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		end := bytes.LastIndexByte(text, ')')
		if err != nil || end < 0 {
			continue
		}
		for _, f := range strings.Fields(string(text[end+1:]))[11:13] { // utime, stime
			ticks, _ := strconv.ParseFloat(f, 64)
			seconds += ticks / perSecond
		}
	}
	return seconds
}

// browserOf returns the process of a page's browser.
func browserOf(p *page) int { return chromedp.FromContext(p.ctx).Browser.Process().Pid }
