package sandbox

import (
	"errors"
	"syscall"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// Fault is an error of the parent as the child gets it.
type Fault struct {
	Text   contract.Name   `json:"text"`
	Advice contract.Name   `json:"hint,omitempty"`
	Kinds  []string        `json:"kinds,omitempty"` // names that the two sides agree on
	Errnos []syscall.Errno `json:"errnos,omitempty"`
}

func (f *Fault) Error() string { return string(f.Text) }

// Hint returns the advice, possibly empty.
func (f *Fault) Hint() string { return string(f.Advice) }

// errnos are the numbers that a program acts on, beside its messages.
var errnos = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EPIPE, syscall.EEXIST}

// faultOf describes an error. kinds maps names to errors that it may wrap.
func faultOf(err error, kinds map[string]error) *Fault {
	f := &Fault{Text: contract.Name(err.Error()), Advice: contract.Name(hint.Of(err))}
	for name, kind := range kinds {
		if errors.Is(err, kind) {
			f.Kinds = append(f.Kinds, name)
		}
	}
	for _, no := range errnos {
		if errors.Is(err, no) {
			f.Errnos = append(f.Errnos, no)
		}
	}
	return f
}

// Restore returns the error that a Fault describes, and other errors as they are.
func Restore(err error, kinds map[string]error) error {
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		return err
	}
	var wraps []error
	for _, name := range f.Kinds {
		if kind := kinds[name]; kind != nil {
			wraps = append(wraps, kind)
		}
	}
	for _, no := range f.Errnos {
		wraps = append(wraps, no)
	}
	return hint.Says(f.Error(), f.Hint(), wraps...)
}
