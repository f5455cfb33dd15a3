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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// Error is the error of a queue that cannot be used.
type Error struct {
	msg string
	err error // may be nil
}

func (e *Error) Error() string { return e.msg }
func (e *Error) Unwrap() error { return e.err }

// Is adds the class.
func (e *Error) Is(target error) bool { return target == contract.Class(contract.ExitQueue) }

// errorf returns an Error with a hint. Its text does not repeat the cause's.
func errorf(advice string, cause error, format string, args ...any) error {
	return hint.Wrap(&Error{fmt.Sprintf(format, args...), cause}, advice)
}

// setUpError explains why a server cannot be used.
func setUpError(err error) error {
	switch {
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, nats.ErrNoResponders):
		return errorf("start it with JetStream (nats-server -js), or use 'vidfilter serve'", err, "queue: the server has no JetStream")
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errorf("give the account JetStream limits, or use the credentials of another", err, "queue: the account has no JetStream")
	case isTimeout(err), isUnavailable(err):
		return errorf("check that the cluster has a leader and that the account may use JetStream", err, "queue: JetStream does not answer")
	}
	return err
}

// connectError explains why there is no connection.
func connectError(servers, creds string, err error) error {
	servers = redacted(servers)
	say := func(what, advice string) error {
		return errorf(advice, err, "queue: server %s: %s", servers, what)
	}
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	text := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return say("connection refused", "check that 'vidfilter serve' is running there, on this port")
	case errors.As(err, new(*net.DNSError)):
		return say(text, "check the name or address of the server")
	case isTimeout(err):
		return say("no answer", "check that it can be reached from here; a firewall may block it")
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return say("its certificate is not signed by an authority that the credentials trust",
			"copy worker.creds from this server's folder, or name the authority's file with --tls-ca")
	case errors.As(err, &host):
		return say("its certificate is for other names: "+host.Error(), "use one of those names, or start 'vidfilter serve' with this one as --host")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return say(fmt.Sprintf("its certificate is good from %s to %s, and the clock of this machine says %s",
			invalid.Cert.NotBefore.Format(time.DateOnly), invalid.Cert.NotAfter.Format(time.DateOnly), time.Now().UTC().Format(time.DateTime)),
			"set the clock, here or where the certificate was made")
	case isTLSAlert(err) && strings.Contains(text, "expired certificate"):
		return say("it takes our certificate for one of another time", "compare the clocks of both machines: this one says "+time.Now().UTC().Format(time.DateTime)+
			"; if they agree, new credentials are needed: vidfilter serve credentials rotate")
	case errors.Is(err, nats.ErrSecureConnWanted), errors.As(err, new(tls.RecordHeaderError)):
		return say("it speaks no TLS", "check that this is the port of a NATS server with TLS")
	case isTLSAlert(err):
		return say("it asks for a client certificate that it has signed", "use the worker.creds of this server: --creds FILE")
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		if creds == "" {
			return say("it asks for credentials", "use the worker.creds of this server: --creds FILE")
		}
		return say("it rejects the credentials in "+creds, "they may be revoked, or of another server: vidfilter serve credentials issue makes new ones; worker.creds is in its folder")
	}
	return say(text, "")
}

// isTLSAlert reports whether the server ended the TLS handshake, or the connection right after
// it: with TLS 1.3 a client learns only then that its certificate was refused. crypto/tls has no
// exported type for alerts.
func isTLSAlert(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return true
	}
	return errors.Is(err, nats.ErrTLS) && !errors.As(err, new(*tls.CertificateVerificationError))
}

// redacted removes passwords and tokens from a list of addresses.
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

// listenError explains why a server cannot listen.
func listenError(addr string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return errorf("stop the other server, or choose another address with --listen", err, "queue: %s is in use", addr)
	}
	return err
}

// wrapf puts a text before an error, if there is one.
func wrapf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
