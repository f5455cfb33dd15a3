package decode

//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// otherCodec is how many packets in a row must fail after a program changed, before its video is
// taken to be in another codec.
const otherCodec = 20

// decodeError counts an error and gives up if there are too many.
func (in *Input) decodeError(err error) error {
	if in.device.lost() {
		return err
	}
	const enough = 8
	if av.Errno(err) == int(C.ENOMEM) {
		// A damaged packet may ask for absurd amounts; if all do, memory has really run out.
		if in.starved++; in.starved > enough {
			return av.OfShortage(err, fmt.Errorf("decode %s: %w", in.path, err))
		}
	}
	if !in.begun() {
		return nil
	}
	in.failed++
	in.damage.DecodeErrors++
	if in.failedInRow++; in.failedInRow >= otherCodec && in.tableChanged(in.packets-in.failedInRow) && !in.videoLost {
		in.loseVideo()
		return nil
	}
	if errors.Is(err, astiav.ErrPatchwelcome) {
		in.unsupported++
	}
	const enoughToJudge = 50
	if in.packets >= enoughToJudge {
		return in.tooDamaged()
	}
	return nil
}

// undecodable is the error of a video of which no packet can be decoded: no tolerance helps.
func (in *Input) undecodable() *Error {
	e := &Error{Op: "decode", Path: in.path}
	switch codec := in.codec.Name(); {
	case in.encrypted():
		return in.encryptedError()
	case in.unsupported > 0:
		e.Err = fmt.Errorf("FFmpeg cannot decode this kind of %s", codec)
	default:
		e.Err = fmt.Errorf("none of the first %d packets can be decoded as %s: they are damaged, encrypted, or of a kind that FFmpeg does not know", in.packets, codec)
	}
	return e
}

// beginsEncrypted is the error of an encrypted packet. Those before it may be clear.
func (in *Input) beginsEncrypted() error {
	e := in.encryptedError()
	if in.emitted > 0 {
		at := time.Duration(in.last-in.window().zero) * time.Microsecond
		e.Err = fmt.Errorf("the video is encrypted from %v on", at.Round(time.Millisecond))
		e.hint = fmt.Sprintf("--duration %v takes what is before, or decrypt it with its key first", at.Truncate(time.Millisecond))
	}
	return e
}

func (in *Input) tooDamaged() error {
	if in.opts.MaxErrorRate <= 0 && in.failed == 0 || in.packets == 0 {
		return nil
	}
	if rate := float64(in.failed) / float64(in.packets); rate > in.opts.MaxErrorRate {
		err := &Error{Op: "decode", Path: in.path,
			Err:  fmt.Errorf("%d of %d packets are damaged, more than --max-error-rate %g allows", in.failed, in.packets, in.opts.MaxErrorRate),
			hint: "give a higher --max-error-rate to take what can be read"}
		if in.decoded == 0 {
			err = in.undecodable()
		}
		return cmp.Or(av.OfShortage(nil, err), error(err))
	}
	return nil
}

// loseVideo leaves out the rest of a video that continues in another codec under the same PID.
func (in *Input) loseVideo() {
	in.videoLost = true
	in.failed -= in.failedInRow // these packets are not damaged
	in.damage.LateStreams++
	in.warn("the video goes on from %.3f s in another codec: that part is left out; filter it as a file of its own", float64(in.last)/float64(second))
}

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
	if in.framed(in.interlaced) && !in.skipping {
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

// endPart checks a part after its last frame.
func (in *Input) endPart() error {
	in.eof = true
	if in.interrupted() {
		return io.EOF
	}
	p := in.opts.Part
	for _, c := range []struct {
		n int64
		Span
	}{{in.emitted, p.Span}, {in.emitted + in.context, p.Read()}} {
		if c.n != c.Frames {
			return in.partError("%d frames lie in %d:%d instead of %d", c.n, c.Start, c.End, c.Frames)
		}
	}
	return io.EOF
}
