// Package decode reads files, pipes and network streams into frames, in memory that the backend
// chose.
package decode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"vidfilter/internal/contract"
)

// ErrUnreadable is wrapped by every error of the input: it is missing, not media, not allowed, or
// damaged beyond the limit.
var ErrUnreadable = contract.NewClass(contract.ExitInput, "input unreadable")

// ErrOption is also wrapped by errors of options that only FFmpeg can judge.
var ErrOption = contract.NewClass(contract.ExitUsage, "option not understood")

// ErrKeyFrame is wrapped by an error of Stream.Decode after which only a key frame can be decoded.
var ErrKeyFrame = errors.New("a key frame is needed")

// ErrDevice is also wrapped by the error of a device that must decode and does not.
var ErrDevice = contract.NewClass(contract.ExitDevice, "no picture from the GPU")

// Faults of cameras that may pass. Errors that wrap them also wrap ErrUnreadable.
var (
	ErrNoCamera = errors.New("no camera") // there is no device, or one of another kind
	ErrBusy     = errors.New("the camera is busy")
	ErrGone     = errors.New("the camera is gone") // while it was open
)

type optionError string

func (e optionError) Error() string { return string(e) }
func (e optionError) Unwrap() error { return ErrOption }

// Error is an error of the input, with a hint. It wraps ErrUnreadable.
type Error struct {
	Op, Path string
	Err      error
	hint     string
}

func (e *Error) Error() string {
	s := e.Op
	if e.Path != "" {
		s += " " + e.Path
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap makes the error both an ErrUnreadable and its cause.
func (e *Error) Unwrap() []error { return []error{ErrUnreadable, e.Err} }

// Hint suggests a remedy, or is empty.
func (e *Error) Hint() string { return e.hint }

// logger has messages about an input for the user.
type logger struct {
	path string       // of the input, for errors
	log  *slog.Logger // nil drops messages
}

func (l logger) warn(format string, args ...any) { l.tell(slog.LevelWarn, format, args...) }

func (l logger) tell(level slog.Level, format string, args ...any) {
	if l.log != nil {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, args...))
	}
}
