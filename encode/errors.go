// Package encode is the way out: frames become H.264, every other stream of the input is copied as it is,
// and the result takes its final name only when it is whole and checked.
package encode

import "errors"

// ErrOutput is what every error wraps that lies in the output: it exists, cannot be written, the disk is
// full, or the container cannot hold what is asked.
var ErrOutput = errors.New("output not written")

// ErrDamaged is what an output wraps that was finished and kept although it is not what it should be.
var ErrDamaged = errors.New("output not verified")
