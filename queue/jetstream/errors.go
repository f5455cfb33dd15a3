package jetstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Error is an error of the queue in words, with what can be done about it.
type Error struct {
	msg, hint string
	err       error
}

func (e *Error) Error() string { return e.msg }

// Hint says what can be done.
func (e *Error) Hint() string  { return e.hint }
func (e *Error) Unwrap() error { return e.err }

// setUpError says in words why a server cannot be used.
func setUpError(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return &Error{"queue: the server has no JetStream", "start it with JetStream (nats-server -js), or use 'vidfilter serve'", err}
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return &Error{"queue: the account has no JetStream", "give the account JetStream limits, or use the credentials of another", err}
	case isTimeout(err), isAway(err):
		return &Error{"queue: JetStream does not answer", "has the cluster a leader, and may the account use it?", err}
	}
	return err
}

// connectError says in words why there is no connection.
func connectError(servers, creds string, err error) error {
	servers = redacted(servers)
	say := func(what, hint string) error {
		return &Error{fmt.Sprintf("queue: server %s: %s", servers, what), hint, err}
	}
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var record tls.RecordHeaderError
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("connection refused", "is 'vidfilter serve' running there, and is this its port?")
	case errors.As(err, new(*net.DNSError)):
		return say(text, "give the name or address under which this machine reaches the server")
	case isTimeout(err):
		return say("no answer", "is it reachable from here, or is a firewall in between?")
	case errors.As(err, &unknown):
		return say("its certificate is not signed by one that the credentials trust",
			"copy worker.creds from this very server's folder, or give the authority's file")
	case errors.As(err, &host):
		return say("its certificate is for other names: "+host.Error(), "use one of those names, or start 'vidfilter serve' with this one as --host")
	case errors.Is(err, nats.ErrTLS) && strings.Contains(text, "after TLS handshake"), strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"),
		strings.Contains(text, "unknown certificate authority"), strings.Contains(text, "unknown ca"):
		return say("it asks for a certificate that it has signed, and the credentials hold none", "use the worker.creds of this very server: --creds FILE")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), strings.Contains(strings.ToLower(text), "authorization"):
		if creds == "" {
			return say("it asks for credentials", "use the worker.creds of this server: --creds FILE")
		}
		return say("it does not know the credentials in "+creds, "copy worker.creds from this server's folder once more")
	case errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, &record):
		return say("it speaks no TLS", "is this the port of a NATS server with TLS?")
	}
	return say(text, "")
}

// redacted leaves passwords and tokens out of a list of addresses.
func redacted(list string) string {
	all := strings.Split(list, ",")
	for i, s := range all {
		if u, err := url.Parse(s); err == nil && u.User != nil {
			u.User = url.User("...")
			all[i] = u.String()
		}
	}
	return strings.Join(all, ",")
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// listenError says in words why a server cannot listen.
func listenError(addr string, err error) error {
	if strings.Contains(err.Error(), "address already in use") {
		return &Error{"queue: " + addr + " is in use", "is another server running? Choose another address to listen at", err}
	}
	return err
}
