package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// TestNetwork: network addresses are read if allowed, and cannot make us read local files.
func TestNetwork(t *testing.T) {
	shortSkip(t)
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.mp4")
	film := e2e.Read(t, committedSample(t))
	e2e.Must(t, os.WriteFile(secret, film, 0o600))
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		switch r.URL.Path {
		case "/film.mp4":
			http.ServeFile(w, r, committedSample(t))
		case "/list.ffconcat":
			w.Write([]byte("ffconcat version 1.0\nfile 'file:" + secret + "'\n"))
		case "/moved.mp4":
			http.Redirect(w, r, "http://127.0.0.1:9/film.mp4", http.StatusFound)
		case "/secure.mp4":
			http.Redirect(w, r, "https://"+r.Host+"/film.mp4", http.StatusFound)
		case "/near.mp4":
			http.Redirect(w, r, "/film.mp4", http.StatusFound)
		case "/list.m3u8":
			w.Write([]byte("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://" + secret + "\n#EXT-X-ENDLIST\n"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for _, test := range []struct {
		path string
		args []string
		code int
		says string
	}{
		{"/film.mp4", nil, 3, "hint: give --allow-network"},
		{"/film.mp4", []string{"--allow-network"}, 0, "2 frames in"},
		{"/none.mp4", []string{"--allow-network"}, 3, "none.mp4: "},
		{"/near.mp4", []string{"--allow-network"}, 0, "2 frames in"},
		{"/moved.mp4", []string{"--allow-network"}, 3, "the server sends on to http://127.0.0.1:9/film.mp4, and only the port of the address itself is open"},
		{"/secure.mp4", []string{"--allow-network"}, 3, "the server sends on to https://127.0.0.1:"},
		{"/list.ffconcat", []string{"--allow-network"}, 3, "hint: if you trust it, give --input-format concat"},
		{"/list.m3u8", []string{"--allow-network"}, 3, "a hls playlist: it names other addresses"},
		{"/list.ffconcat", []string{"--allow-network", "--input-format", "concat"}, 3, ""},
		{"/list.m3u8", []string{"--allow-network", "--input-format", "hls"}, 3, ""},
	} {
		dir := t.TempDir()
		args := append([]string{"-i", server.URL + test.path, "-o", "out.mp4", "--frames", "2"}, test.args...)
		p := vidfilterIn(t, dir, args...).start()
		if code := p.exit(damageLimit); code != test.code || !strings.Contains(p.said(), test.says) {
			t.Errorf("%s %q: exit code %d: %s", test.path, test.args, code, p.said())
		}
		if test.code != 0 {
			wantOnly(t, dir)
		}
		if reached := len(asked) > 0; reached == (test.args == nil) {
			t.Errorf("%s %q: the server was asked: %v", test.path, test.args, reached)
		}
		for len(asked) > 0 {
			<-asked
		}
	}
	// A file that is trusted as a list names addresses in vain.
	list := filepath.Join(t.TempDir(), "list.ffconcat")
	e2e.Must(t, os.WriteFile(list, []byte("ffconcat version 1.0\nfile '"+server.URL+"/film.mp4'\n"), 0o600))
	p := vidfilterIn(t, t.TempDir(), "-i", list, "-o", "out.mp4", "--input-format", "concat", "--allow-network").start()
	p.wantExit(3)
	if len(asked) > 0 {
		t.Error("a local file made the program ask ", <-asked)
	}
}
