package web

import (
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/live"
	"vidfilter/live/access"
)

var viewToken = access.ViewToken(testToken)

// A view token gives access to pictures. No message or request with it changes the session.
func TestLookOnly(t *testing.T) {
	p := open(t, Options{
		Remote: live.NewRemote(decode.StreamOptions{MaxPixels: 1 << 20}, nil),
		Record: func(do string) error { t.Error("record: " + do); return nil },
	})
	p.server.Handle("/controls", access.Control, 100, http.NotFoundHandler())
	c := p.dial(p.cookie(viewToken))
	if st := c.message("state"); st["rights"] != "view" || st["guests"] != nil || st["viewers"] != 1.0 {
		t.Errorf("%v", st)
	}
	before, _ := p.session.State()
	guest := p.admission.Viewers()[0]
	for _, m := range []string{
		`{"type":"set","filter":{"radius":7}}`, `{"type":"freeze","on":true}`, `{"type":"restart"}`, `{"type":"camera","on":true,"codec":"jpeg"}`,
		`{"type":"camera","on":false,"error":"NotAllowedError"}`, fmt.Sprintf(`{"type":"kick","guest":%d}`, guest.ID), `{"type":"record","do":"start"}`,
		`{"type":"record","do":"stop"}`, `{"type":"seek","at":1}`, `{"type":"step","at":1}`, `{"type":"repeat","from":1,"to":2}`,
		`{"type":"compare","do":"on"}`,
	} {
		c.say("%s", m)
		if r := c.message("refused"); !strings.Contains(fmt.Sprint(r["reason"]), "only look") {
			t.Errorf("%s: %v", m, r)
		}
	}
	e2e.Must(t, c.c.Write(p.ctx, websocket.MessageBinary, append([]byte{1, 1}, make([]byte, 100)...)))
	c.say(`{"type":"ping","t":1}`)
	c.message("pong") // it is still there
	after, _ := p.session.State()
	if after.Filter != before.Filter || after.Side != "" || after.Frozen || strings.Contains(after.Message, "allow") || !p.remote.Wanted() || len(p.admission.Viewers()) != 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
	c.say(`{"type":"hello","version":1,"video":"avc"}`)
	c.say(`{"type":"key"}`)
	c.say(`{"type":"ping","t":1}`)
	c.message("pong")
	h := p.server.Handler()
	for request, want := range map[string]map[string]int{
		"POST /controls": {viewToken: http.StatusForbidden, testToken: http.StatusNotFound, "wrong": http.StatusUnauthorized},
		"POST /job":      {viewToken: http.StatusForbidden, testToken: http.StatusBadRequest, "wrong": http.StatusUnauthorized},
		"GET /job":       {viewToken: http.StatusForbidden, testToken: http.StatusOK, "wrong": http.StatusUnauthorized},
		"GET /snapshot":  {viewToken: http.StatusNotFound, testToken: http.StatusNotFound, "wrong": http.StatusUnauthorized}, // no picture has come
	} {
		method, path, _ := strings.Cut(request, " ")
		for token, want := range want {
			r := httptest.NewRequest(method, "http://localhost"+path+"?view=split", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s with %s: %d", request, token, w.Code)
			}
		}
	}
}

// A page with control lists the guests and can kick them.
func TestGuests(t *testing.T) {
	p := open(t, Options{})
	looker := p.cookie(viewToken)
	c := p.dial(p.cookie(testToken))
	other := p.dial(looker)
	guests := func(n int) []any {
		st := c.until(fmt.Sprint(n, " guests"), func(m any) bool {
			st, ok := m.(map[string]any)
			return ok && st["type"] == "state" && len(st["guests"].([]any)) == n
		}).(map[string]any)
		return st["guests"].([]any)
	}
	all := guests(2)
	me, them := all[0].(map[string]any), all[1].(map[string]any)
	if me["you"] != true || me["rights"] != "control" || them["you"] != false || them["rights"] != "view" || them["address"] != "127.0.0.1" ||
		them["transport"] != "page" || time.Since(time.UnixMilli(int64(them["since"].(float64)))).Abs() > time.Minute {
		t.Errorf("%v", all)
	}
	c.say(`{"type":"kick","guest":%d}`, int64(them["id"].(float64)))
	for {
		if _, err := other.read(p.ctx); err != nil {
			if websocket.CloseStatus(err) != closedKicked {
				t.Errorf("sent away: %v", err)
			}
			break
		}
	}
	guests(1)
	if _, err := p.dial(looker).read(p.ctx); websocket.CloseStatus(err) != closedNoLogin {
		t.Errorf("its cookie: %v", err)
	}
	resp := p.do("GET", "/mjpeg?token="+viewToken, "")
	player := guests(2)[1].(map[string]any)
	if player["transport"] != "MJPEG" || player["rights"] != "view" {
		t.Errorf("%v", player)
	}
	c.say(`{"type":"kick","guest":%d}`, int64(player["id"].(float64)))
	parts := multipart.NewReader(resp.Body, boundary)
	for {
		if _, err := parts.NextPart(); err != nil {
			break
		}
	}
	guests(1)
}

