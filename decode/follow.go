package decode

import (
	"context"
	"slices"
)

// Follow reads on without decoding until the video reaches the frame with the given PTS, in the
// stream's unit, and returns that frame's duration. Other packets are passed on as by Next. A
// PartError means that the video has no such frame, or is past it. Track must have been called.
//
// After Track(true), pts is in half units. A time without a frame then belongs to a picture between
// frames and is not an error. All durations are 0, since a picture's duration is not its frame's.
func (in *Input) Follow(ctx context.Context, pts int64) (duration int64, err error) {
	in.opts.undecoded = true
	between := false
	if in.halves {
		between, pts = pts%2 != 0, pts>>1
	}
	for {
		d, ok := in.tracked[pts]
		// Packets that belong beside the frame may follow it in the file.
		reached := in.eof || in.reached > pts+2*in.times.second
		if in.halves && reached && (between || !ok) {
			return 0, in.pending.release(max(in.last, toMicros(pts, in.video.TimeBase())), in.onPacket)
		}
		if ok && reached {
			delete(in.tracked, pts)
			in.followed = append(in.followed, pts)
			if d <= 0 {
				d = in.times.step
			}
			in.emitted++
			in.last = max(in.last, toMicros(pts+d, in.video.TimeBase()))
			if in.halves {
				d = 0
			}
			return d, in.pending.release(in.last, in.onPacket)
		}
		switch {
		case in.eof && ctx.Err() == nil:
			return 0, in.partError("the source has no frame at %d", pts)
		case in.untimed && ctx.Err() == nil:
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
	in.opts.undecoded = true
	for !in.eof {
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
// called before the first frame is read. halves allows pictures between frames, as in Follow.
func (in *Input) Track(halves bool) {
	in.halves = halves
	in.opts.onVideo = in.track
	in.unwatch()
}
