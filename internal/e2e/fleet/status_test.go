package fleet

import (
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// A status page open to other machines requires TLS, the token and one of its own host names.
func TestStatusBeyond(t *testing.T) {
	e2e.Start(t, true)
	state, out := filepath.Join(t.TempDir(), "state"), filepath.Join(t.TempDir(), "out")
	c := &cluster{t: t, dir: t.TempDir()}
	c.certificates()
	const token = "0123456789abcdef"
	cert := []string{"--status-cert", c.dir + "/server.pem", "--status-key", c.dir + "/server.key"}
	for _, command := range [][]string{{"serve", "--state", state}, {"batch", clips(t), "-o", out}} {
		for _, at := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
			args := append(command, "--status", at)
			for want, more := range map[string][]string{"needs TLS": {"--token", token}, "needs a token": cert, "go together": cert[:2]} {
				e2e.Contains(t, run(t, append(args, more...)...).exit(2), want, "hint: ")
			}
		}
	}
	e2e.Contains(t, run(t, "serve", "--state", state, "--status", "127.0.0.1:0", "--token", "secret").exit(2), "--token", "hint: 16 to 128")
	if _, err := os.Stat(out); err == nil {
		t.Error("the batch has begun")
	}
	s := serve(t, state, "127.0.0.1:0", append(cert, "--status", "0.0.0.0:0", "--token", token, "--status-host", "head.example")...)
	if !strings.HasPrefix(s.Status, "https://127.0.0.1:") {
		t.Errorf("the page is at %s", s.Status)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	e2e.Until(t, "the queue answers", func() bool {
		a := must(client.Get(s.Status + "healthz"))
		_ = a.Body.Close()
		return a.StatusCode == http.StatusOK
	})
	for _, q := range []struct {
		path, host, token string
		code              int
	}{
		{"api/jobs", "", "", 401}, {"metrics", "", "", 401}, {"events", "", "", 401}, {"api/jobs", "", "wrong", 401},
		{"api/jobs", "", token, 200}, {"metrics", "head.example", token, 200}, {"api/jobs", "evil.example", token, 403},
	} {
		r := must(http.NewRequest("GET", s.Status+q.path, nil))
		r.Host = q.host
		r.Header.Set("Authorization", "Bearer "+q.token)
		a := must(client.Do(r))
		b, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		if a.StatusCode != q.code {
			t.Errorf("%+v: %s: %s", q, a.Status, b)
		}
	}
	if a, err := http.Get(strings.Replace(s.Status, "https:", "http:", 1) + "api/jobs"); err == nil && a.StatusCode == http.StatusOK {
		t.Error("it answers without TLS")
	}
}
