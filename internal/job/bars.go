package job

import (
	"context"
	"errors"
	"io"
	"regexp"
	"time"

	"vidfilter/decode"
	"vidfilter/enhance"
	"vidfilter/internal/cli"
	"vidfilter/internal/stages"
	"vidfilter/pipeline"
)

// barPictures is how many pictures of a video are searched for bars. Videos with at most
// shortFrames are read through, others are sought in.
const (
	barPictures = 60
	shortFrames = 50 * barPictures
)

// findBars looks for black bars in the part of the input that is filtered.
func (o *Options) findBars(ctx context.Context, frames *pipeline.Pool) (enhance.Found, error) {
	d := o.decoding(nil)
	d.VideoOnly, d.Part, d.Layouts = true, nil, pipeline.Layout.Valid
	s := barSearch{o: o, frames: frames}
	length, short, err := s.through(ctx, d)
	if err != nil || short || s.full() {
		return s.found(), err
	}
	for i := range barPictures {
		at := d
		at.Start += length * time.Duration(2*i+1) / (2 * barPictures)
		at.Duration, at.Frames = 0, 1
		_, _, err := s.through(ctx, at)
		switch {
		case errors.Is(err, decode.ErrUnreadable): // damage, or a length that the header only claims
		case err != nil:
			return enhance.Found{}, err
		case s.full():
			return s.found(), nil
		}
	}
	return s.found(), nil
}

// cropsAuto reports whether the bars are still to be found.
func (o *Options) cropsAuto() bool { return stages.Crop.Of(o.Filters).Text == "auto" }

// moves finds filters of FFmpeg that move the picture.
var moves = regexp.MustCompile(`\b(crop|pad|z?scale|transpose|rotate|hflip|vflip)\b`)

// checkStages: the bars are looked for in the source, and pictures are compared one by one.
func (o *Options) checkStages() error {
	switch {
	case o.Compare != "" && enhance.Deinterlace(stages.Deinterlace.Of(o.Filters).Number).Doubles():
		return cli.Usagef("--deinterlace single goes with it", "--compare shows each picture with the one it was made of, and --deinterlace makes two of one")
	case !o.cropsAuto():
		return nil
	case o.Input == "-":
		return cli.Usagef("give --crop W:H:X:Y, or save the input to a file first",
			"--crop auto reads the input twice, and a pipe can be read once")
	case o.Part != nil:
		return cli.Usagef("vidfilter segments finds the bars, for --crop W:H:X:Y", "--crop auto: a part does not show the bars of the whole video")
	case moves.MatchString(stages.Before.Of(o.Filters).Text):
		return cli.Usagef("give --crop W:H:X:Y", "--crop auto looks for bars in the source, and --before moves its picture")
	}
	return nil
}

// measureCrop replaces auto in --crop by the box that it finds, and reports it.
func (o *Options) measureCrop(ctx context.Context, frames *pipeline.Pool, tell func(string)) error {
	if !o.cropsAuto() {
		return nil
	}
	found, err := o.findBars(ctx, frames)
	if err != nil {
		return err
	}
	tell(found.String())
	stages.Crop.Set(&o.Filters, found.Crop())
	return nil
}

// barSearch feeds a detector.
type barSearch struct {
	o      *Options
	frames *pipeline.Pool
	bars   *enhance.Bars // nil before the first frame
	format pipeline.Format
}

func (s *barSearch) full() bool { return s.bars != nil && s.bars.Full() }

func (s *barSearch) found() enhance.Found {
	if s.bars == nil {
		return enhance.Found{}
	}
	return s.bars.Find()
}

// through reads a video, and looks at up to barPictures of its frames, if it is short. Of another
// it looks at the first frame.
func (s *barSearch) through(ctx context.Context, d decode.Options) (length time.Duration, short bool, err error) {
	in, err := decode.Open(ctx, s.o.Input, s.frames, d)
	if err != nil {
		return 0, false, err
	}
	defer in.Close()
	count, length := in.Estimate()
	short = length == 0 || count <= shortFrames
	step := max(1, (count+barPictures-1)/barPictures)
	if count == 0 {
		step = barPictures / 2
	}
	for n := int64(0); ; n++ {
		f, err := in.Next(ctx)
		if err == io.EOF {
			return length, short, nil
		}
		if err != nil {
			return length, short, err
		}
		if n%step == step/2 || !short {
			err = s.add(f, in)
		}
		f.Release()
		if err != nil || !short || s.full() {
			return length, short, err
		}
	}
}

func (s *barSearch) add(f *pipeline.Frame, in *decode.Input) error {
	if s.bars == nil {
		s.format = f.Format
		s.bars = enhance.NewBars(enhance.FactsOf(f, s.o.progressive(in)))
	}
	if f.Format != s.format {
		return cli.Usagef("give --crop W:H:X:Y", "--crop auto: the video changes from %v to %v", s.format, f.Format)
	}
	s.bars.Add(f)
	return nil
}
