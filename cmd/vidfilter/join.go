package main

import (
	"context"
	"fmt"
	"io"

	"github.com/asticode/go-astiav"
	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/encode"
)

func parsePart(s string) (*decode.Range, error) {
	r, err := decode.ParseRange(s)
	if err != nil {
		return nil, usagef("vidfilter segments lists parts, as START:END:FRAMES", "%v", err)
	}
	return &r, nil
}

// checkPart: a part is a piece of work on the way to a whole, and whole is what all else is about.
func (o *options) checkPart(fs *pflag.FlagSet) error {
	name := "part"
	switch {
	case o.Part == nil && o.Join == "":
		return nil
	case o.Part != nil && o.Join != "":
		return usagef("give one of them", "--part and --join exclude each other")
	case o.Join != "":
		name = "join"
	}
	for _, other := range []string{"start", "duration", "frames", "compare", "stats"} {
		if f := fs.Lookup(other); f.Changed && f.Value.String() != "false" {
			return usagef("give one of them", "--%s and --%s exclude each other", name, other)
		}
	}
	switch {
	case o.Input == "-":
		return usagef("save the input to a file first", "--%s needs a file to read", name)
	case o.Encoder != "libx264":
		return usagef("leave --encoder out", "--%s is for H.264 of libx264", name)
	case o.Part != nil && o.Format != "mp4":
		return usagef("name it .mp4", "a part is MP4, and --part can write nothing else")
	case o.Join != "" && (o.Format == "null" || encode.Image(o.Format)):
		return usagef("mp4, mov, mkv and ts hold parts", "--join writes a video")
	}
	return nil
}

// unfit is a part, or a whole of parts, that is not what it should be: it is not kept, since it can be made again.
type unfit struct{ err error }

func (u unfit) Error() string { return u.err.Error() }

// joined returns the list of parts as an input, which the output must not be.
func (j *job) joined() []string {
	if j.o.Join == "" {
		return nil
	}
	return []string{j.o.Join}
}

// partTag says where a part belongs.
func (j *job) partTag(first int64) (key, value string) {
	return encode.PartTag, fmt.Sprintf("%d %s", first, j.in.Video().TimeBase())
}

// frameCount is how many frames have been written so far.
func (j *job) frameCount() int64 { return j.meters.Encode.Frames() + j.copied.Load() }

// join writes the video of parts that were filtered apart beside everything else that the input holds. The input's
// video is only followed, so that the rest comes when it did, and so that no frame is missing. The encoder is asked
// how it would code the first frame: what Begin finds that way is what an ordinary job writes. How x264 divides its
// work among threads shows in the bits, so that parts are the same again only with the same --threads.
func (j *job) join(ctx context.Context) error {
	parts, err := decode.OpenParts(j.o.Join, encode.PartTag, j.in.Video().TimeBase())
	if err != nil {
		return err
	}
	defer parts.Close()
	defer j.ui.track(j.snapshot)()
	first, err := j.in.Next(ctx)
	if err != nil {
		return err
	}
	if at := parts.First(); at != first.PTS {
		err = &encode.PartsError{What: fmt.Sprintf("the parts begin at %d, the source at %d", at, first.PTS)}
	} else {
		err = j.out.Begin(first, parts.AVCC())
	}
	first.Release()
	for err == nil {
		var p *astiav.Packet
		switch p, err = parts.Next(); err {
		case nil:
			err = j.place(ctx, p)
		case io.EOF:
			return j.endJoin(ctx)
		}
	}
	return err
}

// place writes a packet of a part, and before it what belongs no later.
func (j *job) place(ctx context.Context, p *astiav.Packet) error {
	if j.stopped() {
		return interruption{}
	}
	duration, err := j.in.Follow(ctx, p.Pts())
	if err != nil {
		return err
	}
	p.SetDuration(duration)
	if err := j.out.WriteVideo(p); err != nil {
		return err
	}
	j.copied.Add(1)
	return nil
}

func (j *job) endJoin(ctx context.Context) error {
	if err := j.in.Rest(ctx); err != io.EOF {
		return err
	}
	return j.out.Finish(ctx)
}
