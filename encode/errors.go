package encode

import (
	"errors"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// ErrDamaged is wrapped by the errors of Verify: the file is finished and wrong.
var ErrDamaged = contract.NewClass(contract.ExitDamaged, "output not verified")

// ErrCut is wrapped by the error of a container that cannot hold the streams to be cut out.
var ErrCut = errors.New("the container cannot hold the streams")

// PartsErrorf says why parts cannot be joined to a video.
func PartsErrorf(format string, args ...any) error {
	return hint.Errorf("make all parts with the same options, of one source, or filter it whole", "join: "+format, args...)
}
