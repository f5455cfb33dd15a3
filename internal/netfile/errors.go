package netfile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"

	"vidfilter/internal/contract"
)

// Error is an error of a file at an address, with advice. Reading is of the class
// contract.ExitInput and writing of contract.ExitOutput. It wraps fs.ErrNotExist, fs.ErrPermission,
// fs.ErrExist or ErrChanged where they apply.
type Error struct {
	op, address string
	err         error // of the server or the network
	kind        error // nil: another kind
	hint        string
	temporary   bool
}

// ErrChanged is wrapped by the error of a file that changed while it was read.
var ErrChanged = errors.New("the file changed while it was read")

func (e *Error) Error() string { return fmt.Sprintf("%s %s: %v", e.op, Shown(e.address), e.err) }

// Hint returns advice, or "".
func (e *Error) Hint() string { return e.hint }

// Unwrap returns the error's class and kind.
func (e *Error) Unwrap() []error {
	class := contract.ExitInput
	if e.op == opWrite {
		class = contract.ExitOutput
	}
	if e.kind == nil {
		return []error{contract.Class(class), e.err}
	}
	return []error{contract.Class(class), e.kind, e.err}
}

// IsLasting reports whether an error is one of an address that a later try does not mend.
func IsLasting(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.temporary
}

const (
	opRead  = "read"
	opWrite = "write"
)

// failure describes an error of the network or of a server.
func failure(op, address string, err error) error {
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return ofStatus(op, address, status.code, "", err)
	}
	if back, ok := errors.AsType[minio.ErrorResponse](err); ok {
		return ofStore(op, address, back)
	}
	e := &Error{op: op, address: address, err: bare(err), temporary: true}
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &certificate):
		e.temporary, e.hint = false, "the certificate is not valid for this host: add its authority to the system's, or name it in SSL_CERT_FILE"
	case errors.As(err, new(tls.RecordHeaderError)), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		e.temporary, e.hint = false, "the server answers without TLS: check the port, and https:// or http://"
	case errors.Is(err, errRefused):
		e.temporary, e.hint = false, "give the address that it leads to, if you trust it"
	case errors.As(err, &name) && name.IsNotFound:
		e.temporary, e.hint = false, "check the spelling of the host "+name.Name
	default:
		e.hint = "check the network, and try again"
	}
	return e
}

// bare returns an error without the address that net/http adds.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// statusError is an answer other than success.
type statusError struct{ code int }

func (e *statusError) Error() string {
	return fmt.Sprintf("the server answers %d %s", e.code, http.StatusText(e.code))
}

// ofStatus describes an answer by its status. advice is for denied access.
func ofStatus(op, address string, status int, advice string, err error) *Error {
	e := &Error{op: op, address: address, err: err}
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		e.kind, e.hint = fs.ErrNotExist, "there is no such file: check the spelling"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.kind, e.hint = fs.ErrPermission, advice
		if advice == "" {
			e.hint = "the server refuses access: a signed address may have expired"
		}
	case status == http.StatusPreconditionFailed && op == opRead:
		e.kind, e.err, e.hint, e.temporary = ErrChanged, ErrChanged, "try again when it is complete", true
	case status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500:
		e.temporary, e.hint = true, "the server is at fault or busy: try again later"
	}
	return e
}

// ofStore describes the error of a store by its code.
func ofStore(op, address string, back minio.ErrorResponse) *Error {
	bucket, key := split(address)
	said := errors.New(strings.TrimSuffix(back.Error(), "."))
	if back.Message != back.Code {
		said = fmt.Errorf("%w (%s)", said, back.Code)
	}
	e := ofStatus(op, address, back.StatusCode, "these credentials may not "+op+" it: check AWS_ACCESS_KEY_ID and the bucket's policy", said)
	switch back.Code {
	case minio.NoSuchBucket:
		e.kind, e.temporary, e.err = fs.ErrNotExist, false, fmt.Errorf("there is no bucket %q", bucket)
		e.hint = "make it, or check its name and AWS_ENDPOINT_URL (" + endpoint() + " is used)"
	case minio.NoSuchKey:
		e.kind, e.err = fs.ErrNotExist, fmt.Errorf("there is no %q in the bucket %q", key, bucket)
		e.hint = "check the spelling; the name of a folder ends with a slash"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch":
		e.kind, e.hint = fs.ErrPermission, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case "ExpiredToken", "ExpiredTokenException", "InvalidToken":
		e.kind, e.temporary, e.hint = fs.ErrPermission, false, "the credentials have expired: set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN anew"
	case minio.InvalidRegion, "AuthorizationHeaderMalformed", "PermanentRedirect":
		e.temporary, e.hint = false, "set AWS_REGION to the bucket's region"
	case "RequestTimeTooSkewed":
		e.temporary, e.hint = false, "set this machine's clock"
	case minio.PreconditionFailed, "ConditionalRequestConflict":
		if op == opWrite {
			e.kind, e.temporary, e.err, e.hint = fs.ErrExist, false, errors.New("it exists"), "-y replaces it"
		}
	}
	if errors.Is(e.kind, fs.ErrPermission) && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		e.hint = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: there are no credentials in the environment"
	}
	return e
}
