package live

import (
	"context"
	"io"
	"math"
	"strings"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/internal/wake"
	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// OpenFile returns the function that opens a file, a pipe or a network stream. It plays at its own
// speed, or more slowly if the filter cannot keep up. Pictures of a pipe or a stream that come at
// their own speed are not held back.
func OpenFile(path string, o decode.Options) func(context.Context, *pipeline.Pool, StatusFunc) (Source, error) {
	o.NoSubs = true
	var played time.Duration
	return func(ctx context.Context, pool *pipeline.Pool, _ StatusFunc) (Source, error) {
		in, err := decode.Open(ctx, path, pool, o)
		if err != nil {
			return nil, err
		}
		f := &file{in: in, clock: clock{end: &played}, path: path, options: o, pool: pool}
		if path == "-" || strings.Contains(path, "://") {
			f.pace.most = spare
		}
		if canSeek(path) {
			_, f.length = in.Estimate()
		}
		return f, f.listen()
	}
}

type file struct {
	in    *decode.Input // nil after a failed seek
	pace  pace
	clock clock

	path    string
	options decode.Options
	pool    *pipeline.Pool
	length  time.Duration // 0 if it cannot seek
	start   time.Duration // where it was opened
	place   time.Duration // of the latest picture
	ahead   []Shot        // read before their time
	end     error         // behind them

	track *sound.Track
	heard []sound.Packet // since the last picture, on the file's clock
}

// listen takes the file's first sound.
func (f *file) listen() (err error) {
	var from *astiav.Stream
	for _, s := range f.in.Others() {
		if par := s.CodecParameters(); from == nil && par.MediaType() == astiav.MediaTypeAudio && par.SampleRate() > 0 {
			from = s
		}
	}
	if from == nil {
		return nil
	}
	if f.track, err = sound.TrackOf(from); err != nil {
		f.in.Close()
		return err
	}
	f.in.OnPacket(func(p *astiav.Packet) error {
		if p.StreamIndex() == from.Index() {
			if x, ok := sound.PacketOf(p, from); ok {
				f.heard = append(f.heard, x)
			}
		}
		return nil
	})
	return nil
}

// Track describes the file's sound.
func (f *file) Track() *sound.Track { return f.track }

// clock counts a file's time from its first picture, on from where it was played before.
type clock struct {
	end    *time.Duration // of all pictures so far
	began  bool
	offset time.Duration
	first  time.Duration // of this round
}

// at returns when to show the picture with timestamp t and the given duration.
func (c *clock) at(t, length time.Duration) time.Duration {
	if !c.began {
		c.began, c.offset, c.first = true, *c.end-t, *c.end
	}
	*c.end = max(*c.end, c.offset+t+length)
	return c.offset + t
}

// A file is read ahead by this, for its sound: coding it takes longer than filtering a picture.
const (
	soundAhead = 200 * time.Millisecond
	mostAhead  = 8 // pictures
)

func (f *file) Next(ctx context.Context) (Shot, error) {
	for range 2 { // not all at once: the first picture would wait for them
		if f.early() {
			f.readAhead(ctx)
		}
	}
	shot, err := f.following(ctx)
	if err != nil {
		return Shot{Sound: f.sound()}, err
	}
	if err := f.pace.wait(ctx, f.time(shot.Frame.PTS)); err != nil {
		shot.release()
		return Shot{}, err
	}
	return f.shown(shot), nil
}

// early reports whether one more picture is to be read before its time.
func (f *file) early() bool {
	if f.track == nil || f.length == 0 || f.end != nil {
		return false
	}
	n := len(f.ahead)
	return n == 0 || n < mostAhead && f.ahead[n-1].At-f.ahead[0].At < soundAhead
}

// readAhead reads a picture before its time.
func (f *file) readAhead(ctx context.Context) {
	shot, err := f.read(ctx)
	if err != nil {
		f.end = err
		return
	}
	f.ahead = append(f.ahead, f.dated(shot))
}

// following returns the next picture with its place and time.
func (f *file) following(ctx context.Context) (shot Shot, err error) {
	switch {
	case len(f.ahead) > 0:
		shot = f.ahead[0]
		f.ahead = f.ahead[1:]
		return shot, nil
	case f.end != nil:
		return Shot{}, f.end
	}
	if shot, err = f.read(ctx); err != nil {
		return Shot{}, err
	}
	return f.dated(shot), nil
}

// read decodes a picture, with its place.
func (f *file) read(ctx context.Context) (Shot, error) {
	if f.in == nil {
		return Shot{}, io.EOF
	}
	frame, err := f.in.Next(ctx)
	if err != nil {
		return Shot{}, err
	}
	zero := time.Duration(0)
	if f.start == 0 {
		first, _ := f.in.Part()
		zero = time.Duration(first) * time.Microsecond
	}
	return Shot{Frame: frame, Place: f.start + f.time(frame.PTS) - zero}, nil
}

// dated gives a picture its time by the file's clock.
func (f *file) dated(shot Shot) Shot {
	shot.At = f.clock.at(f.time(shot.Frame.PTS), f.time(shot.Frame.Duration))
	return shot
}

// shown gives a picture the time at which it is shown, and the sound that has come.
func (f *file) shown(shot Shot) Shot {
	now := time.Now()
	f.place = shot.Place
	shot.Taken, shot.Stamp = now, Milliseconds(now)
	shot.Sound = f.sound()
	return shot
}

// sound returns the sound beside the pictures so far. What codecs put in front of the first and
// behind the last would overlap where the file is played again.
func (f *file) sound() (all []sound.Packet) {
	var later []sound.Packet
	for _, x := range f.heard {
		at := x.At + f.clock.offset
		switch {
		case !f.clock.began || at+x.Length/2 >= *f.clock.end:
			later = append(later, x)
		case at >= f.clock.first:
			x.At = at
			all = append(all, x)
		}
	}
	f.heard = later
	return all
}

func (f *file) time(t int64) time.Duration {
	return time.Duration(math.Round(float64(t) * f.in.Video().TimeBase().Float64() * float64(time.Second)))
}

func (f *file) FrameRate() float64 {
	if f.in == nil {
		return 0
	}
	r := f.in.FrameRate()
	if r.Num() <= 0 {
		return 0
	}
	return r.Float64()
}

func (f *file) Close() {
	releaseAll(f.ahead)
	f.ahead = nil
	if f.in != nil {
		f.in.Close()
	}
}

// pace makes pictures wait for their time.
type pace struct {
	began bool
	zero  time.Time // of the clock on which pictures have their times

	// A source that sends at its own speed, as a camera behind a pipe, may have begun slowly: its
	// pictures then come before their time. The clock is set forward for them by up to spare, which
	// grows slowly up to most, since clocks differ.
	most, spare time.Duration
	last        time.Duration
}

// spare is at the start; a piped file skips ahead by it, unseen.
const spare = time.Second

// late is the delay after which the clock is reset: reading stalled, or the video was frozen.
const late = time.Second / 2

// wait sleeps until the time at, which counts from anywhere.
func (p *pace) wait(ctx context.Context, at time.Duration) error {
	now := time.Now()
	d := p.zero.Add(at).Sub(now)
	if !p.began || d < -late || d > 10*time.Second { // a jump of the video's own clock
		p.began, p.zero, p.spare, p.last = true, now.Add(-at), p.most, at
		return nil
	}
	const drift = 1000
	p.spare = min(p.spare+(at-p.last)/drift, p.most)
	p.last = at
	if early := min(d, p.spare); early > 0 {
		p.zero, p.spare, d = p.zero.Add(-early), p.spare-early, d-early
	}
	if d <= 0 {
		return nil
	}
	return wake.Sleep(ctx, d)
}

// displayed is a source that knows how its pictures are meant to be shown.
type displayed interface{ Display() pipeline.Display }

func (f *file) Display() pipeline.Display {
	turn, aspect := f.in.Display()
	return pipeline.Display{Turn: turn, Aspect: aspect}
}
