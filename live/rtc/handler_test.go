package rtc

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/pion/webrtc/v4"
)

func TestWhoMay(t *testing.T) {
	r := open(t, 1, nil, small)
	for _, path := range []string{"/whep", "/whip", "/whep/x"} {
		for _, given := range []string{"", "Bearer", "Bearer wrong", "Basic " + token, "Bearer " + token + "x"} {
			r.refused(http.StatusUnauthorized, "Bearer TOKEN", "POST", path, "v=0", "Authorization", given)
		}
		r.refused(http.StatusUnauthorized, "Bearer TOKEN", "POST", path, "v=0", "Origin", "https://example.org", "Authorization", "")
	}
	login := r.do("POST", "/login", fmt.Sprintf(`{"token":%q}`, token), "Content-Type", "application/json")
	if len(login.Cookies()) != 1 {
		t.Fatal(login.Status)
	}
	cookie := login.Cookies()[0]
	c := r.player("", false)
	resp := r.do("POST", "/whep", c.offer(), "Authorization", "", "Cookie", cookie.Name+"="+cookie.Value, "Origin", r.url)
	if resp.StatusCode != http.StatusCreated {
		t.Errorf("a page that is logged in: %s", resp.Status)
	}
	r.refused(http.StatusUnauthorized, "Bearer TOKEN", "POST", "/whep", "v=0", "Authorization", "", "Cookie", cookie.Name+"="+cookie.Value, "Origin", "https://example.org")
	r.refused(http.StatusForbidden, "another site", "POST", "/login", "{}", "Origin", "https://example.org")
}

func TestMethods(t *testing.T) {
	r := open(t, 1, nil, small)
	for _, c := range []struct {
		method, path string
		code         int
		allow        string
	}{
		{"OPTIONS", "/whep", 204, "OPTIONS, POST"}, {"OPTIONS", "/whip", 204, "OPTIONS, POST"}, {"OPTIONS", "/whep/x", 204, "DELETE, OPTIONS"},
		{"GET", "/whep", 405, "OPTIONS, POST"}, {"PUT", "/whip", 405, "OPTIONS, POST"}, {"GET", "/whep/x", 405, "DELETE, OPTIONS"},
		{"PATCH", "/whep", 405, "OPTIONS, POST"}, {"PATCH", "/whep/x", 405, "DELETE, OPTIONS"}, {"DELETE", "/whep/x", 404, ""}, {"DELETE", "/whip/x", 404, ""}, {"DELETE", "/whep/x/y", 404, ""},
	} {
		resp := r.do(c.method, c.path, "")
		if resp.StatusCode != c.code || resp.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %s, Allow %q", c.method, c.path, resp.Status, resp.Header.Get("Allow"))
		}
		if c.method == "OPTIONS" && c.allow == "OPTIONS, POST" && resp.Header.Get("Accept-Post") != "application/sdp" {
			t.Errorf("%s: Accept-Post %q", c.path, resp.Header.Get("Accept-Post"))
		}
	}
}

func TestBadOffers(t *testing.T) {
	r := open(t, 1, nil, small)
	offer := r.player("42e01f", false).offer()
	sound := r.newClient("")
	if _, err := sound.pc.AddTransceiverFromKind(webrtc.RTPCodecTypeAudio); err != nil {
		t.Fatal(err)
	}
	swap := func(old, new string) string { return strings.ReplaceAll(offer, old, new) }
	for _, c := range []struct {
		code         int
		words, offer string
	}{
		{400, "0 media", ""}, {400, "no SDP", "hello"}, {400, "0 media", "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"},
		{406, "no video", sound.offer()},
		{406, "no H.264", swap("H264", "VP8")}, {406, "packetization-mode 1", swap("packetization-mode=1", "packetization-mode=0")},
		{406, "/whip is for cameras", swap("recvonly", "sendonly")}, {406, "/whip is for cameras", swap("recvonly", "inactive")},
		{406, "data channels", offer + "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:1\r\n"},
		{400, "17 media", offer + strings.Repeat("m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n", 16)},
		{400, "candidates", offer + strings.Repeat("a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n", 65)},
		{400, "cannot be used", swap("a=ice-ufrag", "a=x-ufrag")}, {400, "cannot be used", swap("a=fingerprint", "a=x-print")},
		{413, "too long", offer + strings.Repeat("a=x\r\n", MaxOffer/5)},
	} {
		r.refused(c.code, c.words, "POST", "/whep", c.offer)
	}
	r.refused(http.StatusUnsupportedMediaType, "application/sdp", "POST", "/whep", offer, "Content-Type", "text/plain")
	r.refused(http.StatusConflict, "-i browser", "POST", "/whip", swap("recvonly", "sendonly"))
	if n := len(r.admission.Viewers()); n != 0 {
		t.Errorf("%d viewers of what was refused", n)
	}
	c := r.player("", false)
	c.connect("/whep")
	c.screen().next()
}

func TestCameraOffers(t *testing.T) {
	cam := remote()
	r := open(t, 1, cam, small)
	offer := r.player("42e01f", false).offer()
	r.refused(http.StatusNotAcceptable, "/whep is for players", "POST", "/whip", offer)
	r.refused(http.StatusBadRequest, "cannot be used", "POST", "/whip", strings.NewReplacer("recvonly", "sendonly", "a=ice-pwd", "a=x").Replace(offer))
	if !cam.Wanted() {
		t.Error("a camera that was refused has the place")
	}
}

