package av

//#include <stdlib.h>
//#include <libavutil/timecode.h>
import "C"

import (
	"unsafe"

	"github.com/asticode/go-astiav"
)

// LaterTimecode returns the timecode of SMPTE ST 12-1, as FFmpeg writes it ("01:02:03:04", with ;
// before the last number if numbers are dropped), so many pictures after another; "" if that is
// none at this rate, or if it would be before 0.
func LaterTimecode(code string, rate astiav.Rational, pictures int) string {
	text := C.CString(code)
	defer C.free(unsafe.Pointer(text))
	var clock C.AVTimecode
	if rate.Num() <= 0 || rate.Den() <= 0 || C.av_timecode_init_from_string(&clock, C.AVRational{C.int(rate.Num()), C.int(rate.Den())}, text, nil) < 0 ||
		int(clock.start)+pictures < 0 {
		return ""
	}
	var later [C.AV_TIMECODE_STR_SIZE]C.char
	return C.GoString(C.av_timecode_make_string(&clock, &later[0], C.int(pictures)))
}
