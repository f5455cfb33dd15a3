// Package decode reads files, pipes and network streams into frames, in memory that the backend
// chose.
package decode

import (
	"errors"

	"vidfilter/internal/hint"
)

// ErrUnreadable is wrapped by every error of the input: it is missing, not media, not allowed, or
// damaged beyond the limit.
var ErrUnreadable = errors.New("input unreadable")

// ErrOption is also wrapped by errors of options that only FFmpeg can judge.
var ErrOption = errors.New("option not understood")

// ErrKeyFrame is wrapped by an error of Stream.Decode after which only a key frame can be decoded.
var ErrKeyFrame = errors.New("a key frame is needed")

// Faults of cameras that may pass. Errors that wrap them wrap ErrUnreadable, too.
var (
	ErrNoCamera = errors.New("no camera") // there is no device, or one of another kind
	ErrBusy     = errors.New("the camera is busy")
	ErrGone     = errors.New("the camera is gone") // while it was open
)

func optionError(text string) error { return hint.Says(text, "", ErrOption) }