// Players bring the token with each request.
func TestPlayerTokens(t *testing.T) {
	p := open(t, Options{Admission: admission(1, nil)})
	for _, c := range []struct {
		query string
		auth  string
		want  int
	}{
		{"", "", 401}, {"?token=", "", 401}, {"?token=" + testToken, "", 200}, {"?token=" + viewToken, "", 200}, {"", "Bearer " + viewToken, 200},
		{"", "bearer " + testToken, 200}, {"?token=" + testToken, "Bearer wrong", 401}, {"", "Basic " + testToken, 401},
	} {
		var headers []string
		if c.auth != "" {
			headers = []string{"Authorization", c.auth}
		}
		resp := p.do("GET", "/mjpeg"+c.query, "", headers...)
		if resp.StatusCode != c.want {
			t.Errorf("%+v: %d", c, resp.StatusCode)
		}
		resp.Body.Close()
		p.leave(0)
	}
	if _, err := p.dial("").read(p.ctx); websocket.CloseStatus(err) != closedNoLogin {
		t.Errorf("the socket: %v", err)
	}
	if got := p.do("GET", "/ws?token="+testToken, "", "Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==").StatusCode; got != http.StatusSwitchingProtocols {
		t.Errorf("the socket with a token in its address: %d", got)
	}
	if n := len(p.admission.Viewers()); n != 0 {
		t.Errorf("%d got in by it", n)
	}
}

// /stream.ts streams to players, which count as viewers and can be kicked.
func TestStream(t *testing.T) {
	p := open(t, Options{Admission: admission(1, nil)})
	if got := p.do("GET", "/stream.ts", "").StatusCode; got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	resp := p.do("GET", "/stream.ts?token="+viewToken, "")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "video/mp2t" {
		t.Fatalf("%s, %v", resp.Status, resp.Header)
	}
	packet := make([]byte, 188)
	for range 50 {
		if _, err := io.ReadFull(resp.Body, packet); err != nil || packet[0] != 0x47 {
			t.Fatalf("%d, %v", packet[0], err)
		}
	}
	if got := p.do("GET", "/stream.ts", "", "Authorization", "Bearer "+testToken).StatusCode; got != http.StatusServiceUnavailable {
		t.Errorf("one more than may: %d", got)
	}
	all := p.admission.Viewers()
	if len(all) != 1 || all[0].Transport != "MPEG-TS" || all[0].Rights != access.View {
		t.Fatalf("%+v", all)
	}
	p.admission.Kick(all[0].ID, all[0])
	_, _ = io.Copy(io.Discard, resp.Body)
	p.leave(0)
}

// Wrong tokens are answered late and reported once.
func TestWrongTokens(t *testing.T) {
	var mu sync.Mutex
	var told []string
	p := open(t, Options{Admission: admission(4, func(s string) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, s)
	})})
	p.cookie(testToken) // a right one
	begin := time.Now()
	for range 4 {
		if got := p.do("POST", "/login", `{"token":"wrong"}`).StatusCode; got != http.StatusUnauthorized {
			t.Errorf("%d", got)
		}
	}
	if took := time.Since(begin); took < time.Second {
		t.Errorf("four wrong ones took %v", took)
	}
	begin = time.Now()
	p.cookie(testToken)
	if took := time.Since(begin); took > 900*time.Millisecond {
		t.Errorf("the right one took %v", took)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || !strings.Contains(told[0], "127.0.0.1") {
		t.Errorf("told: %q", told)
	}
}
