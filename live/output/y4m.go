package output

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"vidfilter/live"
	"vidfilter/pipeline"
)

// WriteY4M writes the pictures of a session as YUV4MPEG2, 8 bits of 4:2:0, each by one call of w,
// until ctx or the session ends or w fails. The format has no times, only a rate, so a picture is
// written again where the next one is late, and left out where it is early or w too slow. Pictures
// are upright. The header has the shape of their pixels. The first picture's size stays; others are
// scaled to it, which say tells.
func WriteY4M(ctx context.Context, s *live.Session, w io.Writer, say func(string)) error {
	y := &y4m{w: w, say: say}
	defer func() {
		if y.shaper != nil {
			y.shaper.close()
		}
	}()
	const idle = 20 * time.Millisecond // from the last picture until it is tried whether one is due
	return newest(ctx, s, idle, func(f *pipeline.Frame, st live.State) error { return y.put(f, st, time.Now()) })
}

type y4m struct {
	w       io.Writer
	say     func(string)
	shaper  *shaper
	rate    float64
	start   time.Time // when the first picture was due, less half a picture
	written int64
	last    pipeline.Format
}

// longestDebt is how much of the time that was lost a reader gets in repeated pictures.
const longestDebt = time.Second

// due returns how many pictures are to be written now.
func (y *y4m) due(now time.Time) int64 {
	n := int64(math.Floor(now.Sub(y.start).Seconds()*y.rate)) + 1 - y.written
	if most := max(1, int64(longestDebt.Seconds()*y.rate)); n > most {
		y.start = y.start.Add(time.Duration(float64(n-most) / y.rate * float64(time.Second)))
		return most
	}
	return n
}

func (y *y4m) put(f *pipeline.Frame, st live.State, now time.Time) error {
	if y.shaper == nil {
		if err := y.begin(f, st, now); err != nil {
			return err
		}
	}
	due := y.due(now)
	if due <= 0 {
		return nil
	}
	if f.Format != y.last {
		tellScaled(y.say, y.last, f.Format, y.shaper.canvas.View.Format)
		y.last = f.Format
	}
	own, err := y.shaper.shape(f, pipeline.Display{Turn: st.Turn})
	if err != nil {
		return err
	}
	b := packed([]byte("FRAME\n"), own)
	for range due {
		if _, err := y.w.Write(b); err != nil {
			return err
		}
		y.written++
	}
	return nil
}

// begin writes the header.
func (y *y4m) begin(f *pipeline.Frame, st live.State, now time.Time) (err error) {
	num, den := rational(st.FrameRate)
	y.rate = float64(num) / float64(den)
	y.start = now.Add(-time.Duration(float64(time.Second) / y.rate / 2))
	y.last = f.Format
	width, height := pipeline.Display{Turn: st.Turn}.Size(f.Width, f.Height)
	if y.shaper, err = newShaper(limited(pipeline.YUV420P, width, height)); err != nil {
		return err
	}
	aspect := "1:1"
	if st.Aspect > 0 && st.Aspect != 1 {
		const fine = 10000
		wide, high := int(math.Round(st.Aspect*fine)), fine
		if st.Turn%180 != 0 {
			wide, high = high, wide
		}
		aspect = fmt.Sprintf("%d:%d", wide, high)
	}
	_, err = fmt.Fprintf(y.w, "YUV4MPEG2 W%d H%d F%d:%d Ip A%s C420jpeg XYSCSS=420JPEG XCOLORRANGE=LIMITED\n", width, height, num, den, aspect)
	return err
}

// rational returns a frame rate as players know it; 30 if it is unknown.
func rational(fps float64) (num, den int) {
	switch whole := math.Round(fps); {
	case fps <= 0:
		return 30, 1
	case math.Abs(fps-whole) < 1e-3:
		return int(whole), 1
	case math.Abs(fps-whole/1.001) < 1e-3:
		return int(whole) * 1000, 1001
	}
	return int(math.Round(fps * 1000)), 1000
}

// packed appends the samples of a frame without padding.
func packed(b []byte, f *pipeline.Frame) []byte {
	for i := range f.NumPlanes() {
		width, rows := f.PlaneSize(i)
		for row := range rows {
			b = append(b, f.Planes[i].Data[row*f.Planes[i].Pitch:][:width]...)
		}
	}
	return b
}

// tellScaled reports a change of size.
func tellScaled(say func(string), before, now, out pipeline.Format) {
	if before.Width != now.Width || before.Height != now.Height {
		say(fmt.Sprintf("the picture is now %dx%d: scaled to %dx%d for the output", now.Width, now.Height, out.Width, out.Height))
	}
}
