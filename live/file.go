package live

import (
	"context"
	"time"

	"vidfilter/decode"
	"vidfilter/pipeline"
)

// OpenFile returns what opens a file, a pipe or a network stream, to be played at its own speed.
func OpenFile(path string, o decode.Options) func(context.Context, *pipeline.Pool, Tell) (Source, error) {
	o.VideoOnly = true
	return func(ctx context.Context, pool *pipeline.Pool, _ Tell) (Source, error) {
		in, err := decode.Open(ctx, path, pool, o)
		if err != nil {
			return nil, err
		}
		return &file{in: in}, nil
	}
}

type file struct {
	in   *decode.Input
	pace pace
}

func (f *file) Next(ctx context.Context) (Shot, error) {
	frame, err := f.in.Next(ctx)
	if err != nil {
		return Shot{}, err
	}
	base := f.in.Video().TimeBase()
	at := time.Duration(float64(frame.PTS) * base.Float64() * float64(time.Second))
	if err := f.pace.wait(ctx, at); err != nil {
		frame.Release()
		return Shot{}, err
	}
	return shotAt(frame, time.Now()), nil
}

func (f *file) FrameRate() float64 {
	r := f.in.FrameRate()
	if r.Num() <= 0 {
		return 0
	}
	return r.Float64()
}

func (f *file) Close() { f.in.Close() }

// pace makes pictures wait for their time.
type pace struct {
	began bool
	zero  time.Time // of the clock on which pictures have their times
}

// late is by how much a picture may miss its time before the clock is set anew: the reading stood still, or the video was frozen.
const late = time.Second / 2

// wait sleeps until the time at, which counts from anywhere.
func (p *pace) wait(ctx context.Context, at time.Duration) error {
	now := time.Now()
	d := p.zero.Add(at).Sub(now)
	if !p.began || d < -late || d > 10*time.Second { // a jump of the video's own clock
		p.began, p.zero = true, now.Add(-at)
		return nil
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
