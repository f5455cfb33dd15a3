package decode

//#include "glue.h"
import "C"

import "vidfilter/internal/av"

// zero returns the time of the output at which the wanted part begins, in microseconds.
func (in *Input) zero() int64 {
	if in.opts.Start > 0 {
		return 0
	}
	return in.clock.mainFrom + in.clock.shift
}

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
