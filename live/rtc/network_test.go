package rtc

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pion/turn/v5"
	"github.com/pion/webrtc/v4"

	"vidfilter/internal/e2e"
)

// A player on another site's page: its preflight needs no token, and it can read the answer.
func TestOtherSites(t *testing.T) {
	r := open(t, 2, nil, small)
	const site = "https://player.example"
	for _, path := range []string{"/whep", "/whip", "/whep/x"} {
		resp := r.do("OPTIONS", path, "", "Authorization", "", "Origin", site, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
		h := resp.Header
		if resp.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %s, %v", path, resp.Status, h)
		}
		for header, words := range map[string][]string{"Allow-Methods": {"DELETE", "PATCH", "POST"}, "Allow-Headers": {"Authorization", "Content-Type", "If-Match"}} {
			for _, w := range words {
				if got := h.Get("Access-Control-" + header); !slices.Contains(strings.Split(got, ", "), w) {
					t.Errorf("%s: %s is %q, without %s", path, header, got, w)
				}
			}
		}
	}
	for _, path := range []string{"/login", "/", "/ws", "/mjpeg"} {
		if resp := r.do("OPTIONS", path, "", "Origin", site, "Access-Control-Request-Method", "POST"); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", path, resp.Status)
		}
	}
	for _, origin := range []string{site, "null"} {
		resp := r.do("POST", "/whep", r.player("", false).offer(), "Origin", origin, "Sec-Fetch-Site", "cross-site")
		exposed := strings.Split(resp.Header.Get("Access-Control-Expose-Headers"), ", ")
		if resp.StatusCode != http.StatusCreated || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Fatalf("%s: %s: %s", origin, resp.Status, said(t, resp))
		}
		for _, h := range []string{"Location", "Link"} {
			if !slices.Contains(exposed, h) {
				t.Errorf("%s is not exposed, but %q", h, exposed)
			}
		}
	}
	resp := r.do("POST", "/whep", "v=0", "Origin", site, "Authorization", "Bearer wrong")
	if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a wrong token: %s", resp.Status)
	}
}

// A client that no UDP reaches plays by TCP, on the page's port.
func TestPlayOverTCP(t *testing.T) {
	r := open(t, 1, nil, small)
	c := r.newClientBy("", func(e *webrtc.SettingEngine) {
		e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	}, webrtc.Configuration{})
	c.watch(false)
	c.connect("/whep")
	s, show := c.screen(), newShower(t, r.cpu)
	for range 20 {
		show.luma(s.next())
	}
	pair, err := c.pc.SCTP().Transport().ICETransport().GetSelectedCandidatePair()
	if err != nil || pair == nil || pair.Remote.Protocol != webrtc.ICEProtocolTCP {
		t.Fatalf("it plays over %v, %v", pair, err)
	}
	if !strings.HasSuffix(r.url, ":"+strconv.Itoa(int(pair.Remote.Port))) {
		t.Errorf("port %d is not that of %s", pair.Remote.Port, r.url)
	}
	// a connection that only begins like ICE is closed
	raw, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	e2e.Must(t, err)
	defer raw.Close()
	_, _ = raw.Write([]byte("\x00\x04abcd"))
	_ = raw.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := raw.Read(make([]byte, 1)); n != 0 || err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A player without candidates connects to the candidates in the answer.
func TestPlayerWithoutCandidates(t *testing.T) {
	r := open(t, 1, nil, small)
	c := r.player("", false)
	var bare []string
	for line := range strings.SplitSeq(c.offer(), "\r\n") {
		if !strings.HasPrefix(line, "a=candidate") && line != "a=end-of-candidates" {
			bare = append(bare, line)
		}
	}
	resp := r.do("POST", "/whep", strings.Join(bare, "\r\n"))
	e2e.Must(t, c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: said(t, resp)}))
	newShower(t, r.cpu).luma(c.screen().next())
}

