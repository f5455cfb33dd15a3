package decode_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
)

// The sample has 72 frames, 512 units apart.
const step, sampleFrames = 512, 72

func span(first, end int64) decode.Span {
	return decode.Span{Start: first * step, End: (end-1)*step + 1, Frames: end - first}
}

// A part has the frames before and after it, marked as context.
func TestAround(t *testing.T) {
	for _, c := range []struct{ first, part, partEnd, end int64 }{
		{20, 23, 30, 33},
		{0, 0, 10, 16},
		{0, 2, 10, 16},
		{57, 60, 72, 72},
		{20, 20, 30, 30},
	} {
		part := decode.Range{Span: span(c.part, c.partEnd), Around: span(c.first, c.end)}
		in, _ := open(t, sample, decode.Options{Threads: 1, Part: &part})
		if n, _ := in.Estimate(); n != c.partEnd-c.part {
			t.Errorf("%v: %d frames are to come", c, n)
		}
		n := c.first
		for ; ; n++ {
			f, err := in.Next(context.Background())
			if err == io.EOF {
				break
			}
			e2e.Must(t, err)
			if f.PTS != n*step || f.Context != (n < c.part || n >= c.partEnd) {
				t.Errorf("%v: frame %d is at %d, context %v", c, n, f.PTS, f.Context)
			}
			f.Release()
		}
		if n != c.end {
			t.Errorf("%v: the last frame is %d", c, n-1)
		}
	}
}

// A part with too few frames around it would be filtered with a seam.
func TestAroundIncomplete(t *testing.T) {
	for _, c := range []struct {
		name   string
		around decode.Span
		says   string
	}{
		{"source ends early", span(17, sampleFrames+3), "55 frames lie in"},
		{"source begins late", span(-3, 33), "no key frame"},
		{"a frame is missing", decode.Span{Start: 17 * step, End: 33 * step, Frames: 17}, "16 frames lie in"},
	} {
		err := decodeAll(t, decode.Range{Span: span(20, 30), Around: c.around})
		var wrong *decode.PartError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func decodeAll(t *testing.T, r decode.Range) error {
	t.Helper()
	in, err := decode.Open(context.Background(), sample, newPool(t), decode.Options{Threads: 1, Part: &r})
	if err != nil {
		return err
	}
	defer in.Close()
	for {
		f, err := in.Next(context.Background())
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		f.Release()
	}
}
