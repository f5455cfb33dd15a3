package web

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/livetest/sessions"
	"vidfilter/live/opus"
)

// page is a session and its server.
type page struct {
	t         *testing.T
	ctx       context.Context
	url       string
	session   *live.Session
	server    *Server
	admission *access.Admission
	remote    *live.Remote
}

func admission(viewers int, tell func(string)) *access.Admission {
	return access.New(access.Options{Token: testToken, Once: testOnce, MaxViewers: viewers, Tell: tell})
}

const (
	testToken = "the-token"
	testOnce  = "once-only"
)

// open starts a session and its page, for four viewers unless o has an Admission.
func open(t *testing.T, o Options) *page {
	t.Helper()
	in := sessions.Pattern(live.PatternOptions{Width: 160, Height: 90, FPS: 60})
	p := &page{t: t}
	if o.Remote != nil {
		p.remote = o.Remote
		in = live.Input{Name: "browser", Kind: live.Browser, Again: true, Open: o.Remote.Open}
	}
	p.session, _, _ = sessions.Run(t, in)
	o.Version, o.Backend, o.Input = "1.2.3", "CPU", in
	o.Command = func(f live.FilterSettings) string {
		return fmt.Sprint("vidfilter -r ", kernels.Of[kernels.Bilateral](f.Selection).Radius)
	}
	o.JobFile = func(f live.FilterSettings) ([]byte, error) { return fmt.Append(nil, f.Args()), nil }
	o.ReadJobFile = func(b []byte) (f live.FilterSettings, others []string, err error) {
		if len(b) == 0 {
			return f, nil, errors.New("empty")
		}
		return live.FilterOf(kernels.Select(kernels.DefaultBilateral(len(b))), "auto"), []string{"crf"}, nil
	}
	if o.Recording == nil {
		o.Recording = func() (*Recording, string) { return nil, "not here" }
	}
	if o.Admission == nil {
		o.Admission = admission(4, nil)
	}
	p.admission, o.Encoders, o.Sound = o.Admission, coded.New(p.session, 1), opus.New(p.session)
	p.server = New(p.session, o)
	h := httptest.NewServer(p.server.Handler())
	p.url = h.URL
	var stop context.CancelFunc
	p.ctx, stop = context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(func() { p.server.Close(); o.Encoders.Close(); h.Close(); stop() })
	return p
}

// do sends a request with headers, given as pairs of name and value; Host is one.
func (p *page) do(method, path, body string, headers ...string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.ctx, method, p.url+path, strings.NewReader(body))
	e2e.Must(p.t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(r)
	e2e.Must(p.t, err)
	p.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// cookie logs in.
func (p *page) cookie(token string) string {
	p.t.Helper()
	resp := p.do("POST", "/login", fmt.Sprintf(`{"token":%q}`, token))
	want, answer := http.StatusNoContent, ""
	if token == testOnce {
		want, answer = http.StatusOK, `{"opened":true}`
	}
	if body, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != want || string(body) != answer {
		p.t.Fatalf("login: %s, %q, %v", resp.Status, body, err)
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
		p.t.Errorf("a cookie for more than it needs: %v", c)
	}
	return c.Name + "=" + c.Value
}

func (p *page) dial(cookie string) *client {
	p.t.Helper()
	c, _, err := websocket.Dial(p.ctx, p.url+"/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {cookie}}})
	e2e.Must(p.t, err)
	c.SetReadLimit(1 << 24)
	p.t.Cleanup(func() { c.CloseNow() })
	return &client{p, c}
}

// leave waits until n viewers are left: a socket's end is seen before its place is free.
func (p *page) leave(n int) {
	p.t.Helper()
	e2e.Until(p.t, fmt.Sprintf("%d viewers", n), func() bool { return len(p.admission.Viewers()) <= n })
}

type client struct {
	*page
	c *websocket.Conn
}

func (c *client) say(format string, args ...any) {
	c.t.Helper()
	e2e.Must(c.t, c.c.Write(c.ctx, websocket.MessageText, fmt.Appendf(nil, format, args...)))
}

// picture is a picture message, or one of sound, as the page receives it.
type picture struct {
	kind, flags     byte
	id              uint32
	stamp, sent, at float64
	data            []byte
}

// read returns the next message, a map or a picture.
func (c *client) read(ctx context.Context) (any, error) {
	kind, b, err := c.c.Read(ctx)
	if err != nil {
		return nil, err
	}
	if kind == websocket.MessageText {
		m := map[string]any{}
		return m, json.Unmarshal(b, &m)
	}
	if len(b) < binaryHeader {
		return nil, fmt.Errorf("%d bytes", len(b))
	}
	number := func(at int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[at:])) }
	return picture{b[0], b[1], binary.LittleEndian.Uint32(b[4:]), number(8), number(16), number(24), b[binaryHeader:]}, nil
}

