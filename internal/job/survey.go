package job

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"vidfilter/decode"
	"vidfilter/enhance"
	"vidfilter/internal/cli"
	"vidfilter/internal/stages"
	"vidfilter/pipeline"
)

// surveyed is how many pictures of a video are looked at. Videos with at most shortFrames are read
// through, others are sought in.
const (
	surveyed    = 60
	shortFrames = 50 * surveyed
)

// automatic is an option whose value auto stands for one that is found in the video before the job.
type automatic struct {
	kind    *stages.Kind
	instead string // what may be given
	finds   string
	open    func(enhance.Facts) detector
}

// detector finds the value of an option in frames of one format.
type detector interface {
	Add(f *pipeline.Frame)
	Full() bool                    // no more frames are needed
	Value() (value, report string) // value "": the option has no work to do
}

// automatics are the options that have the value auto.
func (o *Options) automatics() []automatic {
	return slices.DeleteFunc([]automatic{
		{stages.Crop, "--crop W:H:X:Y", "the bars", func(f enhance.Facts) detector { return enhance.NewBars(f) }},
		{stages.ChromaShift, "--chroma-shift X,Y", "where chroma lies", func(f enhance.Facts) detector { return enhance.NewAlignment(f) }},
	}, func(a automatic) bool { return a.kind.Of(o.Filters).Text != "auto" })
}

// moves finds filters of FFmpeg that move the picture.
var moves = regexp.MustCompile(`\b(crop|pad|z?scale|transpose|rotate|hflip|vflip|chromashift)\b`)

// checkStages: options that are auto look at the source, and pictures are compared one by one.
func (o *Options) checkStages() error {
	if o.Compare != "" && enhance.Deinterlace(stages.Deinterlace.Of(o.Filters).Number).Doubles() {
		return cli.Usagef("--deinterlace single goes with it", "--compare shows each picture with the one it was made of, and --deinterlace makes two of one")
	}
	for _, a := range o.automatics() {
		switch name := "--" + a.kind.Name + " auto"; {
		case o.Input == "-":
			return cli.Usagef("give "+a.instead+", or save the input to a file first",
				"%s reads the input twice, and a pipe can be read once", name)
		case o.Part != nil:
			return cli.Usagef("vidfilter segments finds "+a.finds+", for "+a.instead, "%s: a part does not show %s of the whole video", name, a.finds)
		case moves.MatchString(stages.Before.Of(o.Filters).Text):
			return cli.Usagef("give "+a.instead, "%s looks for %s in the source, and --before moves its picture", name, strings.TrimPrefix(a.finds, "the "))
		}
	}
	return nil
}

// survey replaces auto in options by the values that it finds, and reports them.
func (o *Options) survey(ctx context.Context, frames *pipeline.Pool, tell func(string)) error {
	s := survey{o: o, frames: frames, asked: o.automatics()}
	if len(s.asked) == 0 {
		return nil
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	for i, a := range s.asked {
		value := ""
		if s.found != nil {
			var report string
			value, report = s.found[i].Value()
			tell(report)
		}
		a.kind.Set(&o.Filters, value)
	}
	return nil
}

// survey looks at pictures of the part of the input that is filtered.
type survey struct {
	o      *Options
	frames *pipeline.Pool
	asked  []automatic
	found  []detector // by asked; nil before the first frame
	format pipeline.Format
}

func (s *survey) run(ctx context.Context) error {
	d := s.o.decoding(nil)
	d.VideoOnly, d.Part, d.Layouts = true, nil, pipeline.Layout.Valid
	length, short, err := s.through(ctx, d)
	if err != nil || short || s.full() {
		return err
	}
	for i := range surveyed {
		at := d
		at.Start += length * time.Duration(2*i+1) / (2 * surveyed)
		at.Duration, at.Frames = 0, 1
		_, _, err := s.through(ctx, at)
		switch {
		case errors.Is(err, decode.ErrUnreadable): // damage, or a length that the header only claims
		case err != nil:
			return err
		case s.full():
			return nil
		}
	}
	return nil
}

func (s *survey) full() bool {
	return s.found != nil && !slices.ContainsFunc(s.found, func(d detector) bool { return !d.Full() })
}

// through reads a video, and looks at up to so many of its frames, if it is short. Of another it
// looks at the first frame.
func (s *survey) through(ctx context.Context, d decode.Options) (length time.Duration, short bool, err error) {
	in, err := decode.Open(ctx, s.o.Input, s.frames, d)
	if err != nil {
		return 0, false, err
	}
	defer in.Close()
	count, length := in.Estimate()
	short = length == 0 || count <= shortFrames
	step := max(1, (count+surveyed-1)/surveyed)
	if count == 0 {
		step = surveyed / 2
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

func (s *survey) add(f *pipeline.Frame, in *decode.Input) error {
	if s.found == nil {
		s.format = f.Format
		for _, a := range s.asked {
			s.found = append(s.found, a.open(enhance.FactsOf(f, s.o.progressive(in))))
		}
	}
	if f.Format != s.format {
		a := s.asked[0]
		return cli.Usagef("give "+a.instead, "--%s auto: the video changes from %v to %v", a.kind.Name, s.format, f.Format)
	}
	for _, d := range s.found {
		d.Add(f)
	}
	return nil
}
