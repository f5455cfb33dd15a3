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

// The fields of a video are looked at in so many frames in a row, at so many places. Videos with at
// most as many frames are read through.
const (
	fieldFrames = 12
	fieldPlaces = 10
)

// The orders of fields, in words and as values of --field-order.
var (
	fieldNames  = map[interlace.Content]string{interlace.TopFirst: "top first", interlace.BottomFirst: "bottom first"}
	fieldOrders = map[interlace.Content]string{interlace.TopFirst: "tff", interlace.BottomFirst: "bff"}
)

// looksAtFields reports whether the order of fields is found out: a part has not enough of the
// video, a pipe can be read once, and a graph may change fields first.
func (o *Options) looksAtFields() bool {
	return !stages.Deinterlace.Of(o.Filters).Identity() && stages.Before.Of(o.Filters).Identity() &&
		o.FieldOrder == "auto" && o.Input != "-" && o.Part == nil && o.Join == ""
}

// measureFields finds the order of the fields of the part of the input that is filtered, and sets
// --field-order where the file is wrong. It reports that, and what else may be of use. Without a
// clear answer the file is right.
func (o *Options) measureFields(ctx context.Context, frames *pipeline.Pool, tell func(string)) error {
	if !o.looksAtFields() {
		return nil
	}
	j, err := o.judgeFields(ctx, frames)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil: // which the job will say
		return nil
	}
	found := j.Find()
	interlaced := found.Content == interlace.TopFirst || found.Content == interlace.BottomFirst
	switch is := fieldNames[found.Content]; {
	case found.Telecine:
		tell("the video looks like film in 3:2 pulldown: --before fieldmatch,decimate in place of --deinterlace gives its frames back")
	case found.Content == found.Tags || found.Content == interlace.Unclear || found.Tags == interlace.Unclear:
	case interlaced && found.Tags == interlace.Progressive:
		o.FieldOrder = fieldOrders[found.Content]
		tell(fmt.Sprintf("the frames are interlaced by their motion, %s, and progressive by the file: deinterlacing them; --field-order progressive leaves them", is))
	case interlaced:
		o.FieldOrder = fieldOrders[found.Content]
		tell(fmt.Sprintf("fields: %s by their motion, and %s by the file: using %s; --field-order overrides", is, fieldNames[found.Tags], is))
	default:
		tell("the frames look progressive, and the file calls them interlaced: if they are progressive, --field-order progressive leaves them")
	}
	return nil
}

// judgeFields looks at frames of the input.
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
		if err != nil && !errors.Is(err, decode.ErrUnreadable) { // damage, or a length that the header only claims
			return nil, err
		}
	}
	return &j, nil
}

// look looks at frames of an input. They are taken for several places.
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

// JudgeFields shows frame n of a video to a judge, which takes frames for several places.
func JudgeFields(j *interlace.Judge, f *pipeline.Frame, n int) {
	if n%fieldFrames == 0 {
		j.Cut()
	}
	j.Add(f)
}