// until reads on to a message that ok accepts.
func (c *client) until(what string, ok func(any) bool) any {
	c.t.Helper()
	for {
		m, err := c.read(c.ctx)
		if err != nil {
			c.t.Fatalf("no %s: %v", what, err)
		}
		if ok(m) {
			return m
		}
	}
}

// message reads on to a text message of a type.
func (c *client) message(kind string) map[string]any {
	c.t.Helper()
	return c.until(kind, func(m any) bool {
		t, ok := m.(map[string]any)
		return ok && t["type"] == kind
	}).(map[string]any)
}

// next reads on to the next picture and acknowledges it.
func (c *client) next() picture {
	c.t.Helper()
	p := c.until("picture", func(m any) bool { _, ok := m.(picture); return ok }).(picture)
	c.say(`{"type":"ack","id":%d,"wait":0}`, p.id)
	return p
}

func TestHeaders(t *testing.T) {
	p := open(t, Options{})
	for _, path := range []string{"/", "/app.js", "/style.css", "/healthz", "/nothing"} {
		h := p.do("GET", path, "").Header
		csp := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'none'") || !strings.Contains(csp, "script-src 'self';") || strings.Contains(csp, "unsafe") ||
			!strings.Contains(csp, "frame-ancestors 'none'") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
	}
	resp := p.do("GET", "/", "")
	b, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || !strings.Contains(resp.Header.Get("Content-Type"), "text/html") || !bytes.Contains(b, []byte("<noscript>")) {
		t.Errorf("the page: %s", resp.Status)
	}
	for _, inline := range []string{"<style", " style=", " onclick=", "javascript:", "http://", "https://"} {
		if bytes.Contains(b, []byte(inline)) && inline[0] != 'h' {
			t.Errorf("the page has %q, which its policy forbids", inline)
		}
	}
	if got := p.do("GET", "/app.js", "").Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" {
		t.Error(got)
	}
	if got := p.do("PUT", "/login", "").StatusCode; got != http.StatusMethodNotAllowed && got != http.StatusNotFound {
		t.Errorf("PUT: %d", got)
	}
}

// Requests to a foreign host name or from pages of another site are refused.
func TestGuard(t *testing.T) {
	p := open(t, Options{Hosts: []string{"gpu.example"}})
	cookie := p.cookie(testToken)
	for _, c := range []struct {
		headers []string
		ok      bool
	}{
		{nil, true},
		{[]string{"Host", "localhost:1234"}, true},
		{[]string{"Host", "[::1]:99"}, true},
		{[]string{"Host", "GPU.example:8765"}, true},
		{[]string{"Host", "evil.example"}, false},
		{[]string{"Host", "10.0.0.1"}, false},
		{[]string{"Host", "localhost.evil.example"}, false},
		{[]string{"Origin", p.url}, true},
		{[]string{"Origin", "http://evil.example"}, false},
		{[]string{"Origin", "null"}, false},
		{[]string{"Origin", "https" + strings.TrimPrefix(p.url, "http")}, false},
		{[]string{"Origin", "http://localhost:1"}, false},
		{[]string{"Sec-Fetch-Site", "cross-site"}, false},
		{[]string{"Sec-Fetch-Site", "same-site"}, false},
		{[]string{"Sec-Fetch-Site", "same-origin"}, true},
	} {
		for _, path := range []string{"/healthz", "/ws", "/mjpeg?view=wrong"} {
			got := p.do("GET", path, "", append(c.headers, "Cookie", cookie)...).StatusCode
			if (got != http.StatusForbidden) != c.ok {
				t.Errorf("%s, %v: %d", path, c.headers, got)
			}
		}
	}
	// A link from another site opens only the page.
	link := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}
	if got := p.do("GET", "/", "", link...).StatusCode; got != 200 {
		t.Errorf("a link: %d", got)
	}
	if got := p.do("GET", "/mjpeg", "", link...).StatusCode; got != http.StatusForbidden {
		t.Errorf("a link to the picture: %d", got)
	}
}

