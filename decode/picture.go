package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
	"vidfilter/pipeline"
)

var errPastEnd = errors.New("past the end of the part asked for")

// convert turns the decoder's picture into a frame: without a copy if it is in the pool's memory
// and in a layout of ours, else copied or converted. It returns nil for a picture before the
// start.
func (in *Input) convert() (*pipeline.Frame, error) {
	c := (*C.AVFrame)(in.frame.UnsafePointer())
	format := astiav.PixelFormat(c.format)
	if in.device != nil {
		format = in.device.format
	}
	width, height := C.size_t(c.width)-c.crop_left-c.crop_right, C.size_t(c.height)-c.crop_top-c.crop_bottom
	if err := tooLarge(in.path, in.maxPixels, int(width), int(height), format); err != nil {
		return nil, err
	}
	pts, duration := int64(c.best_effort_timestamp), int64(c.duration)
	if in.opts.Part != nil {
		pts = int64(c.pts)
	}
	if !in.times.started {
		in.groups.decoded(c, pts)
	}
	switch wanted, err := in.wanted(pts); {
	case err != nil:
		return nil, err
	case in.device != nil && damaged(c) && (wanted || in.reports.keyedBy(pts)):
		return nil, doubt{errDamage}
	case !wanted:
		return nil, nil
	}
	if in.device != nil {
		if err := in.takeSurface(c); err != nil {
			return nil, err
		}
	}
	if damaged(c) {
		in.damage.DamagedFrames++
	}
	in.interlaced = in.interlaced || c.flags&C.AV_FRAME_FLAG_INTERLACED != 0
	in.gaps.video(pts)
	start := ""
	if !in.times.started {
		start = in.groups.timecode(pts, in.video.TimeBase(), in.FrameRate())
		in.groups = groups{}
	}
	in.extras.AddFrame(unsafe.Pointer(c))
	in.tagPicture(c)
	in.pictured.Picture(unsafe.Pointer(c), slices.Contains(in.extras, av.Alpha))
	pts, duration = in.times.stamp(pts, duration)
	src, native := in.describe(c)
	video := in.sharedBy(in.videoOf(c))
	if in.format == (pipeline.Format{}) {
		in.format, in.formatAt = src, pts
	}
	if src != in.format && src != in.latest {
		in.damage.FormatChanges++
		if in.damage.FormatChanges == 1 {
			in.warnChange(src, pts)
		}
	}
	in.latest = src
	f, err := in.build(c, src, native && src == in.format)
	if err != nil {
		return nil, err
	}
	f.Video = video
	if p, ok := f.Props().(*av.Props); ok {
		p.Timecode = start
		if err := in.addStated(p); err != nil {
			f.Release()
			return nil, err
		}
	}
	f.PTS, f.Duration = pts, duration
	f.Context = in.opts.Part != nil && !in.opts.Part.Holds(pts)
	if o := in.opts.FieldOrder; o != FieldAuto {
		f.Interlaced, f.TopFieldFirst = o != Progressive, o == TopFieldFirst
	}
	if in.first.Load() == nil {
		in.first.Store(fidelity.LookOf(f))
	}
	return f, nil
}

func (in *Input) warnChange(to pipeline.Format, pts int64) {
	at := text.Seconds(float64(pts-in.formatAt) * in.video.TimeBase().Float64())
	if from := in.format; to.Layout == from.Layout && to.Width == from.Width && to.Height == from.Height {
		in.warn("the colour matrix or range changes in mid-stream, from %s on; pictures are converted to those at the start", at)
		return
	}
	in.warn("the picture changes to %v in mid-stream, from %s on; it is converted to %v as at the start", to, at, in.format)
}

// wanted applies --start and --duration; times already count from the start. Frames outside are
// not given as context: nothing is joined there, and a filter treats the cut as a video's end.
func (in *Input) wanted(pts int64) (bool, error) {
	if in.opts.Part != nil {
		return in.wantedPart(pts)
	}
	if pts == av.NoPTS {
		return true, nil
	}
	switch t, w := toMicros(pts, in.video.TimeBase()), in.window(); {
	case t < w.start:
		return false, nil
	case t >= w.end:
		return false, errPastEnd
	}
	return true, nil
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
