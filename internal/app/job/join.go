package job

import (
	"context"
	"fmt"
	"io"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/formats"
	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
	"vidfilter/pipeline"
)

func parsePart(s string) (*decode.Range, error) {
	r, err := decode.ParseRange(s)
	if err != nil {
		return nil, cli.Usagef("vidfilter segments lists parts: START:END:FRAMES, and that of all around",
			"%v", err)
	}
	return &r, nil
}

// checkPart refuses options that are about a whole video beside --part and --join.
func (o *Options) checkPart() error {
	name := "part"
	switch {
	case o.Part == nil && o.Join == "":
		return nil
	case o.Part != nil && o.Join != "":
		return cli.Usagef("give one of them", "--part and --join exclude each other")
	case o.Join != "":
		name = "join"
	}
	switch why := o.Whole(); {
	case o.Input == "-":
		return cli.Usagef("save the input to a file first", "--%s needs a file to read", name)
	case decode.Refers(o.InputFormat): // a worker may lack the files that a part refers to
		return cli.Usagef("filter it whole", "--input-format %s: such a file names others, and --%s takes one by itself", o.InputFormat, name)
	case why != "":
		return cli.Usagef("filter the video whole", "--%s: %s", name, why)
	case o.Part != nil && o.window() != (pipeline.Window{}) && o.Part.Around == (decode.Span{}):
		return cli.Usagef("give vidfilter segments the options of the filter",
			"--part lacks the frames around it that the %s filter reads", o.Filters.Chosen())
	case o.Part != nil && !formats.Of(o.Format).Parts:
		return cli.Usagef("name it .mp4", "a part is MP4, and --part can write nothing else")
	case o.Join != "" && !formats.Of(o.Format).Video():
		return cli.Usagef("mp4, mov, mkv, ts and webm hold parts", "--join writes a video")
	}
	return nil
}

// wantedPart is the part without frames around it that the filter would not expect.
func (o *Options) wantedPart() *decode.Range {
	if o.Part == nil || o.window() != (pipeline.Window{}) {
		return o.Part
	}
	return &decode.Range{Span: o.Part.Span}
}

// rejectedOutput is the error of a part or joined file that failed its check. It is not kept, since
// it can be made again.
type rejectedOutput struct{ err error }

func (u rejectedOutput) Error() string { return u.err.Error() }

// inputs are all files that the job reads. The output must not be one of them.
func (j *job) inputs() ([]string, error) {
	if j.o.Join == "" {
		return []string{j.o.Input}, nil
	}
	parts, err := decode.ListParts(j.o.Join)
	return append(parts, j.o.Input, j.o.Join), err
}

// partTag records the place of a part.
func (j *job) partTag(first int64) (key, value string) {
	return encode.PartTag, fmt.Sprintf("%d %s", first, j.unit())
}

// unit returns the time base of the output's pictures. It is half the input's if frames are
// doubled.
func (j *job) unit() astiav.Rational {
	unit := j.in.Video().TimeBase()
	switch {
	case !j.to.halves:
		return unit
	case unit.Num()%2 == 0:
		return astiav.NewRational(unit.Num()/2, unit.Den())
	}
	return astiav.NewRational(unit.Num(), 2*unit.Den())
}

// frameCount returns the frames written so far.
func (j *job) frameCount() int64 {
	return j.meters.Encode.Frames() + j.copied.Load() - j.discarded.Load()
}

// join writes the video of filtered parts with everything else that the input holds. It follows
// the input's video packets without decoding them, to keep the order of streams and to notice
// missing frames. Begin asks the encoder to code the first frame, so that headers are those of
// an ordinary job. x264's output depends on its threads, so equal parts need equal --threads.
func (j *job) join(ctx context.Context) error {
	parts, err := decode.OpenParts(j.o.Join, encode.PartTag, j.unit())
	if err != nil {
		return err
	}
	defer parts.Close()
	j.in.Track(j.to.halves)
	defer j.ui.Track(j.snapshot)()
	first, err := j.in.Next(ctx)
	if err != nil {
		return err
	}
	at := first.PTS
	if j.to.halves {
		at *= 2
	}
	if parts.First() != at {
		err = encode.PartsErrorf("the parts begin at %d, the source at %d", parts.First(), at)
		first.Release()
	} else if first, err = j.filtered(ctx, first); err != nil {
		err = encode.PartsErrorf("%v", err)
	} else {
		err = j.out.Begin(first, parts.Header())
		first.Release()
	}
	for err == nil {
		if j.stopped() {
			return terminal.Interruption{}
		}
		var p *astiav.Packet
		switch p, err = parts.Next(); err {
		case nil:
			if err = j.place(ctx, p); err == nil {
				j.copied.Add(1)
			}
		case io.EOF:
			return j.endJoin(ctx)
		}
	}
	return err
}

// place writes a packet of a part after other packets that are due.
func (j *job) place(ctx context.Context, p *astiav.Packet) error {
	duration, err := j.in.Follow(ctx, p.Pts())
	if err != nil {
		return err
	}
	if duration > 0 {
		p.SetDuration(duration)
	}
	return j.out.WriteVideo(p)
}

func (j *job) endJoin(ctx context.Context) error {
	if err := j.in.Rest(ctx); err != io.EOF {
		return err
	}
	err := j.out.Finish(ctx)
	j.written.Store(err == nil)
	return err
}