func TestLogin(t *testing.T) {
	p := open(t, Options{})
	for _, body := range []string{`{"token":"wrong"}`, `{"token":""}`, `{}`} {
		if got := p.do("POST", "/login", body); got.StatusCode != http.StatusUnauthorized || len(got.Cookies()) > 0 {
			t.Errorf("%s: %s", body, got.Status)
		}
	}
	if got := p.do("POST", "/login", "nonsense").StatusCode; got != http.StatusBadRequest {
		t.Errorf("nonsense: %d", got)
	}
	if got := p.do("POST", "/login", strings.Repeat("x", 1<<20)).StatusCode; got != http.StatusBadRequest {
		t.Errorf("a megabyte: %d", got)
	}
	p.cookie(testOnce)
	p.cookie(testToken)
	if got := p.do("POST", "/login", `{"token":"once-only"}`).StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the same again: %d", got)
	}
	form := p.do("POST", "/login", "token=http%3A%2F%2Flocalhost%2F%23"+testToken, "Content-Type", "application/x-www-form-urlencoded")
	if form.StatusCode != http.StatusSeeOther || form.Header.Get("Location") != "/" || len(form.Cookies()) != 1 {
		t.Errorf("the form: %s, %v", form.Status, form.Header)
	}
	if got := p.do("GET", "/mjpeg", "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("the picture without a cookie: %d", got)
	}
	c := p.dial("vidfilter-0=guessed")
	if _, err := c.read(p.ctx); websocket.CloseStatus(err) != closedNoLogin {
		t.Errorf("the socket without a cookie: %v", err)
	}
}

func TestTooManyViewers(t *testing.T) {
	p := open(t, Options{Admission: admission(2, nil)})
	cookie := p.cookie(testToken)
	view := func() *client {
		c := p.dial(cookie)
		c.say(`{"type":"hello","version":1,"video":"avc"}`)
		return c
	}
	first, second := view(), view()
	second.until("two viewers", func(m any) bool {
		st, ok := m.(map[string]any)
		return ok && st["type"] == "state" && st["viewers"] == 2.0 && st["max_viewers"] == 2.0
	})
	third := view()
	for {
		if _, err := third.read(p.ctx); err != nil {
			if websocket.CloseStatus(err) != closedFull {
				t.Errorf("a third: %v", err)
			}
			break
		}
	}
	if _, err := p.dial(cookie).read(p.ctx); websocket.CloseStatus(err) != closedFull {
		t.Errorf("one that never says hello: %v", err)
	}
	if got := p.do("GET", "/mjpeg", "", "Cookie", cookie).StatusCode; got != http.StatusServiceUnavailable {
		t.Errorf("and a fourth: %d", got)
	}
	first.c.CloseNow()
	p.leave(1)
	view().next()
}

// nals splits an access unit into its length-prefixed units.
func nals(t *testing.T, b []byte) (kinds []byte) {
	t.Helper()
	for len(b) > 4 {
		n := int(binary.BigEndian.Uint32(b))
		if n <= 0 || n > len(b)-4 {
			t.Fatalf("a unit of %d bytes in %d", n, len(b))
		}
		kinds = append(kinds, b[4]&31)
		b = b[4+n:]
	}
	return kinds
}

