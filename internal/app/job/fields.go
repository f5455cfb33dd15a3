package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"vidfilter/decode"
	"vidfilter/interlace"
	"vidfilter/internal/stages"
	"vidfilter/pipeline"
)

// The judge examines fieldFrames consecutive frames at each of fieldPlaces places. It reads shorter
// videos completely.
const (
	fieldFrames = 12
	fieldPlaces = 10
)

// The field orders, in words and as values of --field-order.
var (
	fieldNames  = map[interlace.Content]string{interlace.TopFirst: "top first", interlace.BottomFirst: "bottom first"}
	fieldOrders = map[interlace.Content]string{interlace.TopFirst: "tff", interlace.BottomFirst: "bff"}
)

// looksAtFields reports whether the job detects the field order. It does not for a part, which may
// be too short, a pipe, which cannot be read twice, or after --before, which may change the fields.
func (o *Options) looksAtFields() bool {
	return !stages.Deinterlace.Of(o.Filters).Identity() && stages.Before.Of(o.Filters).Identity() &&
		o.FieldOrder == "auto" && o.Input != "-" && o.Part == nil && o.Join == ""
}

// measureFields detects the field order in the filtered part of the input. If it clearly differs
// from the file's flags, it sets --field-order and reports that. It also reports progressive frames
// and telecined film.
func (o *Options) measureFields(ctx context.Context, frames *pipeline.Pool, tell func(string)) error {
	if !o.looksAtFields() {
		return nil
	}
	j, err := o.judgeFields(ctx, frames)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // the job reports it
		return nil
	}
	found := j.Find()
	interlaced := found.Content == interlace.TopFirst || found.Content == interlace.BottomFirst
	switch is := fieldNames[found.Content]; {
	case found.Telecine:
		tell("the video looks like film in 3:2 pulldown: use --before fieldmatch,decimate instead of --deinterlace to restore its frames")
	case found.Content == found.Tags || found.Content == interlace.Unclear || found.Tags == interlace.Unclear:
	case interlaced && found.Tags == interlace.Progressive:
		o.FieldOrder = fieldOrders[found.Content]
		tell(fmt.Sprintf("the frames are interlaced by their motion, %s, and progressive by the file: deinterlacing them; use --field-order progressive to keep them", is))
	case interlaced:
		o.FieldOrder = fieldOrders[found.Content]
		tell(fmt.Sprintf("fields: %s by their motion, and %s by the file: using %s; --field-order overrides", is, fieldNames[found.Tags], is))
	default:
		tell("the frames look progressive, but the file marks them as interlaced: if they are progressive, use --field-order progressive to keep them")
	}
	return nil
}

// judgeFields shows frames from the input to a new judge.
func (o *Options) judgeFields(ctx context.Context, frames *pipeline.Pool) (*interlace.Judge, error) {
	d := o.decoding(nil)
	d.VideoOnly, d.Layouts, d.Depth = true, pipeline.Layout.Valid, nil
	var j interlace.Judge
	in, err := decode.Open(ctx, o.Input, frames, d)
	if err != nil {
		return nil, err
	}
	count, length := in.Estimate()
	if count <= fieldFrames*fieldPlaces || length == 0 {
		err := look(ctx, &j, in, fieldFrames*fieldPlaces)
		in.Close()
		return &j, err
	}
	in.Close()
	for i := range fieldPlaces {
		at := d
		at.Start += length * time.Duration(2*i+1) / (2 * fieldPlaces)
		at.Duration, at.Frames = 0, fieldFrames
		in, err := decode.Open(ctx, o.Input, frames, at)
		if err == nil {
			err = look(ctx, &j, in, fieldFrames)
			in.Close()
		}
		if err != nil && !errors.Is(err, decode.ErrUnreadable) { // damage, or the header's length is wrong
			return nil, err
		}
	}
	return &j, nil
}

// look shows the next frames of an input to a judge.
func look(ctx context.Context, j *interlace.Judge, in *decode.Input, frames int) error {
	for n := range frames {
		f, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		JudgeFields(j, f, n)
		f.Release()
	}
	return nil
}

// JudgeFields shows frame n of a video to a judge. Every fieldFrames frames count as a new place.
func JudgeFields(j *interlace.Judge, f *pipeline.Frame, n int) {
	if n%fieldFrames == 0 {
		j.Cut()
	}
	j.Add(f)
}
