package job

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/decode"
	"vidfilter/enhance"
	"vidfilter/internal/cli"
	"vidfilter/internal/stages"
	"vidfilter/pipeline"
)

// surveyed is the number of pictures sampled from a video. A video of at most shortFrames frames is
// decoded as a whole, and a longer one is sampled by seeking.
const (
	surveyed    = 60
	shortFrames = 50 * surveyed
)

// automatic is an option whose value auto is replaced by a measurement before the job.
type automatic struct {
	kind    *stages.Choice
	instead string // an explicit value, for hints
	finds   string // the subject of the measurement, for messages
	open    func(enhance.Facts) detector
}

// detector measures the value of an option from frames of one format.
type detector interface {
	Add(f *pipeline.Frame)
	Full() bool                    // further frames cannot help
	Value() (value, report string) // value "": the option is not needed
}

// automatics returns the options with the value auto.
func (o *Options) automatics() []automatic {
	return slices.DeleteFunc([]automatic{
		{stages.Crop, "--crop W:H:X:Y", "the bars", func(f enhance.Facts) detector { return enhance.NewBars(f) }},
		{stages.ChromaShift, "--chroma-shift X,Y", "the chroma shift", func(f enhance.Facts) detector { return enhance.NewAlignment(f) }},
	}, func(a automatic) bool { return a.kind.Of(o.Filters).Text != "auto" })
}

// moves matches filters of FFmpeg that change the geometry of the picture.
var moves = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(crop|pad|z?scale|transpose|rotate|hflip|vflip|chromashift)\b`)
})

// checkStages refuses auto without access to the whole source, and --compare with doubled frames.
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
		case moves().MatchString(stages.Before.Of(o.Filters).Text):
			return cli.Usagef("give "+a.instead, "%s looks for %s in the source, and --before moves its picture", name, strings.TrimPrefix(a.finds, "the "))
		}
	}
	return nil
}

// survey replaces auto in options by measured values, and calls tell with a report for each.
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

// survey samples pictures from the part of the input that the job filters.
type survey struct {
	o      *Options
	frames *pipeline.Pool
	asked  []automatic
	found  []detector // same order as asked, nil before the first frame
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
		case errors.Is(err, decode.ErrUnreadable): // damage, or a wrong duration in the header
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

// through decodes a short video and measures up to surveyed frames of it. For a longer video it
// measures only the first frame.
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
