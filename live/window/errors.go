package window

import (
	"errors"
	"fmt"

	"vidfilter/internal/hint"
)

// ErrWindow is wrapped by all errors of SDL or the desktop.
var ErrWindow = errors.New("no window")

const (
	hintInstall = "install SDL 2 (Debian, Ubuntu: apt install libsdl2-2.0-0), or leave --window out and look at the page"
	hintDisplay = "run it in a terminal of the desktop, or leave --window out and look at the page, which can be reached by ssh -L"
	hintDriver  = "SDL_RENDER_DRIVER=software draws without the GPU's driver"
)

// sdlError reports a call that SDL failed for the reason why.
func sdlError(advice, why, format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...)+": "+why, advice, ErrWindow)
}
