package netfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// A shown address names the file and holds no user, password or query.
func TestShown(t *testing.T) {
	for name, want := range map[string]string{
		"https://me:word@host:8443/a/b%20c.mp4?X-Amz-Signature=word#word": "https://host:8443/a/b%20c.mp4",
		"HTTPS://host/a?word":          "https://host/a",
		"http://me:word@host/%zz?word": "host/%zz",
		"s3://films/what?.mp4":         "s3://films/what?.mp4",
		"in?.mp4":                      "in?.mp4",
	} {
		if got := Shown(name); got != want {
			t.Errorf("Shown(%q) = %q", name, got)
		}
	}
	got := ShownArgs([]string{"-i", "https://host/a?word", "-ihttps://host/b?word", "--input=http://host/c?word", "a=https://host/?"})
	want := []string{"-i", "https://host/a", "-ihttps://host/b", "--input=http://host/c", "a=https://host/?"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestNames: the name of a file at an address, of its folder and of its copy.
func TestNames(t *testing.T) {
	for address, want := range map[string][3]string{
		"s3://films/tapes/one.mp4":    {"one.mp4", "tapes", ".mp4"},
		"s3://films/one.mp4":          {"one.mp4", "", ".mp4"},
		"s3://films/tapes/":           {"", "tapes", ""},
		"s3://films":                  {"", "", ""},
		"https://host/a/two.mkv?x=/y": {"two.mkv", "a", ".mkv"},
		"https://host/a/b.$(x)":       {"b.$(x)", "a", ""},
		"https://host/":               {"", "", ""},
	} {
		if got := [3]string{Base(address), Dir(address), Ending(address)}; got != want {
			t.Errorf("%s: %q", address, got)
		}
	}
}

// TestWithoutCredentials: a child gets the environment, and no credentials.
func TestWithoutCredentials(t *testing.T) {
	got := WithoutCredentials([]string{"HOME=/", "AWS_SECRET_ACCESS_KEY=x", "AWS_ACCESS_KEY_ID=y", "AWS_SESSION_TOKEN=z", "LAWS_=1"})
	if !slices.Equal(got, []string{"HOME=/", "LAWS_=1"}) {
		t.Errorf("%q", got)
	}
}

// TestPublic: a redirection leads to public networks only.
func TestPublic(t *testing.T) {
	for ip, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true, "10.1.2.3": false, "127.0.0.1": false, "::1": false, "192.168.0.1": false,
		"169.254.169.254": false, "100.64.1.1": false, "fd00::1": false, "0.0.0.0": false,
	} {
		if isPublic(netip.MustParseAddr(ip)) != want {
			t.Errorf("%s: %v", ip, !want)
		}
	}
}

// quick makes pauses short.
func quick(t *testing.T) {
	pause, patience := firstPause, stall
	firstPause, stall = time.Millisecond, 200*time.Millisecond
	t.Cleanup(func() { firstPause, stall = pause, patience })
}

// TestFetch: a fetch survives busy servers, silence, cut connections and servers without ranges,
// and gives up on errors that last. After an error there is no file.
func TestFetch(t *testing.T) {
	quick(t)
	content := strings.Repeat("film", 50_000)
	tries := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.Trim(r.URL.Path, "/")
		tries[name]++
		serve := func() { http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content)) }
		switch n := tries[name]; {
		case name == "busy" && n < 3, name == "down":
			w.WriteHeader(http.StatusServiceUnavailable)
		case name == "silent" && n == 1:
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = io.WriteString(w, content[:1000])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case name == "rangeless": // cut twice, always from the beginning
			w.Header().Set("Content-Length", fmt.Sprint(len(content)))
			_, _ = io.WriteString(w, content[:min(len(content), n*len(content)/3+1)])
		case name == "unknown":
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, content)
		case name == "closed":
			w.WriteHeader(http.StatusForbidden)
		default:
			serve()
		}
	}))
	defer server.Close()
	for _, test := range []struct {
		name  string
		tries int
		err   error
	}{
		{"plain", 1, nil}, {"busy", 3, nil}, {"silent", 2, nil}, {"rangeless", 3, nil}, {"unknown", 1, nil},
		{"closed", 1, os.ErrPermission}, {"down", mostTries, contract.Class(contract.ExitInput)},
	} {
		file := filepath.Join(t.TempDir(), "copy")
		_, err := Fetch(context.Background(), server.URL+"/"+test.name, file)
		if !errors.Is(err, test.err) || tries[test.name] != test.tries {
			t.Errorf("%s: %v, %d tries", test.name, err, tries[test.name])
		}
		if test.err != nil {
			if e2e.Exists(file) {
				t.Errorf("%s: a file is left", test.name)
			}
		} else if string(e2e.Read(t, file)) != content {
			t.Errorf("%s: other content", test.name)
		}
	}
}

// TestCopies: the same address is fetched once, and the environment carries the copies to a child.
func TestCopies(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	copies := map[string]string{"s3://films/a.mp4": "/tmp/0.mp4"}
	got, rest := TakeCopies([]string{"A=1", CopiesEnv(copies), "B=2"})
	if got["s3://films/a.mp4"] != "/tmp/0.mp4" || !slices.Equal(rest, []string{"A=1", "B=2"}) {
		t.Errorf("%q, %q", got, rest)
	}
	none, remove, err := Copies(context.Background(), []string{"a.mp4", "http://host/b.mp4", "-"}, func(s string) { t.Error(s) })
	if len(none) > 0 || err != nil {
		t.Errorf("%q, %v", none, err)
	}
	remove()
}
