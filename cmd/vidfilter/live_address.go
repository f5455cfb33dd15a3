package main

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// address is where the page is.
type address struct {
	listen string
	any    bool        // another port will do
	secure *tls.Config // nil for plain HTTP
	hosts  []string    // names under which it may be asked for, beside those of this machine
}

func (o *liveOptions) address() (address, error) {
	a := address{listen: o.Listen, any: o.Listen == defaultListen, hosts: o.Hosts}
	if o.Cert == "" {
		return a, nil
	}
	pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
	if err != nil {
		return a, usagef("both are PEM files", "--cert %s, --key %s: %v", o.Cert, o.Key, err)
	}
	a.secure = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	a.hosts = append(certNames(pair.Leaf), o.Hosts...)
	return a, nil
}

// certNames are the names that a certificate is for: who has it may go by them.
func certNames(c *x509.Certificate) (names []string) {
	if c == nil {
		return nil
	}
	for _, n := range c.DNSNames {
		if !strings.HasPrefix(n, "*") {
			names = append(names, n)
		}
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

func (a address) anyPort() string {
	host, _, _ := net.SplitHostPort(a.listen)
	return net.JoinHostPort(host, "0")
}

// url returns the page's address, by a name that the certificate has where there is one.
func (a address) url(bound net.Addr) string {
	scheme := "http"
	host, port, _ := net.SplitHostPort(bound.String())
	if a.secure != nil {
		scheme = "https"
		if len(a.hosts) > 0 {
			host = a.hosts[0]
		}
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host, _ = os.Hostname()
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// announce opens the page, or says how to get there.
func (l *liveRun) announce(page, once string, bound net.Addr) {
	_, port, _ := net.SplitHostPort(bound.String())
	switch {
	case l.o.NoOpen, l.o.Window:
	case lookup(l.env, "SSH_CONNECTION") != "":
		l.ui.info("from the machine in front of you: ssh -L %s:127.0.0.1:%s %s, then open that address there", port, port, hostName())
	case l.openBrowser(page + "#" + once):
		return
	}
	l.ui.info("open the address above in a browser; Ctrl-C ends")
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "HOST"
	}
	return name
}

// openBrowser asks the desktop to open the page. The address holds a token for one use, since other users may see a program's arguments.
func (l *liveRun) openBrowser(url string) bool {
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case lookup(l.env, "DISPLAY") == "" && lookup(l.env, "WAYLAND_DISPLAY") == "":
		return false
	}
	c := exec.Command(program, url)
	if err := c.Start(); err != nil {
		return false
	}
	go func() { _ = c.Wait() }()
	return true
}
