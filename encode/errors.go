// Package encode writes files: frames are encoded, all other streams of the input are copied as
// they are, and the file takes its final name once it is complete and checked.
package encode

import (
	"fmt"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// ErrOption is wrapped by every error of an option that only the encoder can judge, such as an
// unknown encoder or pixel format.
var ErrOption = contract.NewClass(contract.ExitUsage, "option not understood")

// ErrDamaged is wrapped by the errors of Verify: the file is finished and wrong.
var ErrDamaged = contract.NewClass(contract.ExitDamaged, "output not verified")

// misused returns an error that wraps ErrOption.
func misused(advice, format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...), advice, ErrOption)
}

// PartsErrorf says why parts cannot be joined to a video.
func PartsErrorf(format string, args ...any) error {
	return hint.Errorf("make all parts with the same options, of one source, or filter it whole", "join: "+format, args...)
}
