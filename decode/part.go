package decode

//#include "glue.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
)

// Span and Range are what other processes name.
type (
	Span  = contract.Span
	Range = contract.Range
)

// PartError says that a part of a video, or parts together, are not as they were cut. It does not
// wrap ErrUnreadable: the same file may be filtered whole.
type PartError struct{ Path, What string }

func (e *PartError) Error() string { return fmt.Sprintf("part of %s: %s", e.Path, e.What) }

// Hint suggests a remedy.
func (e *PartError) Hint() string {
	return "vidfilter segments says how the file can be cut; filter it whole otherwise"
}

func (in *Input) partError(format string, args ...any) error {
	return &PartError{in.path, fmt.Sprintf(format, args...)}
}

// wantedPart is wanted for a part, in whole numbers without rounding to microseconds.
func (in *Input) wantedPart(pts int64) (bool, error) {
	all := in.opts.Part.Read()
	switch {
	case pts == av.NoPTS:
		return false, in.partError("a frame has no time")
	case pts < all.Start:
		return false, nil
	case pts >= all.End:
		return false, errPastEnd
	case in.times.started && pts <= in.times.last:
		return false, in.partError("the frame at %d comes behind the one at %d", pts, in.times.last)
	}
	return true, nil
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

// Follow reads on without decoding until the video reaches the frame with the given PTS, in the
// stream's unit, and returns that frame's duration. Other packets are passed on as by Next. A
// PartError means that the video has no such frame, or is past it. Track must have been called.
func (in *Input) Follow(ctx context.Context, pts int64) (duration int64, err error) {
	in.skipping = true
	for {
		d, ok := in.tracked[pts]
		// Packets that belong beside the frame may follow it in the file.
		if ok && (in.eof || in.reached > pts+2*in.times.second) {
			delete(in.tracked, pts)
			in.followed = append(in.followed, pts)
			if d <= 0 {
				d = in.times.step
			}
			in.emitted++
			in.last = max(in.last, toMicros(pts+d, in.video.TimeBase()))
			return d, in.pending.release(in.last, in.onPacket)
		}
		switch {
		case ctx.Err() != nil:
			return 0, context.Cause(ctx)
		case in.eof:
			return 0, in.partError("the source has no frame at %d", pts)
		case in.untimed:
			return 0, in.partError("the source has frames without a time, or two with the same")
		}
		if err := in.feed(ctx); err != nil {
			return 0, err
		}
	}
}

// Rest reads to the end, passes the other packets on and returns io.EOF. It returns a PartError if
// the video has frames that Follow was not asked for.
func (in *Input) Rest(ctx context.Context) error {
	in.skipping = true
	for !in.eof {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := in.feed(ctx); err != nil {
			return err
		}
	}
	if in.untimed {
		return in.partError("the source has frames without a time, or two with the same")
	}
	if n := len(in.tracked); n > 0 {
		return in.partError("%d frames of the source are in no part", n)
	}
	slices.Sort(in.followed)
	for _, pts := range in.followed {
		if pts > in.gaps.last || in.gaps.frames == 0 { // the first was decoded
			in.gaps.video(pts)
		}
	}
	return in.finish()
}

// Track keeps the video's times for Follow, which goes on when the context of Open ends. It must be
// called before the first frame is read.
func (in *Input) Track() {
	in.tracks = true
	in.unwatch()
}

// track records the frame of a video packet just read.
func (in *Input) track() {
	if !in.tracks || in.pkt.Flags().Has(astiav.PacketFlagDiscard) {
		return
	}
	pts := in.pkt.Pts()
	if _, twice := in.tracked[pts]; twice || pts == av.NoPTS {
		in.untimed = true
		return
	}
	in.tracked[pts] = in.pkt.Duration()
	in.reached = max(in.reached, pts)
}

// ParseRange reads START:END:FRAMES of a part, followed by the same of all around it, if any.
func ParseRange(s string) (Range, error) {
	f := strings.Split(s, ":")
	if len(f) != 3 && len(f) != 6 {
		return Range{}, errors.New("not START:END:FRAMES, once or twice")
	}
	var n [6]int64
	for i := range f {
		var err error
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return Range{}, errors.New("not whole numbers")
		}
	}
	r := Range{Span: Span{Start: n[0], End: n[1], Frames: n[2]}, Around: Span{Start: n[3], End: n[4], Frames: n[5]}}
	if r.Start >= r.End || r.Frames <= 0 || r.Start == av.NoPTS {
		return Range{}, errors.New("an empty part")
	}
	if all := r.Read(); !all.Covers(r.Span) || all.Start == av.NoPTS {
		return Range{}, errors.New("the part is not within what is around it")
	}
	return r, nil
}