func TestParseICEServer(t *testing.T) {
	for s, want := range map[string]string{
		"stun:stun.example":               "stun.example:3478",
		"STUN:192.0.2.1:19302":            "192.0.2.1:19302",
		"stun:[2001:db8::1]:3478":         "2001:db8::1:3478",
		"turn:u:p@turn.example:3479":      "turn.example:3479 u p",
		"turn:a%3Ab:p%40@h?transport=tcp": "h:3478 a:b p@",
		"turns:u:p@turn.example":          "turn.example:5349 u p",
		"turn:u:p:q@h":                    "h:3478 u p:q",
		"":                                "-", "stun:": "-", "http://x": "-", "stun:u:p@h": "-", "turn:h:3478": "-", "turn:u@h": "-", "turn::p@h": "-", "turn:u:@h": "-",
		"turn:u:p@h?x=y": "-", "stun:h:port": "-", "turn:u:%zz@h": "-", "turn:u%0a:p@h": "-", "turn:u:%22@h": "-",
	} {
		x, err := ParseICEServer(s)
		got := "-"
		if err == nil {
			got = strings.TrimSpace(x.uri.Host + ":" + strconv.Itoa(x.uri.Port) + " " + x.user + " " + x.pass)
		}
		if got != want {
			t.Errorf("%s: %s, not %s (%v)", s, got, want, err)
		}
	}
}

// turnServer starts a STUN and TURN server on the loopback interface.
func turnServer(t *testing.T) (s *turn.Server, at string) {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	e2e.Must(t, err)
	lo := net.IPv4(127, 0, 0, 1)
	s, err = turn.NewServer(turn.ServerConfig{
		Realm: "test", LoggerFactory: silence,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			return a.Username, turn.GenerateAuthKey(a.Username, "test", "secret"), a.Username == "ann"
		},
		PacketConnConfigs: []turn.PacketConnConfig{{
			PacketConn: conn, RelayAddressGenerator: &turn.RelayAddressGeneratorStatic{RelayAddress: lo, Address: "127.0.0.1"},
		}},
	})
	e2e.Must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s, conn.LocalAddr().String()
}

// The server gathers by STUN and TURN, lists the servers to peers, and plays through a relay.
func TestServers(t *testing.T) {
	relay, at := turnServer(t)
	var servers []ICEServer
	for _, s := range []string{"stun:" + at, "turn:ann:secret@" + at, "turn:ann:secret@" + at + "?transport=tcp"} {
		x, err := ParseICEServer(s)
		e2e.Must(t, err)
		servers = append(servers, x)
	}
	r := open(t, 1, nil, small, servers...)
	c := r.newClientBy("", func(*webrtc.SettingEngine) {}, webrtc.Configuration{
		ICETransportPolicy: webrtc.ICETransportPolicyRelay,
		ICEServers:         []webrtc.ICEServer{{URLs: []string{"turn:" + at}, Username: "ann", Credential: "secret"}},
	})
	c.watch(false)
	links := []string{
		"<stun:" + at + `>; rel="ice-server"`,
		"<turn:" + at + `>; rel="ice-server"; username="ann"; credential="secret"; credential-type="password"`,
		"<turn:" + at + `?transport=tcp>; rel="ice-server"; username="ann"; credential="secret"; credential-type="password"`,
	}
	if got := r.do("OPTIONS", "/whep", "").Header["Link"]; !slices.Equal(got, links) {
		t.Errorf("links: %q", got)
	}
	if got := r.do("OPTIONS", "/whep", "", "Authorization", "", "Origin", "https://x.example", "Access-Control-Request-Method", "POST").Header["Link"]; got != nil {
		t.Errorf("links without the token: %q", got)
	}
	resp := r.do("POST", "/whep", c.offer())
	answer := said(t, resp)
	if resp.StatusCode != http.StatusCreated || !slices.Equal(resp.Header["Link"], links) {
		t.Fatalf("%s, %q: %s", resp.Status, resp.Header["Link"], answer)
	}
	if !strings.Contains(answer, " typ relay ") || strings.Contains(answer, " typ relay tcptype") {
		t.Errorf("no candidate by the relay in\n%s", answer)
	}
	e2e.Must(t, c.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}))
	s, show := c.screen(), newShower(t, r.cpu)
	for range 5 {
		show.luma(s.next())
	}
	if n := relay.AllocationCount(); n != 2 {
		t.Errorf("%d allocations, not one of each side", n)
	}
	r.do("DELETE", resp.Header.Get("Location"), "")
	_ = c.pc.Close()
	e2e.Until(t, "the end of all allocations", func() bool { return relay.AllocationCount() == 0 })
}

// Servers that do not answer delay the answer a little, and no more.
func TestSilentServers(t *testing.T) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	e2e.Must(t, err)
	defer conn.Close()
	x, err := ParseICEServer("stun:" + conn.LocalAddr().String())
	e2e.Must(t, err)
	r := open(t, 1, nil, small, x)
	c := r.player("", false)
	c.connect("/whep")
	c.screen().next()
}
