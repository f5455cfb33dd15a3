// Package decode reads files, pipes and network streams into frames, in memory that the backend
// chose.
package decode

import (
	"errors"

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

// Faults of cameras that may pass. Errors that wrap them wrap ErrUnreadable, too.
var (
	ErrNoCamera = errors.New("no camera") // there is no device, or one of another kind
	ErrBusy     = errors.New("the camera is busy")
	ErrGone     = errors.New("the camera is gone") // while it was open
)

type optionError string

func (e optionError) Error() string { return string(e) }
func (e optionError) Unwrap() error { return ErrOption }
