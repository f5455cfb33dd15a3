package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// seek sets the clock, and goes to the last key frame before the start. Frames in between are
// decoded and dropped, so the cut is exact. A pipe is read from its beginning.
func (in *Input) seek() error {
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	in.times.untimed = fc.iformat.flags&C.AVFMT_NOTIMESTAMPS != 0
	start := in.clock.mainFrom
	if in.opts.Part != nil {
		return in.seekPart()
	}
	if in.opts.Start <= 0 {
		in.ownClock(start, in.opts.KeepClock)
		return nil
	}
	start = max(start, 0) // audio may begin a little earlier
	target := start + in.opts.Start.Microseconds()
	in.clock.shift = -target
	target -= toMicros(in.edits.late[in.video.Index()], in.video.TimeBase())
	if in.forwards {
		return nil
	}
	in.ahead.drop()
	// Containers that seek by decode time need room for reordered frames.
	if fc.iformat.flags&C.AVFMT_SEEK_TO_PTS == 0 && in.stream(in.video.Index()).codecpar.video_delay > 0 {
		target -= 3 * second / 23
	}
	if !in.seekTo(target, in.pkt) {
		in.warn("the input cannot be seeked; it is read from its beginning up to --start")
	}
	return nil
}

// seekPart seeks to a key frame at or before all that is read from which decoding is exact, and
// sends it to the decoder. A demuxer that seeks by decode time may land too late, so later tries
// seek further back.
func (in *Input) seekPart() error {
	if in.cutFrom != nil {
		return nil // it begins there
	}
	if why := in.notSeekable(); why != "" {
		return in.partError("%s", why)
	}
	start, step := in.opts.Part.Read().Start, max(1, in.times.second)
	for try := range 12 {
		target := start
		if try > 0 {
			back := step << (2 * (try - 1))
			if target = start - back; target > start { // no overflow
				target = math.MinInt64 / 2
			}
		}
		if C.av_seek_frame((*C.AVFormatContext)(av.FormatPtr(in.fc)), C.int(in.video.Index()), C.int64_t(target), C.AVSEEK_FLAG_BACKWARD) < 0 {
			break
		}
		if ok, err := in.landed(false); ok || err != nil {
			return err
		}
	}
	first := in.stream(in.video.Index()).start_time
	if first != C.AV_NOPTS_VALUE && C.av_seek_frame((*C.AVFormatContext)(av.FormatPtr(in.fc)), C.int(in.video.Index()), first, C.AVSEEK_FLAG_BACKWARD) >= 0 {
		if ok, err := in.landed(true); ok || err != nil {
			return err
		}
	}
	return in.partError("there is no key frame at %d or before", start)
}

// landed reads the video packet that a seek led to and sends it on if decoding can begin there. At
// the first packet of the file, a key frame is enough: decoding the whole file begins there, too.
func (in *Input) landed(first bool) (bool, error) {
	for {
		if err := in.fc.ReadFrame(in.pkt); err != nil {
			if in.interrupted() {
				return false, &Error{Op: "read", Path: in.path, Err: errors.New("interrupted")}
			}
			return false, nil
		}
		if in.pkt.StreamIndex() == in.video.Index() {
			break
		}
		in.pkt.Unref()
	}
	defer in.pkt.Unref()
	exact := in.pkt.Flags().Has(astiav.PacketFlagKey) && (first || in.entry(in.pkt))
	if pts := in.pkt.Pts(); !exact || pts == av.NoPTS || pts > in.opts.Part.Read().Start {
		return false, nil
	}
	if !in.accept() {
		return false, nil
	}
	return true, in.send()
}
