package decode

//#include "glue.h"
import "C"

import (
	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// checkComplete compares the packets read with the container's promises, and counts the missing
// parts.
func (in *Input) checkComplete() {
	if in.opts.Start > 0 || in.opts.Duration > 0 || in.opts.Frames > 0 || in.interrupted() {
		return
	}
	fc := (*C.AVFormatContext)(av.FormatPtr(in.fc))
	c := in.form
	if c.indexed {
		promised := int64(C.avformat_index_get_entries_count(in.stream(in.video.Index())))
		in.damage.MissingPackets = max(0, promised-in.packets)
	}
	in.damage.MissingBytes = missingBytes(in.path)
	in.checkEnding(in.payload, &in.damage)
	in.checkTimes(c)
	if in.framed(c) && !in.skipping {
		in.damage.LostFrames = max(0, in.due-in.decoded-in.Damage().EarlyFrames)
	}
	if c.dense && !in.leavesOut() {
		in.damage.Breaks += in.holes
	}
	if in.leavesOut() || fc.duration <= 0 || fc.duration_estimation_method != C.AVFMT_DURATION_FROM_STREAM && fc.duration_estimation_method != C.AVFMT_DURATION_FROM_PTS ||
		in.clock.end == av.NoPTS {
		return
	}
	// Headers give the time of the end, NUT's index the time of the last frame; FFmpeg's own
	// estimate is a length.
	promised, slack := int64(fc.duration), max(second, int64(fc.duration)/50)
	if c.lastTime > 0 {
		slack = c.lastTime
	} else if c.lastEnd > 0 && in.frames(1) > 0 {
		slack = in.frames(c.lastEnd)
	} else if fc.duration_estimation_method == C.AVFMT_DURATION_FROM_PTS && fc.start_time != C.AV_NOPTS_VALUE {
		promised += int64(fc.start_time)
	}
	missing := promised - in.clock.end
	if missing > slack {
		in.damage.MissingSeconds = float64(missing) / float64(second)
	}
}

// frames returns the length of n frames, 0 if the rate is unknown.
func (in *Input) frames(n float64) int64 {
	if rate := in.FrameRate().Float64(); rate > 0 {
		return int64(n / rate * float64(second))
	}
	return 0
}

// framed reports whether each packet of the video makes one frame. Elsewhere a packet may be a
// field, or a frame left out where a video was cut.
func (in *Input) framed(c container) bool {
	id := in.video.CodecParameters().CodecID()
	switch id {
	case astiav.CodecIDH264:
		return c.framed || c.samples && !in.interlaced
	case astiav.CodecIDMpeg4, astiav.CodecIDH263, astiav.CodecIDFlv1, astiav.CodecIDMsmpeg4V2, astiav.CodecIDMsmpeg4V3, astiav.CodecIDDirac:
		return c.framed || c.samples
	}
	return !in.clock.jumpy && intraOnly(id)
}

// checkTimes looks for gaps. They are no damage if the container has a length for each frame, or
// leaves out frames by design, and an index lists all there are.
func (in *Input) checkTimes(c container) {
	if indexed := in.promised >= in.packets; c.untimed || indexed {
		return
	}
	in.gaps.strict = c.strict
	in.damage.TimeGaps = in.gaps.count(func(t int64) int64 { return toMicros(t, in.video.TimeBase()) }, in.clock.joints)
	anywhere := in.clock.jumpy || in.times.untimed
	if usual := in.gaps.usual(); !anywhere && in.begin != av.NoPTS && 2*(in.gaps.first-in.begin) > 3*usual && usual > 0 {
		in.damage.TimeGaps++ // the first frames of the file are not shown
	}
}
