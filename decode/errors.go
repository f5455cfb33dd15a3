// Package decode is the way in: files, pipes and network streams become frames in memory that the
// backend chose. With package encode it is the only place that knows FFmpeg.
package decode

import "errors"

// ErrUnreadable is what every error wraps that lies in the input: it is missing, not media, refused by the
// rules of what may be opened, or damaged beyond the limit.
var ErrUnreadable = errors.New("input unreadable")
