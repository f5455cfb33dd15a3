package window

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "sdl.h"
import "C"

import (
	"os"
	"strings"
	"unsafe"
)

// library is SDL's name on every Linux.
const library = "libSDL2-2.0.so.0"

// event is vf_event in C.
type event struct {
	kind                  uint32 // one of the C.VF_ constants
	window                int
	key, mods             int
	repeat                bool
	x, y, dx, dy, buttons int
}

// wait returns the next event, or nil after the given number of milliseconds.
func wait(milliseconds int) *event {
	var c C.struct_vf_event
	if C.vf_wait(&c, C.int(milliseconds)) == 0 {
		return nil
	}
	return &event{
		kind: uint32(c._type), window: int(c.kind), key: int(c.key), mods: int(c.mods), repeat: c.repeat != 0,
		x: int(c.x), y: int(c.y), dx: int(c.dx), dy: int(c.dy), buttons: int(c.buttons),
	}
}

// push queues an event, from any goroutine, while SDL is initialized. A full queue does not
// matter: the window's thread wakes up anyway.
func push(e event) {
	c := C.struct_vf_event{
		_type: C.uint32_t(e.kind), kind: C.int(e.window), key: C.int(e.key), mods: C.int(e.mods),
		x: C.int(e.x), y: C.int(e.y), dx: C.int(e.dx), dy: C.int(e.dy), buttons: C.int(e.buttons),
	}
	if e.repeat {
		c.repeat = 1
	}
	C.vf_push(&c)
}

// start loads and initializes SDL; C.sdl_Quit ends it.
func start(library string) error {
	name := C.CString(library)
	defer C.free(unsafe.Pointer(name))
	if why := C.vf_sdl_load(name); why != nil {
		return notLoaded(C.GoString(why))
	}
	if !hasDisplay() {
		return &Error{"no display: neither DISPLAY nor WAYLAND_DISPLAY is set", hintDisplay}
	}
	hint("SDL_NO_SIGNAL_HANDLERS", "1") // Ctrl-C is the program's
	hint("SDL_APP_NAME", "vidfilter")
	hint("SDL_RENDER_SCALE_QUALITY", "linear")
	if C.sdl_Init(C.VF_INIT_VIDEO) != 0 {
		return sdlError(hintDisplay, lastError(), "no display")
	}
	if driver := videoDriver(); os.Getenv(chosenDriver) == "" && driver != "x11" && driver != "wayland" {
		C.sdl_Quit()
		return &Error{"no display: DISPLAY or WAYLAND_DISPLAY is set, but nothing answers there", hintDisplay}
	}
	return nil
}

// chosenDriver is SDL's environment variable for another display than the desktop's.
const chosenDriver = "SDL_VIDEODRIVER"

func videoDriver() string { return C.GoString(C.sdl_GetCurrentVideoDriver()) }

// notLoaded distinguishes a machine without SDL from one with a broken SDL.
func notLoaded(why string) error {
	if strings.Contains(why, "cannot open shared object file: No such file") {
		return &Error{"SDL 2 is not installed: there is no " + library, hintInstall}
	}
	return &Error{"SDL 2 does not load: " + why, hintInstall}
}

// hasDisplay reports whether there may be a desktop. Without one SDL would take over the console,
// which somebody else may be using, or draw invisibly.
func hasDisplay() bool {
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", chosenDriver} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

func lastError() string { return C.GoString(C.sdl_GetError()) }

func hint(name, value string) {
	n, v := C.CString(name), C.CString(value)
	defer C.free(unsafe.Pointer(n))
	defer C.free(unsafe.Pointer(v))
	C.sdl_SetHint(n, v)
}

func rect(r box) C.vf_rect { return C.vf_rect{C.int(r.x), C.int(r.y), C.int(r.w), C.int(r.h)} }
