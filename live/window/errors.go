package window

import (
	"fmt"

	"vidfilter/internal/contract"
)

// ErrWindow is wrapped by all errors of SDL or the desktop.
var ErrWindow = contract.NewClass(contract.ExitDevice, "no window")

// Error is an error of SDL or the desktop. It wraps ErrWindow.
type Error struct{ text, hint string }

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return ErrWindow }

// Hint tells how to go on, or is "".
func (e *Error) Hint() string { return e.hint }

const (
	hintInstall = "install SDL 2 (Debian, Ubuntu: apt install libsdl2-2.0-0), or leave --window out and look at the page"
	hintDisplay = "run it in a terminal of the desktop, or leave --window out and look at the page, which can be reached by ssh -L"
	hintDriver  = "SDL_RENDER_DRIVER=software draws without the GPU's driver"
)

// sdlError reports a call that SDL failed for the reason why.
func sdlError(hint, why, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...) + ": " + why, hint}
}
