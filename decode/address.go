package decode

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// addressError explains why an address cannot be opened: it leads elsewhere, or lists others.
func addressError(ctx context.Context, e *Error, from location, format string) error {
	if to := redirection(ctx, e.Path); to != nil {
		e.Err = fmt.Errorf("the server sends on to %s, and only the port of the address itself is open, by http", to.Redacted())
		e.hint = "if you trust it, give the address that it sends to"
		return e
	}
	if name := probe(from); format == "" && containerOf(name).refers {
		e.Err = fmt.Errorf("a %s playlist: it names other addresses", name)
		e.hint = "if you trust it, give --input-format " + name
	}
	return e
}

// mostRedirections is FFmpeg's.
const mostRedirections = 8

// redirection returns a place to which the server sends on and that is refused: another port, or
// another protocol than http.
func redirection(ctx context.Context, address string) (to *url.URL) {
	at, err := url.Parse(address)
	if err != nil || !strings.EqualFold(at.Scheme, "http") {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil
	}
	ports := reachOfAddress(address).Ports
	refused := errors.New("refused")
	client := http.Client{
		Transport: &http.Transport{DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if !strings.EqualFold(next.URL.Scheme, "http") || !slices.Contains(ports, portOf(next.URL)) {
				to = next.URL
				return refused
			}
			if len(via) > mostRedirections {
				return refused
			}
			return nil
		},
	}
	if back, err := client.Do(r); err == nil {
		back.Body.Close()
	}
	return to
}

var network = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i)(https?|tcp|tls|udp|rtp|rtsp|rtmps?|srt|ftp|mms|sftp|icecast|gopher)(:|\b.*://)`)
})

// isAddress reports whether FFmpeg reads a path from the network.
func isAddress(path string) bool {
	return FileOf(path) == path && network().MatchString(path) && strings.Contains(path, "://")
}

func reachOfAddress(path string) (r Reach) {
	r.Peer = true // to look up names
	for _, address := range []string{path, os.Getenv("http_proxy")} {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" {
			continue
		}
		scheme := strings.ToLower(u.Scheme)
		if scheme == "udp" || scheme == "rtp" {
			continue
		}
		r.Ports = append(r.Ports, portOf(u))
	}
	return r
}

func portOf(u *url.URL) int {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return int(n)
	}
	return 80
}

// Reach lists the files, devices and ports that an input makes a process open.
type Reach struct {
	Files   []string // and folders with all below them
	Devices []string // with everything that drivers offer
	Peer    bool     // datagrams to and from other machines
	Ports   []int    // of TCP servers
}

// ReachOf returns the reach of Open for a path: the file, its folder too if the format names other
// files, or the port of an address. A redirection to another port is refused.
func ReachOf(path string, o Options) (r Reach) {
	switch {
	case isAddress(path) && o.AllowNetwork:
		return reachOfAddress(path)
	case IsCamera(path): // which comes back as another node after it was unplugged
		r.Devices = []string{"/dev"}
		r.Files = []string{"/sys/class/video4linux", "/sys/devices"}
		return r
	case path == "-":
		r.Files = []string{"/dev/fd/0"}
	default:
		r.Files = []string{FileOf(path)}
	}
	if Refers(o.Format) {
		r.Files = append(r.Files, filepath.Dir(FileOf(path)))
	}
	return r
}