func TestPictures(t *testing.T) {
	p := open(t, Options{})
	c := p.dial(p.cookie(testToken))
	st := c.message("state")
	if st["version"] != "1.2.3" || st["input"] != "test" || st["command"] != "vidfilter -r 1" || st["recording"] != nil {
		t.Errorf("%v", st)
	}
	c.say(`{"type":"hello","version":1,"video":"avc"}`)
	conf := c.message("config")
	if conf["width"] != 160.0 || conf["height"] != 90.0 || conf["filtered_y"] != 90.0 || conf["stamp_y"] != 180.0 || conf["description"] == "" {
		t.Errorf("%v", conf)
	}
	before := c.next()
	if before.flags&flagKey == 0 || before.kind != kindPicture {
		t.Errorf("the first: %+v", before.flags)
	}
	for range 10 {
		p := c.next()
		if p.id <= before.id || p.stamp <= before.stamp || p.flags&(flagKey|flagRepeated|flagForeign) != 0 || p.sent < p.stamp {
			t.Errorf("%d after %d: flags %d, taken %f, sent %f", p.id, before.id, p.flags, p.stamp, p.sent)
		}
		nals(t, p.data)
		before = p
	}
	c.say(`{"type":"key"}`)
	c.until("key frame", func(m any) bool {
		p, ok := m.(picture)
		if ok {
			c.say(`{"type":"ack","id":%d}`, p.id)
		}
		return ok && p.flags&flagKey != 0
	})
	stats := c.message("stats")
	if stats["filter"].(float64) <= 0 || stats["encode"].(float64) <= 0 || stats["arrival_to_sent"].(float64) <= 0 || stats["kernel"] != nil {
		t.Errorf("%v", stats)
	}
	c.say(`{"type":"ping","t":42.5}`)
	if pong := c.message("pong"); pong["t"] != 42.5 || math.Abs(pong["server"].(float64)-live.Milliseconds(time.Now())) > 5000 {
		t.Errorf("%v", pong)
	}
}

// Without acknowledgements only a few pictures come, and the others are counted.
func TestNoMoreThanAFewInFlight(t *testing.T) {
	p := open(t, Options{})
	c := p.dial(p.cookie(testToken))
	c.say(`{"type":"hello","version":1,"video":"avc"}`)
	n := 0
	last := uint32(0)
	c.until("stats", func(m any) bool {
		switch m := m.(type) {
		case picture:
			n++
			last = m.id
		case map[string]any:
			return m["type"] == "stats" && m["dropped"].(map[string]any)["viewer"].(float64) > 10
		}
		return false
	})
	if n != fewest {
		t.Errorf("%d pictures", n)
	}
	c.say(`{"type":"ack","id":%d}`, last)
	if p := c.next(); p.id < last+10 {
		t.Errorf("after a while it goes on with %d, %d was the last before", p.id, last)
	}
}

func TestControl(t *testing.T) {
	p := open(t, Options{})
	c := p.dial(p.cookie(testToken))
	c.say(`{"type":"set","filter":{"radius":7,"border":"clamp"}}`)
	c.until("the new filter", func(m any) bool {
		st, ok := m.(map[string]any)
		if !ok || st["type"] != "state" {
			return false
		}
		f := st["filter"].(map[string]any)
		return f["radius"] == 7.0 && f["border"] == "clamp" && f["sigma_r"] == 20.0 && st["command"] == "vidfilter -r 7"
	})
	c.say(`{"type":"set","filter":{"filter":"recursive","sigma_s":40}}`)
	c.until("another filter", func(m any) bool {
		st, ok := m.(map[string]any)
		if !ok || st["type"] != "state" {
			return false
		}
		f, last := st["filter"].(map[string]any), st["options"].([]any)[3].(map[string]any)
		return f["filter"] == "recursive" && f["sigma_s"] == 40.0 && f["iterations"] == 2.0 && last["name"] == "iterations" && last["max"] == 3.0
	})
	c.say(`{"type":"set","filter":{"filter":"bilateral"}}`)
	for m, kind := range map[string]string{
		`{"type":"set","filter":{"radius":99}}`: "refused", `{"type":"set","filter":{"sigma_r":1e308}}`: "refused",
		`{"type":"set","filter":{"sigma_s":-1}}`: "refused", `{"type":"set","filter":{"range":"box"}}`: "refused",
		`{"type":"camera","on":true,"codec":"h264"}`: "camera_refused",
	} {
		c.say("%s", m)
		if r := c.message(kind); r["reason"] == "" {
			t.Errorf("%s: %v", m, r)
		}
	}
	c.say(`{"type":"freeze","on":true}`)
	c.until("frozen", func(m any) bool { st, ok := m.(map[string]any); return ok && st["frozen"] == true })
	c.say(`{"type":"something new","x":[1],"id":"a","at":{},"filter":1}`)
	c.say(`{"type":"set"}`)
	c.say(`{"type":"freeze","on":false}`)
	c.until("not frozen", func(m any) bool { st, ok := m.(map[string]any); return ok && st["frozen"] == false })
}

