package decode

//#include "glue.h"
import "C"

import (
	"errors"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
	"vidfilter/pipeline"
)

// videoReader reads the frames of a container's video.
type videoReader struct {
	logger
	demuxer
	videoDecoder
	properties
	times timeline
}

// properties are the video's, as they have come so far.
type properties struct {
	extras   av.Extras
	pictured fidelity.Seen
	first    atomic.Pointer[fidelity.Look] // of the first frame
}

// Extras returns the properties of the video, found up to the last frame, that the filter does not
// keep.
func (p *properties) Extras() []string { return slices.Clone(p.extras) }

// Look returns the first frame's description of the pictures, nil before it. It may be called from
// any goroutine.
func (p *properties) Look() *fidelity.Look { return p.first.Load() }

var errPastEnd = errors.New("past the end of the part asked for")

// convert turns the decoder's picture into a frame: without a copy if it is in the pool's memory
// and in a layout of ours, else copied or converted. It returns nil for a picture before the
// start.
func (v *videoReader) convert() (*pipeline.Frame, error) {
	c := (*C.AVFrame)(v.frame.UnsafePointer())
	format := astiav.PixelFormat(c.format)
	if v.device != nil {
		format = v.device.format
	}
	width, height := C.size_t(c.width)-c.crop_left-c.crop_right, C.size_t(c.height)-c.crop_top-c.crop_bottom
	if err := tooLarge(v.path, v.maxPixels, 0, int(width), int(height), format); err != nil {
		return nil, err
	}
	pts, duration := int64(c.best_effort_timestamp), int64(c.duration)
	if v.opts.Part != nil {
		pts = int64(c.pts)
	}
	if !v.times.started {
		v.groups.decoded(c, pts)
	}
	switch wanted, err := v.wanted(pts, c.flags&C.AV_FRAME_FLAG_KEY != 0); {
	case err != nil:
		return nil, err
	case v.device != nil && concealed(c) && (wanted || v.reports.keyedBy(pts)):
		return nil, fallbackReason{errDamage}
	case !wanted:
		return nil, nil
	}
	if v.device != nil {
		if err := v.takeSurface(c); err != nil {
			return nil, err
		}
	}
	if concealed(c) {
		v.damage.DamagedFrames++
	}
	v.interlaced = v.interlaced || c.flags&C.AV_FRAME_FLAG_INTERLACED != 0
	v.gaps.video(pts)
	start := ""
	if !v.times.started {
		start = v.groups.timecode(pts, v.video.TimeBase(), v.FrameRate())
		v.groups = groups{}
	}
	v.extras.AddFrame(unsafe.Pointer(c))
	v.tagPicture(c)
	v.pictured.Picture(unsafe.Pointer(c), slices.Contains(v.extras, av.Alpha))
	pts, duration = v.times.stamp(pts, duration)
	src, native := v.describe(c)
	video := v.sharedBy(v.videoOf(c))
	if v.format == (pipeline.Format{}) {
		v.format, v.formatAt = src, pts
	}
	if src != v.format && src != v.latest {
		v.damage.FormatChanges++
		if v.damage.FormatChanges == 1 {
			v.warnChange(src, pts)
		}
	}
	v.latest = src
	f, err := v.build(c, src, native && src == v.format)
	if err != nil {
		return nil, err
	}
	f.Video = video
	if p, ok := f.Props().(*av.Props); ok {
		p.Timecode = start
		if err := v.addStated(p); err != nil {
			f.Release()
			return nil, err
		}
	}
	f.PTS, f.Duration = pts, duration
	f.Context = v.opts.Part != nil && !v.opts.Part.Holds(pts)
	if o := v.opts.FieldOrder; o != FieldAuto {
		f.Interlaced, f.TopFieldFirst = o != Progressive, o == TopFieldFirst
	}
	if v.first.Load() == nil {
		v.first.Store(fidelity.LookOf(f))
	}
	return f, nil
}

func (v *videoReader) warnChange(to pipeline.Format, pts int64) {
	at := text.Seconds(float64(pts-v.formatAt) * v.video.TimeBase().Float64())
	if from := v.format; to.Layout == from.Layout && to.Width == from.Width && to.Height == from.Height {
		v.warn("the colour matrix or range changes in mid-stream, from %s on; pictures are converted to those at the start", at)
		return
	}
	v.warn("the picture changes to %v in mid-stream, from %s on; it is converted to %v as at the start", to, at, v.format)
}

// window returns the part of the video that Start and Duration ask for.
func (v *videoReader) window() window {
	w := window{v.clock.mainFrom + v.clock.shift, math.MinInt64, math.MaxInt64}
	if v.opts.Start > 0 {
		w.zero, w.start = 0, 0
	}
	if v.opts.Duration > 0 {
		w.end = w.zero + v.opts.Duration.Microseconds()
	}
	return w
}

// wanted applies --start and --duration; times already count from the start. Frames outside are no
// context: a filter treats the cut as a video's end.
func (v *videoReader) wanted(pts int64, key bool) (bool, error) {
	if v.opts.Part != nil {
		return v.wantedPart(pts)
	}
	if pts == av.NoPTS {
		return true, nil
	}
	switch t, w := toMicros(pts, v.video.TimeBase()), v.window(); {
	case t < w.start && !(v.opts.FromKey && (key || v.times.started)):
		return false, nil
	case t >= w.end:
		return false, errPastEnd
	}
	return true, nil
}

// wantedPart is wanted for a part, in whole numbers without rounding to microseconds.
func (v *videoReader) wantedPart(pts int64) (bool, error) {
	all := v.opts.Part.Read()
	switch {
	case pts == av.NoPTS:
		return false, v.partError("a frame has no time")
	case pts < all.Start:
		return false, nil
	case pts >= all.End:
		return false, errPastEnd
	case v.times.started && pts <= v.times.last:
		return false, v.partError("the frame at %d comes behind the one at %d", pts, v.times.last)
	}
	return true, nil
}

// endPart checks a part after its last frame.
func (v *videoReader) endPart() error {
	v.eof = true
	if v.interrupted() {
		return io.EOF
	}
	p := v.opts.Part
	for _, c := range []struct {
		n int64
		Span
	}{{v.emitted, p.Span}, {v.emitted + v.around, p.Read()}} {
		if c.n != c.Frames {
			return v.partError("%d frames lie in %d:%d instead of %d", c.n, c.Start, c.End, c.Frames)
		}
	}
	return io.EOF
}

// Damage returns the faults found so far, all of them after Next has returned io.EOF.
func (v *videoReader) Damage() Damage {
	d := v.damage
	d.LateStreams += v.late
	d.MissingPackets += v.cutOff
	d.MissingTimes, d.RepairedTimes = v.times.missing, v.times.repaired
	d.DemuxerReports, d.DecoderReports = v.reports.fromDemuxer.Load(), v.reports.fromDecoder.Load()
	d.LostReferences = v.numbers.Missing(v.reports.gapBefore)
	if v.opts.Start == 0 && v.opts.Part == nil { // else a seek may lead there
		d.EarlyFrames = v.reports.unkeyedFrames()
	}
	return d
}
