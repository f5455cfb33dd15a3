// Package decode is the way in: files, pipes and network streams become frames in memory that the
// backend chose. With package encode it is the only place that knows FFmpeg.
package decode

import "errors"

// ErrUnreadable is what every error wraps that lies in the input: it is missing, not media, refused by the
// rules of what may be opened, or damaged beyond the limit.
var ErrUnreadable = errors.New("input unreadable")

// ErrOption is what an error wraps besides that lies in an option only FFmpeg can judge.
var ErrOption = errors.New("option not understood")

// ErrKeyFrame is what an error of Stream.Decode wraps when only a key frame can go on from there.
var ErrKeyFrame = errors.New("a key frame is needed")

// What may be wrong with a camera, and may pass. Each comes within an error that wraps ErrUnreadable, too.
var (
	ErrNoCamera = errors.New("no camera") // nothing, or something else, is there
	ErrBusy     = errors.New("the camera is busy")
	ErrGone     = errors.New("the camera is gone") // in mid-stream
)

type optionError string

func (e optionError) Error() string { return string(e) }
func (e optionError) Unwrap() error { return ErrOption }