// A malformed message ends only its own socket.
func TestBadMessages(t *testing.T) {
	p := open(t, Options{})
	cookie := p.cookie(testToken)
	good := p.dial(cookie)
	good.say(`{"type":"hello","version":1,"video":"avc"}`)
	good.next()
	for _, m := range []string{
		"", "nonsense", "[]", `"text"`, `{"type":5}`, `{"type":"ack","id":-1}`, `{"type":"ack","id":1e30}`,
		`{"type":"hello","version":99,"video":"avc"}`, `{"type":"hello","version":1,"video":"ogg"}`, `{"type":"set","filter":[]}`,
		strings.Repeat(" ", maxText+1), strings.Repeat("[", 8000),
	} {
		bad := p.dial(cookie)
		bad.say("%s", m)
		for {
			if _, err := bad.read(p.ctx); err != nil {
				if s := websocket.CloseStatus(err); s != websocket.StatusPolicyViolation && s != websocket.StatusMessageTooBig {
					t.Errorf("%.40q: %v", m, err)
				}
				break
			}
		}
		p.leave(1)
	}
	for _, b := range [][]byte{nil, {1}, make([]byte, 100), bytes.Repeat([]byte{1}, 16), make([]byte, maxBinary+cameraHeader+1)} {
		bad := p.dial(cookie)
		if err := bad.c.Write(p.ctx, websocket.MessageBinary, b); err != nil {
			continue // it is closed already
		}
		for {
			if _, err := bad.read(p.ctx); err != nil {
				break
			}
		}
		p.leave(1)
	}
	good.next()
}

// A page that never lists its formats is disconnected.
func TestNoHello(t *testing.T) {
	patience = 200 * time.Millisecond
	defer func() { patience = silent }()
	p := open(t, Options{Admission: admission(1, nil)})
	cookie := p.cookie(testToken)
	c := p.dial(cookie)
	for {
		if _, err := c.read(p.ctx); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
				t.Error(err)
			}
			break
		}
	}
	p.leave(0)
	c = p.dial(cookie)
	c.say(`{"type":"hello","version":1,"video":"avc"}`)
	for end := time.Now().Add(2 * patience); time.Now().Before(end); {
		c.next()
	}
}

func TestServerGoes(t *testing.T) {
	p := open(t, Options{})
	c := p.dial(p.cookie(testToken))
	c.message("state")
	go p.server.Close()
	for {
		if _, err := c.read(p.ctx); err != nil {
			if websocket.CloseStatus(err) != closedEnd {
				t.Error(err)
			}
			return
		}
	}
}

