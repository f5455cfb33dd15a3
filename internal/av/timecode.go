package av

//#include <stdlib.h>
//#include <libavutil/timecode.h>
import "C"

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// LaterTimecode returns the timecode of SMPTE ST 12-1, as FFmpeg writes it ("01:02:03:04", with ;
// before the last number if numbers are dropped), a number of pictures after another, or "" for an
// invalid one at this rate, or before 0.
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

// TimecodeAt returns the timecode at another rate of pictures that shows the time of one, or "" if
// that is invalid, or has none at that rate.
func TimecodeAt(code string, from, to astiav.Rational) string {
	at := strings.LastIndexAny(code, ":;.")
	picture, err := strconv.Atoi(code[at+1:])
	if at < 0 || err != nil || from.Num() <= 0 || from.Den() <= 0 || to.Num() <= 0 || to.Den() <= 0 {
		return ""
	}
	nominal := func(r astiav.Rational) int { return (r.Num() + r.Den()/2) / r.Den() }
	return LaterTimecode(fmt.Sprintf("%s%02d", code[:at+1], picture*nominal(to)/max(1, nominal(from))), to, 0)
}
