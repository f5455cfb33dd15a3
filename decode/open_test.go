package decode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// Filenames are literal even if they look like a protocol of FFmpeg. Addresses need permission.
func TestLocate(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		path    string
		network bool
		url     string // "" is refused
	}{
		{"in.mp4", false, "file:in.mp4"},
		{"-x.mp4", false, "file:-x.mp4"},
		{"a:b.mp4", false, "file:a:b.mp4"},
		{"concat:a|b", true, "file:concat:a|b"},
		{"subfile,,start,0,end,0,,:etc/passwd", true, "file:subfile,,start,0,end,0,,:etc/passwd"},
		{"data:text/plain,hello", true, "file:data:text/plain,hello"},
		{"http://host/a.mp4", false, ""},
		{"HTTPS://host/a.mp4", false, ""},
		{"http://host/a.mp4", true, "http://host/a.mp4"},
		{"rtsp://host/a", false, ""},
	} {
		if !isAddress(c.path) {
			write(t, c.path)
		}
		var d demuxer
		d.path = c.path
		s, err := d.locate(c.network)
		if s.url != c.url || (err != nil) != (c.url == "") {
			t.Errorf("%q: %q, %v", c.path, s.url, err)
		}
		allowed := strings.Split(s.protocols, ",")
		for _, p := range []string{"concat", "subfile", "hls"} {
			if slices.Contains(allowed, p) {
				t.Errorf("%q: %s is allowed", c.path, p)
			}
		}
		local, reaches := strings.HasPrefix(s.url, "file:"), slices.Contains(allowed, "http")
		if err == nil && local == reaches {
			t.Errorf("%q: allowed are %v", c.path, allowed)
		}
		if slices.Contains(allowed, "file") && reaches {
			t.Errorf("%q: both files and the network are in reach", c.path)
		}
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	e2e.Must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	e2e.Must(t, os.WriteFile(path, []byte("x"), 0o666))
}