// A page's camera goes through the filter and comes back with its own time.
func TestCamera(t *testing.T) {
	p := open(t, Options{Remote: live.NewRemote(decode.StreamOptions{MaxPixels: 1 << 20}, nil)})
	cookie := p.cookie(testToken)
	c, other := p.dial(cookie), p.dial(cookie)
	if st := c.message("state"); st["camera_wanted"] != true {
		t.Errorf("%v", st)
	}
	c.say(`{"type":"camera","on":false,"error":"NotAllowedError"}`)
	c.until("why", func(m any) bool {
		st, ok := m.(map[string]any)
		return ok && st["status"] == "waiting" && strings.Contains(fmt.Sprint(st["message"]), "does not allow")
	})
	c.say(`{"type":"hello","version":1,"video":"avc"}`)
	c.say(`{"type":"camera","on":true,"codec":"theora"}`)
	c.message("camera_refused")
	c.say(`{"type":"camera","on":true,"codec":"jpeg","fps":30}`)
	if r := c.message("camera_rate"); r["bits"].(float64) <= 0 {
		t.Errorf("%v", r)
	}
	other.say(`{"type":"camera","on":true,"codec":"jpeg"}`)
	if r := other.message("camera_refused"); !strings.Contains(fmt.Sprint(r["reason"]), "another page") {
		t.Errorf("%v", r)
	}
	send := func(id uint32, stamp float64, data []byte) {
		b := append([]byte{1, 1, 0, 0}, make([]byte, 12)...)
		binary.LittleEndian.PutUint32(b[4:], id)
		binary.LittleEndian.PutUint64(b[8:], math.Float64bits(stamp))
		e2e.Must(t, c.c.Write(p.ctx, websocket.MessageBinary, append(b, data...)))
	}
	const clock = 1234567890.25 // not this machine's
	send(1, clock, []byte("no JPEG"))
	if m := c.message("camera_key"); m["id"] != 1.0 {
		t.Errorf("%v", m)
	}
	var b bytes.Buffer
	e2e.Must(t, jpeg.Encode(&b, image.NewYCbCr(image.Rect(0, 0, 64, 48), image.YCbCrSubsampleRatio420), nil))
	send(2, clock, b.Bytes())
	acked := false
	c.until("the picture", func(m any) bool {
		switch m := m.(type) {
		case map[string]any:
			acked = acked || m["type"] == "camera_ack" && m["id"] == 2.0
		case picture:
			if m.stamp != clock || m.flags&flagForeign == 0 {
				t.Errorf("taken at %f, flags %d", m.stamp, m.flags)
			}
			return true
		}
		return false
	})
	if !acked {
		c.until("the acknowledgement", func(m any) bool {
			t, ok := m.(map[string]any)
			return ok && t["type"] == "camera_ack" && t["id"] == 2.0
		})
	}
	c.c.CloseNow() // the page goes, and another may send
	other.say(`{"type":"camera","on":true,"codec":"jpeg"}`)
	other.until("the other's turn", func(m any) bool {
		st, ok := m.(map[string]any)
		if ok && st["type"] == "camera_refused" { // the server has not noticed the first leave
			time.Sleep(10 * time.Millisecond)
			other.say(`{"type":"camera","on":true,"codec":"jpeg"}`)
		}
		return ok && st["type"] == "camera_rate"
	})
}

// Sound of a page's microphone reaches the pages that play it, but not its own.
func TestMicrophone(t *testing.T) {
	p := open(t, Options{Remote: live.NewRemote(decode.StreamOptions{}, nil)})
	own, other := p.dial(p.cookie(testToken)), p.dial(p.cookie(testToken))
	for _, c := range []*client{own, other} {
		c.say(`{"type":"hello","version":1,"video":"jpeg"}`)
		c.say(`{"type":"sound","on":true}`)
	}
	own.say(`{"type":"camera","on":true,"codec":"jpeg","fps":30,"sound":true}`)
	own.message("camera_rate")
	var shot bytes.Buffer
	e2e.Must(t, jpeg.Encode(&shot, image.NewGray(image.Rect(0, 0, 64, 48)), nil))
	begin := live.Milliseconds(time.Now())
	send := func(kind byte, n int, data []byte) {
		b := append([]byte{kind, 1}, make([]byte, 14)...)
		binary.LittleEndian.PutUint64(b[8:], math.Float64bits(begin+float64(20*n)))
		e2e.Must(t, own.c.Write(p.ctx, websocket.MessageBinary, append(b, data...)))
	}
	for n := range 40 {
		send(1, n, shot.Bytes())
		send(2, n, []byte{0xfc, 0xff, 0xfe})
		time.Sleep(10 * time.Millisecond)
	}
	heard := 0
	for last := math.Inf(-1); heard < 5; heard++ {
		x := other.until("sound", isSound).(picture)
		if d := x.at - begin; d < -1000 || d > 2000 || x.at <= last || len(x.data) == 0 {
			t.Errorf("sound of %d bytes, %g ms after the begin", len(x.data), d)
		}
		last = x.at
	}
	if st, _ := p.session.State(); !st.Sound {
		t.Error("the state has no sound")
	}
	own.say(`{"type":"ping","t":1}`)
	own.until("pong", func(m any) bool {
		if isSound(m) {
			t.Error("the page hears itself")
		}
		text, ok := m.(map[string]any)
		return ok && text["type"] == "pong"
	})
}