// An offer like OBS's: audio first, credentials above all sections, no candidates.
const obs = "v=0\r\no=rtc 3877212184 0 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0 1\r\na=group:LS 0 1\r\na=msid-semantic:WMS *\r\n" +
	"a=setup:actpass\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuv\r\na=ice-options:ice2,trickle\r\na=fingerprint:sha-256 " +
	"4E:7F:77:DB:7E:A3:A6:4E:5D:27:EB:39:D2:1B:96:9F:91:C9:58:8B:30:B4:AA:0F:77:60:5A:F3:86:60:03:F3\r\n" +
	"m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=sendonly\r\na=ssrc:3388068600 cname:x\r\na=rtcp-mux\r\n" +
	"a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;stereo=1;useinbandfec=1\r\n" +
	"m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=sendonly\r\na=ssrc:3388068601 cname:x\r\na=msid:x x-video\r\na=rtcp-mux\r\n" +
	"a=rtpmap:96 H264/90000\r\na=rtcp-fb:96 nack\r\na=rtcp-fb:96 nack pli\r\na=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1\r\n"

// Sound and pictures go over one connection, whose candidates come first. Without Opus the audio is
// refused, and the candidates are with the video, where the sender looks for them.
func TestAnswerToOBS(t *testing.T) {
	for _, sound := range []bool{true, false} {
		r := open(t, 1, remote(), small)
		offer, group, port := obs, "a=group:BUNDLE 0 1\r\n", "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n"
		if !sound {
			offer, group, port = strings.ReplaceAll(obs, "opus/48000/2", "PCMU/8000"), "a=group:BUNDLE 1\r\n", "m=audio 0 "
		}
		resp := r.do("POST", "/whip", offer)
		answer := said(t, resp)
		audio, video, ok := strings.Cut(answer, "m=video ")
		if resp.StatusCode != http.StatusCreated || !ok || !strings.Contains(audio, port) || !strings.Contains(audio, group) {
			t.Fatalf("%s\n%s", resp.Status, answer)
		}
		for _, want := range []string{" UDP/TLS/RTP/SAVPF 96\r\n", "a=recvonly", "a=rtcp-fb:96 nack pli", "a=ice-ufrag:", "a=mid:1"} {
			if !strings.Contains(video, want) {
				t.Errorf("no %q in\n%s", want, answer)
			}
		}
		with, without := video, audio
		if sound {
			with, without = audio, video
		}
		if !strings.Contains(with, "a=candidate:") || !strings.Contains(with, "127.0.0.1") || !strings.Contains(with, " tcp ") ||
			strings.Contains(without, "candidate") || strings.Contains(answer, ".local") {
			t.Errorf("the answer is\n%s", answer)
		}
	}
}

// Offers without a bundle, or with a group of another kind first, get the same answer.
func TestBundles(t *testing.T) {
	r := open(t, 9, nil, small)
	for name, c := range map[string]struct{ old, new, group string }{
		"one":      {"", "", "a=group:BUNDLE 1\r\n"},
		"none":     {"a=group:BUNDLE 0 1\r\na=group:LS 0 1\r\n", "", ""},
		"LS":       {"a=group:BUNDLE 0 1\r\na=group:LS 0 1\r\n", "a=group:LS 0 1\r\n", ""},
		"LS first": {"a=group:BUNDLE 0 1\r\na=group:LS 0 1\r\n", "a=group:LS 0 1\r\na=group:BUNDLE 0 1\r\n", "a=group:BUNDLE 1\r\n"},
	} {
		offer := strings.NewReplacer("sendonly", "recvonly", c.old, c.new).Replace(obs)
		if c.old == "" {
			offer = strings.ReplaceAll(obs, "sendonly", "recvonly")
		}
		resp := r.do("POST", "/whep", offer)
		answer := said(t, resp)
		group := ""
		if i := strings.Index(answer, "a=group"); i >= 0 {
			group, _, _ = strings.Cut(answer[i:], "\n")
			group += "\n"
		}
		_, video, _ := strings.Cut(answer, "m=video 9 ")
		if resp.StatusCode != http.StatusCreated || group != c.group || !strings.Contains(video, "a=candidate:") || !strings.Contains(video, "a=sendonly") {
			t.Errorf("%s: %s\n%s", name, resp.Status, answer)
		}
	}
}

// Offers do not crash the server, and refused or deleted ones leave no viewer.
func FuzzOffer(f *testing.F) {
	f.Add([]byte(obs))
	f.Add([]byte(strings.ReplaceAll(obs, "sendonly", "recvonly")))
	r := open(f, 1, nil, small)
	f.Add([]byte(r.player("", true).offer()))
	f.Add([]byte(r.player("640c1f", false).offer()))
	h := r.rtc.Handler()
	f.Fuzz(func(t *testing.T, b []byte) {
		defer time.AfterFunc(10*time.Second, func() {
			debug.SetTraceback("all")
			panic(fmt.Sprintf("it hangs with %q", b))
		}).Stop()
		q := httptest.NewRequest("POST", "/whep", strings.NewReader(string(b)))
		q.Header.Set("Content-Type", "application/sdp")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		switch {
		case w.Code == http.StatusCreated:
			d := httptest.NewRecorder()
			h.ServeHTTP(d, httptest.NewRequest("DELETE", w.Header().Get("Location"), nil))
			if d.Code != http.StatusOK {
				t.Errorf("DELETE: %d", d.Code)
			}
		case w.Code < 400 || w.Code >= 500:
			t.Errorf("%d: %s", w.Code, w.Body)
		}
		if n := len(r.admission.Viewers()); n != 0 {
			t.Errorf("%d viewers", n)
		}
	})
}
