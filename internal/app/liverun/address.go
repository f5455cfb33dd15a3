package liverun

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"

	"vidfilter/internal/cli"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/site"
)

// address is where the page is served.
type address struct {
	listen string
	any    bool        // another port is fine
	secure *tls.Config // nil for plain HTTP
	hosts  []string    // further host names to accept
}

func (o *Options) address() (address, error) {
	a := address{listen: o.Listen, any: o.Listen == defaultListen, hosts: o.Hosts}
	if o.Cert == "" {
		return a, nil
	}
	secure, names, err := site.Certificate(o.Cert, o.Key)
	if err != nil {
		return a, cli.Usagef("both are PEM files", "--cert %s, --key %s: %v", o.Cert, o.Key, err)
	}
	a.secure, a.hosts = secure, append(names, o.Hosts...)
	return a, nil
}

func (a address) anyPort() string {
	host, _, _ := net.SplitHostPort(a.listen)
	return net.JoinHostPort(host, "0")
}

// announce opens the page in a browser, or prints how to reach it.
func (l *liveRun) announce(page, once string, bound net.Addr) {
	_, port, _ := net.SplitHostPort(bound.String())
	switch {
	case l.o.NoOpen:
	case cli.Lookup(l.env, "SSH_CONNECTION") != "":
		l.ui.Info(fmt.Sprintf("from your own machine: ssh -L %s:127.0.0.1:%s %s, then open that address there", port, port, hostName()))
	case l.openBrowser(page + "#" + once):
		return
	}
	l.ui.Info("open the address above in a browser; Ctrl-C ends")
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "HOST"
	}
	return name
}

// openBrowser has the page opened. The URL holds a token for one use, since other users can see
// arguments of programs.
func (l *liveRun) openBrowser(url string) bool {
	if box := sandbox.Inside(); box != nil {
		return box.Ask(browse, url, nil) == nil
	}
	return openBrowser(l.env, url)
}

// openBrowser lets the desktop open a page.
func openBrowser(env []string, url string) bool {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case cli.Lookup(env, "DISPLAY") == "" && cli.Lookup(env, "WAYLAND_DISPLAY") == "":
		return false
	}
	c := exec.Command(program, url)
	if err := c.Start(); err != nil {
		return false
	}
	go func() { _ = c.Wait() }()
	return true
}
