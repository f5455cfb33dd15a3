package decode

//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
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
	if err := in.tooLarge(int(width), int(height), format); err != nil {
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

// damaged reports whether the decoder concealed errors.
func damaged(c *C.AVFrame) bool {
	return c.flags&C.AV_FRAME_FLAG_CORRUPT != 0 || c.decode_error_flags != 0
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
	t := toMicros(pts, in.video.TimeBase())
	if in.opts.Start > 0 && t < 0 {
		return false, nil
	}
	if in.opts.Duration > 0 && t >= in.zero()+in.opts.Duration.Microseconds() {
		return false, errPastEnd
	}
	return true, nil
}

// describe returns the format of a picture or, if no layout holds it, the one that it is converted
// to.
func (d *decoder) describe(c *C.AVFrame) (f pipeline.Format, native bool) {
	pf := astiav.PixelFormat(c.format)
	layout, full, native := av.LayoutOf(pf)
	if native = native && d.takes(layout); !native {
		var lost string
		layout, lost = av.NearestLayout(pf, d.takes)
		if d.seen != pf {
			d.seen = pf
			if lost != "" {
				d.told.Add(fidelity.Video, "", "depth")
				lost = "; " + lost
			}
			d.warn("%s is converted to %s for the filter%s", pf, layout, lost)
		}
	}
	f = pipeline.Format{Layout: layout, Width: int(c.width), Height: int(c.height)}
	if layout.Info().RGB {
		f.FullRange = true
		return f, native
	}
	f.FullRange = full || c.color_range == C.AVCOL_RANGE_JPEG || av.IsGray(pf) && c.color_range != C.AVCOL_RANGE_MPEG
	f.Matrix = av.MatrixOf(int(c.colorspace), f.Height)
	return f, native
}

// build makes a frame in d.format from the picture just received, whose format is src and which
// may be empty afterwards. native means that the formats are alike and the samples need no
// conversion.
func (d *decoder) build(c *C.AVFrame, src pipeline.Format, native bool) (*pipeline.Frame, error) {
	pts, duration := int64(c.pts), int64(c.duration)
	quantiser := d.found.steps.quantiser(c) // before its table is copied
	interlaced, topFirst := c.flags&C.AV_FRAME_FLAG_INTERLACED != 0, c.flags&C.AV_FRAME_FLAG_TOP_FIELD_FIRST != 0
	grain, seed := av.FilmGrain(unsafe.Pointer(c))
	f, err := d.fill(c, src, native)
	if err != nil {
		return nil, err
	}
	if f, err = d.deepen(f); err != nil {
		return nil, err
	}
	f.PTS, f.Duration = pts, duration
	f.Interlaced, f.TopFieldFirst, f.Quantiser = interlaced, topFirst, quantiser
	f.Grain, f.GrainSeed = grain, seed
	return f, nil
}

func (d *decoder) fill(c *C.AVFrame, src pipeline.Format, native bool) (*pipeline.Frame, error) {
	props := av.PropsOf(d.frame)
	if props == nil {
		return nil, fmt.Errorf("decode %s: out of memory", d.path)
	}
	d.found.describe(props, c, d.dec.Framerate())
	if d.format.Layout != pipeline.RGBA { // whose alpha is among its samples
		if err := props.KeepAlpha(d.frame, d.format); err != nil {
			props.Release()
			return nil, fmt.Errorf("decode %s: alpha: %w", d.path, err)
		}
	}
	if f := d.taken; f != nil {
		d.taken = nil
		f.SetProps(props)
		return f, nil
	}
	if native && C.vf_is_direct(c) != 0 {
		return d.direct(c, props)
	}
	f, err := d.pool.TakeFrame(d.format, props)
	if err != nil {
		props.Release()
		return nil, err
	}
	if native {
		d.Copied++
		for i := range f.NumPlanes() {
			copyPlane(f, c, i)
		}
		return f, nil
	}
	d.Converted++
	if src == d.format && copyComponents(f, c) {
		return f, nil
	}
	if err := d.scaler.Convert(f, d.frame, src.Matrix, src.FullRange); err != nil {
		f.Release()
		return nil, fmt.Errorf("decode %s: convert to %v: %w", d.path, d.format, err)
	}
	return f, nil
}

// direct passes on the decoder's own buffer without a copy.
func (d *decoder) direct(c *C.AVFrame, props *av.Props) (*pipeline.Frame, error) {
	own := astiav.AllocFrame()
	if own == nil {
		props.Release()
		return nil, fmt.Errorf("decode %s: out of memory", d.path)
	}
	var planes [4]pipeline.Plane
	for i := range d.format.NumPlanes() {
		w, rows := d.format.PlaneSize(i)
		pitch := int(c.linesize[i])
		planes[i] = pipeline.Plane{Data: unsafe.Slice((*byte)(c.data[i]), pitch*(rows-1)+w), Pitch: pitch}
	}
	own.MoveRef(d.frame)
	return pipeline.NewFrame(d.format, planes, props, own.Free), nil
}

// current makes a frame of the picture's own format, which may change in mid-stream.
func (d *decoder) current(c *C.AVFrame) (*pipeline.Frame, error) {
	if err := d.tooLarge(int(c.width), int(c.height), astiav.PixelFormat(c.format)); err != nil {
		return nil, err
	}
	src, native := d.describe(c)
	d.format = src
	return d.build(c, src, native)
}

// copyPlane copies a plane in the decoder's own memory, whose rows may run upwards.
func copyPlane(f *pipeline.Frame, c *C.AVFrame, i int) {
	w, rows := f.PlaneSize(i)
	for y := range rows {
		copy(f.Row(i, y), unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.data[i]), y*int(c.linesize[i]))), w))
	}
}

// copyComponents copies the samples of a picture without colour, or of RGB into planes, if only
// their places differ: swscale rounds some, and stretches the range of gray. It returns false for
// other pictures.
func copyComponents(f *pipeline.Frame, c *C.AVFrame) bool {
	info := f.Layout.Info()
	components := 1
	if info.RGB {
		components = 3
	}
	if info.Samples > 1 || C.vf_has_components(C.int(c.format), C.int(components), C.int(info.Depth)) == 0 {
		return false
	}
	for i := range components {
		to := f.Planes[i]
		if info.RGB {
			to = f.Planes[(i+2)%3]
		}
		if !av.CopyComponent(unsafe.Pointer(c), i, to) {
			return false
		}
	}
	for i := components; i < f.NumPlanes(); i++ {
		data := f.Planes[i].Data
		for b := 0; b < len(data); b += info.SampleBytes() {
			if info.Depth == 8 {
				data[b] = 128
			} else {
				binary.LittleEndian.PutUint16(data[b:], 1<<(info.Depth-1))
			}
		}
	}
	return true
}
