// Package gpu is the place of the CUDA backend. This version has none: every job runs on the CPU.
package gpu

import "errors"

// ErrDevice is what every error wraps that lies in a device: none is there, or it cannot do the job.
var ErrDevice = errors.New("device not available")

// Device is one GPU.
type Device struct {
	Index int
	Name  string
}

// Devices lists the GPUs that jobs can use. The error says why there is none and wraps ErrDevice.
func Devices() ([]Device, error) {
	return nil, errNotBuilt
}

type notBuilt struct{}

func (notBuilt) Error() string { return "this version of vidfilter has no CUDA path" }
func (notBuilt) Unwrap() error { return ErrDevice }

var errNotBuilt error = notBuilt{}
