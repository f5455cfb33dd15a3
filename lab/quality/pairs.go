package quality

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"vidfilter/decode"
	"vidfilter/denoise"
	"vidfilter/pipeline"
)

// pairFrames is how many frames of a pair are measured.
const pairFrames = 24

// pairKind is the kind of noise of a video that is compared with its truth.
const pairKind = "noise as it is"

// ErrPair is the error of a video that its truth is not the truth of.
var ErrPair = errors.New("the clip and its truth are not alike")

// shown is the frame of the crops.
func (c *clip) shown() int { return (c.first + c.last + 1) / 2 }

// pair measures a noisy video beside the clean one.
func (r *run) pair(ctx context.Context, name string) error {
	c := &noisyClip{
		clip:    clip{name: filepath.Base(name), source: func(t int) int { return t }},
		results: map[string]*pipeline.Frame{},
	}
	r.say("%s", c.name)
	var err error
	if c.noisy, err = readPair(ctx, name); err != nil {
		return err
	}
	if c.frames, err = readPair(ctx, r.Truth); err != nil {
		return err
	}
	if len(c.noisy) != len(c.frames) || len(c.noisy) == 0 {
		return fmt.Errorf("%s: %d frames, %s: %d: %w", name, len(c.noisy), r.Truth, len(c.frames), ErrPair)
	}
	c.last = len(c.noisy) - 1
	noise := 0.0
	for t, f := range c.noisy {
		clean := c.frames[t]
		if f.Layout != clean.Layout || f.Width != clean.Width || f.Height != clean.Height || f.FullRange != clean.FullRange {
			return fmt.Errorf("%s: %v%s, %s: %v%s: %w", name, f.Format, rangeOf(f), r.Truth, clean.Format, rangeOf(clean), ErrPair)
		}
		clean.Format = f.Format // not all state their matrix
		s, err := score(c.frames, c.noisy, t, t)
		if err != nil {
			return err
		}
		noise += 255 * math.Pow(10, -s.PSNR/20) / float64(len(c.noisy))
	}
	return r.compare(ctx, NoiseKind{Name: c.name, Title: pairKind, sigma: max(noise, 0.5)}, []*noisyClip{c})
}

func readPair(ctx context.Context, name string) ([]*pipeline.Frame, error) {
	frames, _, err := read(ctx, name, pairFrames, decode.Options{Layouts: denoise.Takes})
	for i, f := range frames {
		frames[i] = inPlanes(f)
	}
	return frames, err
}

func rangeOf(f *pipeline.Frame) string {
	if f.FullRange {
		return " of full range"
	}
	return ""
}