func isSound(m any) bool {
	p, ok := m.(picture)
	return ok && p.kind == kindSound
}

// A camera's pictures have a limit of their own; a page that exceeds it is disconnected before
// memory is allocated.
func TestCameraTooLarge(t *testing.T) {
	p := open(t, Options{Remote: live.NewRemote(decode.StreamOptions{MaxPixels: 1 << 28}, nil)})
	c := p.dial(p.cookie(testToken))
	var b bytes.Buffer
	e2e.Must(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 64, 48)), nil))
	at := bytes.Index(b.Bytes(), []byte{0xff, 0xc0}) + 5
	b.Write(make([]byte, 1<<20)) // as long as it claims
	for _, size := range [][2]uint16{{4096, 4000}, {16000, 16000}} {
		binary.BigEndian.PutUint16(b.Bytes()[at:], size[0])
		binary.BigEndian.PutUint16(b.Bytes()[at+2:], size[1])
		c.say(`{"type":"camera","on":true,"codec":"jpeg","fps":30}`)
		c.message("camera_rate")
		e2e.Must(t, c.c.Write(p.ctx, websocket.MessageBinary, append(append([]byte{1, 1}, make([]byte, 14)...), b.Bytes()...)))
		if r := c.message("camera_refused"); !strings.Contains(fmt.Sprint(r["reason"]), "16000000 pixels at most") {
			t.Errorf("%v: %v", size, r)
		}
		if st, _ := p.session.State(); st.Status != live.Waiting || !strings.Contains(st.Message, "too large") || !p.remote.Wanted() {
			t.Errorf("%v: %+v", size, st)
		}
	}
}

