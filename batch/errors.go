// Package batch turns the user's request into items, keeps a record for each item's output, and
// makes reports of the records. It runs no jobs.
package batch

import "vidfilter/internal/hint"

// errorf returns an error with a hint, for mistakes of the user and trouble with their files.
func errorf(advice, format string, args ...any) error { return hint.Errorf(advice, format, args...) }
