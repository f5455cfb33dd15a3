package video

import (
	"fmt"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
)

// ErrOption is wrapped by every error of an option that only the encoder can judge, such as an
// unknown encoder or pixel format.
var ErrOption = contract.NewClass(contract.ExitUsage, "option not understood")

// misused returns an error that wraps ErrOption.
func misused(advice, format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...), advice, ErrOption)
}