func TestMJPEG(t *testing.T) {
	p := open(t, Options{})
	cookie := p.cookie(testToken)
	if got := p.do("GET", "/mjpeg?view=both", "", "Cookie", cookie).StatusCode; got != http.StatusBadRequest {
		t.Errorf("an unknown view: %d", got)
	}
	resp := p.do("GET", "/mjpeg?view=filtered", "", "Cookie", cookie)
	parts := multipart.NewReader(resp.Body, boundary)
	for range 3 {
		part, err := parts.NextPart()
		e2e.Must(t, err)
		img, err := jpeg.Decode(part)
		if err != nil || img.Bounds().Dx() != 160 || img.Bounds().Dy() != 90 {
			t.Fatalf("%v: %v", img, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		`{"type":"set","filter":{"radius":3,"sigma_s":0.5,"range":"gaussian"}}`, `{"type":"ack","id":7,"wait":1e300}`,
		`{"type":"camera","on":true,"codec":"vp8","fps":-1}`, `{"type":"hello","version":1,"video":"avc"}`, "{", "\x01\x01\x00\x00aaaaaaaaaaaaaaaa",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := parseMessage(b); err == nil {
			if !(m.Wait >= 0 && m.Wait <= 1e6) || !(m.FPS >= 0 && m.FPS <= 1000) {
				t.Errorf("%+v", m)
			}
			if m.Filter != nil {
				filter := live.FilterOf(kernels.Select(kernels.DefaultBilateral(3)), "auto")
				_ = filter.Apply(m.Filter)
				if p, err := filter.Resolved(); err == nil && p.Validate() != nil {
					t.Errorf("%+v passes for a filter", filter)
				}
			}
		}
		if p, err := parsePart(b); err == nil && (len(p.data) == 0 || !(p.stamp >= 0)) {
			t.Errorf("%+v", p)
		}
	})
}

// FuzzRequests sends anything to the page: without the token or a cookie no one sees a picture or
// gets a cookie, and names and pages of elsewhere are refused.
func FuzzRequests(f *testing.F) {
	in := sessions.Pattern(live.PatternOptions{Width: 16, Height: 16, FPS: 1})
	session, _ := sessions.New(f, in)
	s := New(session, Options{Version: "1", Input: in, Admission: admission(4, nil)})
	s.Handle("/extra/", access.View, 100, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		w.Header().Set("X-Secret", "seen")
	}))
	h := s.Handler()
	for _, target := range []string{"/", "/app.js", "/login", "/ws", "/mjpeg?view=filtered", "/stream.ts?token=x", "/healthz", "/extra/x", "/nothing", "//", "/%2e%2e/app.js"} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			f.Add(method, target, "localhost:8765", "Origin", "http://localhost:8765", "text/plain", []byte(nil))
			f.Add(method, target, "127.0.0.1", "Cookie", "vidfilter-default=x", "application/json", []byte(`{"token":"x"}`))
			f.Add(method, target, "evil.example", "Authorization", "Bearer x", "application/x-www-form-urlencoded", []byte("token=%23x"))
		}
	}
	f.Fuzz(func(t *testing.T, method, target, host, name, value, kind string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" || bytes.Contains(body, []byte(testToken)) || strings.Contains(value, testToken) {
			return
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel() // wrong tokens are answered late
		r := httptest.NewRequest("POST", "/", bytes.NewReader(body)).WithContext(gone)
		r.Method, r.URL, r.RequestURI, r.Host = method, u, target, host
		r.Header.Set("Content-Type", kind)
		r.Header.Set(name, value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case w.Code < 200 || w.Code > 599 || w.Header().Get("Content-Security-Policy") == "":
			t.Errorf("status %d, headers %v", w.Code, w.Header())
		case w.Header().Get("Set-Cookie") != "":
			t.Errorf("%s %s gets a cookie", method, target)
		case w.Code < 300 && (strings.HasPrefix(u.Path, "/extra/") || u.Path == "/ws" || u.Path == "/stream.ts" || u.Path == "/mjpeg"):
			t.Errorf("%s %s: %d without the token", method, target, w.Code)
		case w.Code < 300 && strings.Contains(strings.ToLower(host), "evil"):
			t.Errorf("host %q: %d", host, w.Code)
		}
	})
}

// Job files need a login. A bad file has no effect.
func TestJobFile(t *testing.T) {
	p := open(t, Options{Restore: true})
	for _, method := range []string{"GET", "POST"} {
		if got := p.do(method, "/job", "").StatusCode; got != http.StatusUnauthorized {
			t.Errorf("%s without a cookie: %d", method, got)
		}
	}
	cookie := p.cookie(testToken)
	c := p.dial(cookie)
	if m := c.message("state"); m["restore"] != true || m["presets"].([]any)[0].(map[string]any)["name"] != "off" {
		t.Errorf("restore %v, presets %v", m["restore"], m["presets"])
	}
	body := func(method, text string, status int) string {
		t.Helper()
		resp := p.do(method, "/job", text, "Cookie", cookie)
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Errorf("%s %.10q: %s, %q, %v", method, text, resp.Status, b, err)
		}
		return string(b)
	}
	if got := body("GET", "", 200); got != "[--filter bilateral -r 1]" {
		t.Errorf("the file is %q", got)
	}
	body("POST", "", 400)
	body("POST", strings.Repeat("x", 16), 400) // a radius that no filter has
	body("POST", strings.Repeat("x", maxJobFile+1), 413)
	if got := body("POST", "xxxx", 200); got != "{\"others\":[\"crf\"]}\n" {
		t.Errorf("the answer is %q", got)
	}
	m := c.until("state", func(m any) bool {
		s, ok := m.(map[string]any)
		return ok && s["type"] == "state" && s["touched"] == true
	}).(map[string]any)
	if m["filter"].(map[string]any)["radius"] != 4.0 || m["restore"] != false {
		t.Errorf("%v, restore %v", m["filter"], m["restore"])
	}
}
