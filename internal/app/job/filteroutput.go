package job

import (
	"context"
	"errors"
	"fmt"

	"vidfilter/internal/cli"
	"vidfilter/internal/fidelity"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// filterOutput describes the pictures that the job's filters make of the input's, by its header.
type filterOutput struct {
	width, height int
	depth         int    // 0: that of the input
	progressive   bool   // frames that may be interlaced are not any more
	hdr           bool   // the transfer function is another
	retimed       string // how the times of frames change; "": not at all, except as by halves
	halves        bool   // the time base is halved, with second fields' pictures between frames
	changed       string // what makes pictures unlike those of the input; "": they are alike
}

// retimes says that frames have other times, or are others.
const retimes = "the filters change the times of frames"

// around are the job's filters beside the main one, which changes neither the size of pictures nor
// their times.
func (o *Options) around() (some []kernels.Stage) {
	for _, s := range o.filters() {
		if s.Filter().Place != kernels.PlaceMain {
			some = append(some, s)
		}
	}
	return some
}

// through returns what the filters around the main one make of a frame, which it takes: the first
// result, or nil, and whether there are more.
func (j *job) through(ctx context.Context, f *pipeline.Frame) (first *pipeline.Frame, more bool, err error) {
	stages := j.o.around()
	if len(stages) == 0 {
		return f, false, nil
	}
	defer func(before *reported) { j.reported = before }(j.reported)
	j.reported = &reported{} // the job filters this frame again and counts it then
	chain := j.chainOf(j.backend, stages, 1)
	defer chain.Close()
	filter, err := chain.Open()
	if err != nil {
		f.Release()
		return nil, false, err
	}
	defer pipeline.Discard(filter)
	emit := func(out *pipeline.Frame) error {
		defer out.Release()
		if more = first != nil; !more {
			own, err := j.frames.TakeFrame(out.Format, nil) // the memory of out ends with the chain
			if err != nil {
				return err
			}
			first = own
			if out.Planes[0].Data != nil { // otherwise the samples are on a device, and unused here
				first.CopySamples(out)
			}
			first.CopyTiming(out)
		}
		return nil
	}
	if err = filter.Process(ctx, f, emit); err == nil {
		err = filter.Flush(ctx, emit)
	}
	if err != nil && first != nil {
		first.Release()
		first = nil
	}
	return first, more, err
}

// filtered returns the first frame of a video, which it takes, as the filters describe it. It is an
// error if they change its time.
func (j *job) filtered(ctx context.Context, f *pipeline.Frame) (*pipeline.Frame, error) {
	at, unit := f.PTS, f.Video.TimeBase
	out, _, err := j.through(ctx, f)
	switch {
	case err != nil:
		return nil, err
	case out == nil:
		return nil, errors.New("the filters drop the first frame")
	case j.to.halves && out.PTS == 2*at && isHalf(out.Video.TimeBase, unit):
		return out, nil
	case out.PTS != at || out.Video.TimeBase != unit:
		out.Release()
		return nil, errors.New(retimes)
	}
	return out, nil
}

// foresee tries the filters on a picture as the header describes it. What fails here is left to the
// first frame, which may be another.
func (j *job) foresee(ctx context.Context) error {
	v := j.in.Video().CodecParameters()
	j.to = filterOutput{width: v.Width(), height: v.Height()}
	if len(j.o.around()) == 0 {
		return nil
	}
	blank, err := j.in.Blank()
	if err != nil {
		return nil
	}
	from, format, interlaced, look := *blank.Video, blank.Format, blank.Interlaced, fidelity.LookOf(blank)
	j.trial = true
	out, more, err := j.through(ctx, blank)
	j.trial = false
	switch {
	case err != nil:
		return context.Cause(ctx)
	case out == nil: // it is dropped
		j.to.retimed, j.to.changed = retimes, retimes
		return j.fits()
	}
	defer out.Release()
	j.to.width, j.to.height = out.Width, out.Height
	if out.Layout != format.Layout {
		j.to.depth = out.Layout.Info().Depth
	}
	j.to.progressive = interlaced && !out.Interlaced
	for _, key := range look.Turned(fidelity.LookOf(out)) {
		j.to.hdr = j.to.hdr || key == "transfer"
	}
	if j.to.halves = j.o.doublesFields() && isHalf(out.Video.TimeBase, from.TimeBase) && isHalf(from.Rate, out.Video.Rate); j.to.halves {
		from.Rate, from.TimeBase, more = out.Video.Rate, out.Video.TimeBase, false
	}
	j.to.describe(from, format, out, more)
	if j.to.halves && j.to.changed == "" {
		j.to.changed = retimes
	}
	return j.fits()
}

// doublesFields reports whether a filter makes a frame from each field.
func (o *Options) doublesFields() bool {
	d, deinterlaces := first[kernels.Deinterlace](o.filters())
	return deinterlaces && !d.Single
}

// isHalf reports whether a is half of b.
func isHalf(a, b pipeline.Ratio) bool {
	return a.Known() && b.Known() && 2*int64(a.Num)*int64(b.Den) == int64(b.Num)*int64(a.Den)
}

// describe compares the first result for a frame at time 0 with that.
func (t *filterOutput) describe(v pipeline.Video, f pipeline.Format, out *pipeline.Frame, more bool) {
	switch {
	case more || out.PTS != 0 || out.Video.TimeBase != v.TimeBase || out.Video.Rate != v.Rate:
		t.retimed, t.changed = retimes, retimes
	case out.Width != f.Width || out.Height != f.Height:
		t.changed = fmt.Sprintf("the filters make %dx%d of %dx%d", out.Width, out.Height, f.Width, f.Height)
	case out.Layout.Arrangement() != f.Layout.Arrangement():
		t.changed = fmt.Sprintf("the filters make %s of %s", out.Layout, f.Layout)
	}
}

// fits refuses options that do not go with what the filters change.
func (j *job) fits() error {
	switch o := j.o; {
	case o.Compare != "" && j.to.changed != "":
		return cli.Usagef("leave out the filters that do so, or compare in two jobs",
			"--compare shows each picture with the one it was made of, and %s", j.to.changed)
	case o.Part != nil && j.to.retimed != "":
		return cli.Usagef("filter the video whole", "--part: %s", j.to.retimed)
	case o.Join != "" && j.to.retimed != "":
		return cli.Usagef("filter the video whole", "--join: %s", j.to.retimed)
	}
	return nil
}
