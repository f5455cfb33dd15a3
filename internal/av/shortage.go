package av

//#include "glue.h"
import "C"

import (
	"fmt"
	"strings"
	"syscall"

	"vidfilter/internal/contract"
)

// Shortage is the error of work for which the system had too little. Libraries report it as an
// error of their own, or of their options.
type Shortage struct {
	Of  Scarce
	err error
}

// Scarce is a resource that the system bounds.
type Scarce string

// The values of Scarce.
const (
	Memory  Scarce = "memory"
	Threads Scarce = "threads"
)

// String describes the shortage.
func (s Scarce) String() string {
	if s == Threads {
		return "no more threads can be started"
	}
	return "out of memory"
}

// Advice returns the remedy.
func (s Scarce) Advice() string {
	if s == Threads {
		return "raise the limit on processes (ulimit -u, or pids.max of the control group) or on memory (ulimit -v), or give --threads 1"
	}
	return "raise the limit on memory (ulimit -v, or memory.max of the control group), or take less: --threads 1 --frames-in-flight 1, or a faster --preset"
}

func (s *Shortage) Error() string {
	if text := s.err.Error(); strings.Contains(text, s.Of.String()) {
		return text
	}
	return fmt.Sprintf("%v: %v", s.Of, s.err)
}

func (s *Shortage) Unwrap() error { return s.err }

// Is adds a class, which comes before the one that the library took it for.
func (s *Shortage) Is(target error) bool { return target == contract.Class(contract.ExitFailed) }

// Hint returns the remedy.
func (s *Shortage) Hint() string { return s.Of.Advice() }

// OfShortage returns a *Shortage that wraps err if the system has too little now, or err reports
// it; else nil. cause is the library's error, whose number counts.
func OfShortage(cause, err error) error {
	switch short := C.vf_short_of(); {
	case short == 1, Errno(cause) == int(syscall.ENOMEM), strings.HasSuffix(err.Error(), Memory.String()):
		return &Shortage{Memory, err}
	case short == 2, Errno(cause) == int(syscall.EAGAIN):
		return &Shortage{Threads, err}
	}
	return nil
}
