package live

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"vidfilter/internal/e2e"
)

// whip and whep are an ordinary sender and player as scripts of a page. Their results are in rtc.
const (
	negotiate = `window.rtc = {}; window.negotiate = async (path, pc, token) => {
		await pc.setLocalDescription(await pc.createOffer());
		const r = await fetch(path, {method: "POST", body: pc.localDescription.sdp,
			headers: {"Content-Type": "application/sdp", "Authorization": "Bearer " + token}});
		const answer = await r.text();
		if (r.status !== 201) { rtc.error = answer; return; }
		await pc.setRemoteDescription({type: "answer", sdp: answer});
		return () => fetch(r.headers.get("Location"), {method: "DELETE", headers: {"Authorization": "Bearer " + token}});
	};`
	whip = `(async (token) => {
		const pc = new RTCPeerConnection();
		const stream = await navigator.mediaDevices.getUserMedia({audio: true, video: {width: 640, height: 360}});
		for (const kind of ["audio", "video"]) {
			pc.addTransceiver(stream.getTracks().find((t) => t.kind === kind), {direction: "sendonly"});
		}
		rtc.sender = pc;
		rtc.endCamera = await negotiate("/whip", pc, token);
	})(%q).catch((e) => { rtc.error = String(e); })`
	whep = `(async (token) => {
		const pc = new RTCPeerConnection();
		for (const kind of ["audio", "video"]) {
			pc.addTransceiver(kind, {direction: "recvonly"});
		}
		const v = rtc.video = document.createElement("video");
		v.muted = true;
		v.autoplay = true;
		pc.ontrack = (e) => { v.srcObject = e.streams[0]; };
		rtc.shown = 0;
		const count = () => { rtc.shown++; v.requestVideoFrameCallback(count); };
		v.requestVideoFrameCallback(count);
		rtc.loud = 0;
		rtc.listen = () => {
			const context = new AudioContext(), analyser = context.createAnalyser(), data = new Float32Array(analyser.fftSize);
			context.createMediaStreamSource(v.srcObject).connect(analyser);
			setInterval(() => { analyser.getFloatTimeDomainData(data); rtc.loud = Math.max(rtc.loud, ...data); }, 20);
		};
		rtc.endPlayer = await negotiate("/whep", pc, token);
	})(%q).catch((e) => { rtc.error = String(e); })`
)

// A browser sends its camera by WHIP and plays the filtered picture by WHEP, both with sound.
func TestWebRTC(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "browser", "--webrtc")
	base, token, _ := strings.Cut(s.url, "#")
	p := blank(t, lifetime, chromedp.Flag("allow-loopback-in-peer-connection", true))
	p.navigate(base + "healthz") // a page of the same origin, without our own script
	if !eval[bool](p, `RTCRtpSender.getCapabilities("video").codecs.some((c) => c.mimeType === "video/H264")`) {
		t.Skip("this Chromium cannot send H.264")
	}
	p.run(negotiate)
	p.run(whip, token)
	p.until("rtc.endCamera || rtc.error")
	p.run(whep, token)
	p.until("rtc.shown > 20 || rtc.error")
	if got := eval[string](p, `rtc.error || ""`); got != "" {
		t.Fatal(got)
	}
	p.run("rtc.listen()")
	p.until("rtc.loud > 0.01") // the fake microphone beeps
	if got := eval[string](p, "`${rtc.video.videoWidth}/${rtc.video.videoHeight}`"); got == "0/0" {
		t.Error("the picture has no size")
	}
	p.run(`Promise.all([rtc.endPlayer(), rtc.endCamera()]).then((r) => { rtc.ended = r.map((x) => x.status).join(); })`)
	p.until("rtc.ended")
	if got := eval[string](p, "rtc.ended"); got != "200,200" {
		t.Errorf("DELETE: %s", got)
	}
}

// Without --webrtc neither path exists.
func TestNoWebRTC(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "64x64")
	base, token, _ := strings.Cut(s.url, "#")
	for _, path := range []string{"whep", "whip"} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", base+path, strings.NewReader("v=0"))
		e2e.Must(t, err)
		r.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
		resp, err := http.DefaultClient.Do(r)
		e2e.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("/%s: %s", path, resp.Status)
		}
	}
}

// A page of another site plays with the token alone, over TCP alone, without candidates of its own.
func TestPlayerOfAnotherSite(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180", "--webrtc", "--ice-server", "stun:127.0.0.1:9", "--ice-server", "turn:ann:secret@127.0.0.1:9")
	base, token, _ := strings.Cut(s.url, "#")
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a player")) }))
	defer other.Close()
	p := blank(t, lifetime, chromedp.Flag("allow-loopback-in-peer-connection", true))
	p.navigate(other.URL)
	p.run(`window.rtc = {}; (async (base, token) => {
		const bearer = {"Authorization": "Bearer " + token};
		const pc = rtc.pc = new RTCPeerConnection();
		pc.addTransceiver("video", {direction: "recvonly"});
		const v = document.createElement("video");
		v.muted = true;
		pc.ontrack = (e) => { v.srcObject = new MediaStream([e.track]); v.play(); };
		rtc.shown = 0;
		const count = () => { rtc.shown++; v.requestVideoFrameCallback(count); };
		v.requestVideoFrameCallback(count);
		const offer = await pc.createOffer();
		await pc.setLocalDescription(offer);
		const r = await fetch(base + "whep", {method: "POST", body: offer.sdp, headers: {...bearer, "Content-Type": "application/sdp"}});
		const answer = await r.text();
		if (r.status !== 201) throw answer;
		rtc.links = r.headers.get("Link");
		await pc.setRemoteDescription({type: "answer", sdp: answer.replace(/a=candidate:.* udp .*\r\n/g, "")});
		const at = new URL(r.headers.get("Location"), base);
		rtc.end = () => fetch(at, {method: "DELETE", headers: bearer});
	})(%q, %q).catch((e) => { rtc.error = String(e); })`, base, token)
	p.until("rtc.shown > 20 || rtc.error")
	if got := eval[string](p, `rtc.error || ""`); got != "" {
		t.Fatal(got)
	}
	if got, want := eval[string](p, "rtc.links"), `<turn:127.0.0.1:9>; rel="ice-server"; username="ann"; credential="secret"`; !strings.Contains(got, want) {
		t.Errorf("links: %s", got)
	}
	p.run(`rtc.pc.getStats().then((all) => all.forEach((s) => {
		if (s.type === "candidate-pair" && s.nominated) { const c = all.get(s.remoteCandidateId); rtc.way = c.protocol + c.port; }
	}))`)
	p.until("rtc.way")
	if got := eval[string](p, "rtc.way"); got != "tcp"+base[strings.LastIndex(base, ":")+1:len(base)-1] {
		t.Errorf("it plays over %s, not by TCP on the port of %s", got, base)
	}
	p.run(`rtc.end().then((r) => { rtc.ended = r.status; })`)
	p.until("rtc.ended === 200")
}
