package live

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// run runs vidfilter live, which must end by itself.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	e2e.Note(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, e2e.Program, append([]string{"live", "--no-open", "--device", "cpu"}, args...)...)
	var out, err bytes.Buffer
	c.Stdout, c.Stderr = &out, &err
	_ = c.Run()
	if ctx.Err() != nil {
		t.Errorf("vidfilter live %s does not end: %s", strings.Join(args, " "), &err)
	}
	return out.String(), err.String(), c.ProcessState.ExitCode()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		e2e.Must(t, os.WriteFile(path, []byte(content), 0o666))
		return path
	}
	text, old := write("text.mp4", "this is no video"), write("old.mp4", "here first")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-i", filepath.Join(dir, "none.mp4")}, 3, "no such file"},
		{[]string{"-i", text}, 3, "damaged or incomplete"},
		{[]string{"-i", "http://127.0.0.1:1/x.mp4"}, 3, "--allow-network"},
		{[]string{"-i", "test", "--listen", "0.0.0.0:0"}, 2, "--cert"},
		{[]string{"-i", "test", "--listen", "[::]:0"}, 2, "ssh -L"},
		{[]string{"-i", "test", "--listen", "8765"}, 2, "not an address"},
		{[]string{"-i", "test", "--cert", text}, 2, "go together"},
		{[]string{"-i", "test", "--cert", text, "--key", text}, 2, "PEM"},
		{[]string{"-i", "test", "--size", "big"}, 2, "1280x720"},
		{[]string{"-i", text, "--size", "640x480"}, 2, "a file"},
		{[]string{"-i", "test", "--fps", "0"}, 2, "1 to 1000"},
		{[]string{"-i", "test", "--max-viewers", "0"}, 2, "1 to 64"},
		{[]string{"-i", "test", "-r", "99"}, 2, "0 to 15"},
		{[]string{"-i", "test", "--record", old}, 4, "exists"},
		{[]string{"-i", "test", "--record", filepath.Join(dir, "x.avi")}, 4, ".mp4"},
		{[]string{"-i", "test", "--record", filepath.Join(dir, "no", "x.mp4")}, 4, "does not exist"},
		{[]string{"camera"}, 2, "-i camera"},
		{[]string{"-i", "-", "--loop"}, 2, "pipe"},
		{[]string{"-i", "browser", "--no-page", "--output", "-"}, 2, "leave --no-page out"},
		{[]string{"--window"}, 2, "--output - | mpv -"},
		{[]string{"--device", "cuda:0,1"}, 2, "one device"},
	} {
		out, err, code := run(t, c.args...)
		if code != c.code || !strings.Contains(strings.ToLower(err), strings.ToLower(c.says)) || strings.Contains(err, "in a browser") || out != "" {
			t.Errorf("%q: exit code %d, %q; want %d and %q", c.args, code, err, c.code, c.says)
		}
	}
	if b, _ := os.ReadFile(old); string(b) != "here first" {
		t.Error("a file was replaced that was there first")
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 2 {
		t.Errorf("something is left over: %q", left)
	}
}

// get asks for a page's address and returns the status.
func get(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	resp, err := client.Get(url)
	e2e.Must(t, err)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:8765")
	if err == nil { // otherwise the port is taken already
		defer l.Close()
	}
	s := serve(t, "-i", "test", "--size", "64x64", "--listen", "127.0.0.1:8765")
	if strings.Contains(s.url, ":8765/") || get(t, http.DefaultClient, s.url) != 200 {
		t.Errorf("the page is at %s", s.url)
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	e2e.Must(t, err)
	defer other.Close()
	if _, says, code := run(t, "-i", "test", "--listen", other.Addr().String()); code != 2 || !strings.Contains(says, "in use") {
		t.Errorf("another address in use: exit code %d, %s", code, says)
	}
}

// certificate makes a self-signed certificate.
func certificate(t *testing.T, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e2e.Must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	e2e.Must(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	e2e.Must(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, b := range map[string][]byte{cert: certPEM, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})} {
		e2e.Must(t, os.WriteFile(path, b, 0o600))
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return cert, key, pool
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key, pool := certificate(t, "gpu.example")
	s := serve(t, "-i", "test", "--size", "64x64", "--listen", "0.0.0.0:0", "--cert", cert, "--key", key, "--allow-host", "other.example")
	if !strings.HasPrefix(s.url, "https://gpu.example:") {
		t.Errorf("the page is at %s", s.url)
	}
	port := regexp.MustCompile(`:(\d+)/`).FindStringSubmatch(s.url)[1]
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "gpu.example"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
		},
	}}
	for host, want := range map[string]int{"gpu.example": 200, "other.example": 200, "localhost": 200, "evil.example": 403} {
		if got := get(t, client, "https://"+host+":"+port+"/healthz"); got != want {
			t.Errorf("%s: %d, want %d", host, got, want)
		}
	}
	if got := get(t, http.DefaultClient, "http://127.0.0.1:"+port+"/healthz"); got == 200 {
		t.Error("it answers without TLS")
	}
}

// A file plays at its own speed and ends. Its recording then has its final name.
func TestFileIsPlayedAndRecorded(t *testing.T) {
	t.Parallel()
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	in := e2e.Clip(t, "in.mp4", "-f lavfi -i testsrc2=s=320x180:r=25:d=2 -pix_fmt yuv420p")
	out := filepath.Join(dir, "out.mp4")
	began := time.Now()
	s := serve(t, "-i", in, "--record", out)
	s.Says("recorded")
	if took := time.Since(began); took < 1900*time.Millisecond {
		t.Errorf("two seconds were played in %v", took)
	}
	if !strings.Contains(s.Err.String(), "the video has ended") {
		t.Errorf("its end is not said: %s", s.Err)
	}
	frames := count(t, out)
	if frames != 50 { // however busy the machine
		t.Errorf("%d of 50 frames are recorded", frames)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 1 {
		t.Errorf("something is left over: %q", left)
	}
}

func count(t *testing.T, video string) int {
	t.Helper()
	n, err := framesOf(video)
	if err != nil {
		t.Fatalf("%s: %v", video, err)
	}
	return n
}

func framesOf(video string) (n int, err error) {
	b, err := exec.Command("ffmpeg", "-v", "error", "-i", video, "-f", "framecrc", "-").Output()
	for line := range strings.Lines(string(b)) {
		if line[0] != '#' {
			n++
		}
	}
	return n, err
}

// A recording survives a kill.
func TestRecordingSurvivesAKill(t *testing.T) {
	t.Parallel()
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	s := serve(t, "-i", "test", "--size", "320x180", "--record", filepath.Join(dir, "out.mp4"))
	recording := filepath.Join(dir, "out.recording.mp4")
	s.Until("second of recording", func() bool { n, err := framesOf(recording); return err == nil && n >= 30 })
	s.Kill()
	all, _ := filepath.Glob(filepath.Join(dir, "[^.]*"))
	if len(all) != 1 || all[0] != recording {
		t.Fatalf("what is left is %q", all)
	}
	if n := count(t, all[0]); n < 30 {
		t.Errorf("%d frames are left", n)
	}
}
