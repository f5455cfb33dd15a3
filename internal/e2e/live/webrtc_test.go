package live

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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
		pc.ontrack = (e) => { v.srcObject = new MediaStream([e.track]); v.play(); };
		rtc.shown = 0;
		const count = () => { rtc.shown++; v.requestVideoFrameCallback(count); };
		v.requestVideoFrameCallback(count);
		rtc.endPlayer = await negotiate("/whep", pc, token);
	})(%q).catch((e) => { rtc.error = String(e); })`
)

// A browser sends its camera by WHIP and plays the filtered picture by WHEP.
func TestWebRTC(t *testing.T) {
	s := serve(t, "-i", "browser", "--webrtc")
	base, token, _ := strings.Cut(s.url, "#")
	p := blank(t, time.Minute, chromedp.Flag("allow-loopback-in-peer-connection", true))
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
	if got := eval[string](p, "`${rtc.video.videoWidth}/${rtc.video.videoHeight}`"); got == "0/0" {
		t.Error("the picture has no size")
	}
	p.run(`Promise.all([rtc.endPlayer(), rtc.endCamera()]).then((r) => { rtc.ended = r.map((x) => x.status).join(); })`)
	p.until("rtc.ended")
	if got := eval[string](p, "rtc.ended"); got != "200,200" {
		t.Errorf("DELETE: %s", got)
	}
}

// Without --webrtc there is none of it.
func TestNoWebRTC(t *testing.T) {
	s := serve(t, "-i", "test", "--size", "64x64")
	base, token, _ := strings.Cut(s.url, "#")
	for _, path := range []string{"whep", "whip"} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", base+path, strings.NewReader("v=0"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", fmt.Sprint("Bearer ", token))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("/%s: %s", path, resp.Status)
		}
	}
}
