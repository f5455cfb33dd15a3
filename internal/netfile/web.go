package netfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	dialTimeout    = 15 * time.Second
	answerTimeout  = time.Minute
	mostRedirected = 8
)

// web reads a file of a web server.
type web struct {
	address string
	client  *http.Client
}

func newWeb(address string) (*web, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, &Error{op: opRead, address: address, err: errors.New("it is no address"), hint: "as in https://host/folder/file.mp4"}
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer(u.Hostname()), DisableKeepAlives: true, DisableCompression: true,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerTimeout,
	}
	return &web{address, &http.Client{Transport: transport, CheckRedirect: checkRedirect}}, nil
}

var errRefused = errors.New("refused")

// checkRedirect follows redirections that stay as safe as the address.
func checkRedirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > mostRedirected:
		return fmt.Errorf("%w: more than %d redirections", errRefused, mostRedirected)
	case next.URL.Scheme != "https" && (next.URL.Scheme != "http" || via[0].URL.Scheme == "https"):
		return fmt.Errorf("%w: it redirects to %s, without TLS", errRefused, Shown(next.URL.String()))
	}
	return nil
}

// dialer connects to the named host at any address but a link-local one, where clouds keep
// credentials. Other hosts, to which a redirection leads, must be public. A proxy judges by itself.
func dialer(named string) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		trusted := strings.EqualFold(host, named) || isProxy(address)
		d := net.Dialer{Timeout: dialTimeout, Control: func(_, to string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(to)
			if err != nil {
				return err
			}
			if ip := at.Addr().Unmap(); ip.IsLinkLocalUnicast() || !trusted && !isPublic(ip) {
				return fmt.Errorf("%w: %s is in a private network, and a redirection leads there", errRefused, host)
			}
			return nil
		}}
		return d.DialContext(ctx, network, address)
	}
}

func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !netip.MustParsePrefix("100.64.0.0/10").Contains(ip)
}

func isProxy(address string) bool {
	for _, scheme := range []string{"https", "http"} {
		p, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "example.org"}})
		if err == nil && p != nil && strings.HasPrefix(address, p.Hostname()+":") {
			return true
		}
	}
	return false
}

func (w *web) open(ctx context.Context, from int64, known Info) (io.ReadCloser, Info, int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.address, nil)
	if err != nil {
		return nil, Info{}, 0, err
	}
	if from > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	back, err := w.client.Do(r)
	if err != nil {
		return nil, Info{}, 0, err
	}
	now := Info{Size: back.ContentLength, Tag: tagOf(back.Header)}
	switch {
	case back.StatusCode == http.StatusOK:
		return back.Body, now, 0, nil
	case back.StatusCode == http.StatusPartialContent && from > 0:
		if now.Size, err = total(back.Header, from); err == nil {
			return back.Body, now, from, nil
		}
	case back.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		err = &statusError{http.StatusPreconditionFailed}
	default:
		err = &statusError{back.StatusCode}
	}
	back.Body.Close()
	return nil, Info{}, 0, err
}

// tagOf returns the version of the content, "" if unknown. A weak tag may
// stay the same, so the date joins it.
func tagOf(h http.Header) string {
	tag := h.Get("ETag")
	if tag == "" || strings.HasPrefix(tag, "W/") {
		return strings.TrimSpace(tag + " " + h.Get("Last-Modified"))
	}
	return strings.Trim(tag, `"`)
}

// total reads the size of the whole file from the header of a part that begins at from.
func total(h http.Header, from int64) (int64, error) {
	part, size, _ := strings.Cut(strings.TrimPrefix(h.Get("Content-Range"), "bytes "), "/")
	start, _, _ := strings.Cut(part, "-")
	at, err := strconv.ParseInt(start, 10, 64)
	n, e := strconv.ParseInt(size, 10, 64)
	if err != nil || e != nil || at != from {
		return 0, fmt.Errorf("the server sends another part: %q", h.Get("Content-Range"))
	}
	return n, nil
}
