package jetstream

import (
	"errors"

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
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled):
		return &Error{"queue: the server has no JetStream", "start it with JetStream (nats-server -js), or use 'vidfilter serve'", err}
	case errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return &Error{"queue: the account has no JetStream", "give the account JetStream limits, or use the credentials of another", err}
	}
	return err
}
