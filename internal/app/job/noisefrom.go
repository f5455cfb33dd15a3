package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"vidfilter/decode"
	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/stages"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// NoiseFrom is where in a video its noise is measured.
type NoiseFrom struct {
	At  time.Duration
	Box noise.Box // zero: the whole picture
}

const noiseFromHint = "give a time, or a time and a box: 12.5, or 1:02,X,Y,W,H in pixels"

func parseNoiseFrom(s string) (*NoiseFrom, error) {
	at, rest, boxed := strings.Cut(s, ",")
	t, err := cli.ParseTime(at)
	if err != nil {
		return nil, cli.Usagef(noiseFromHint, "%v", err)
	}
	n := &NoiseFrom{At: t}
	if !boxed {
		return n, nil
	}
	fields := strings.Split(rest, ",")
	to := []*int{&n.Box.X, &n.Box.Y, &n.Box.Width, &n.Box.Height}
	if len(fields) != len(to) {
		return nil, cli.Usagef(noiseFromHint, "%d numbers after the time instead of 4", len(fields))
	}
	for i, f := range fields {
		if *to[i], err = strconv.Atoi(f); err != nil || *to[i] < 0 || *to[i] > 1<<20 {
			return nil, cli.Usagef(noiseFromHint, "%q is not a number of pixels", f)
		}
	}
	if n.Box.Width < noise.LeastSide || n.Box.Height < noise.LeastSide {
		return nil, cli.Usagef(fmt.Sprintf("make it at least %dx%d", noise.LeastSide, noise.LeastSide),
			"a box of %dx%d is too small to measure noise in", n.Box.Width, n.Box.Height)
	}
	return n, nil
}

// mostProfile is more than any noise profile has.
const mostProfile = 1 << 20

// profileText returns the noise profile that a value names, or the value: it may be the profile
// itself, as in the jobs of a batch, which then need no file.
func profileText(s string) string {
	if m, err := parseProfile(s); err == nil {
		return compact(*m)
	}
	return s
}

func compact(m noise.Model) string { return strings.Join(strings.Fields(string(m.Profile())), "") }

func readProfile(name string) ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(name), "{") {
		return []byte(name), nil
	}
	switch st, err := os.Stat(name); {
	case err != nil:
		return nil, errors.Unwrap(err)
	case !st.Mode().IsRegular():
		return nil, errors.New("not a plain file")
	case st.Size() > mostProfile:
		return nil, errors.New("not a noise profile: it is too large")
	}
	return os.ReadFile(name)
}

func parseProfile(s string) (*noise.Model, error) {
	var m noise.Model
	b, err := readProfile(s)
	if err == nil {
		m, err = noise.ParseProfile(b)
	}
	if err != nil {
		return nil, cli.Usagef("vidfilter info --noise --save FILE writes a noise profile", "%v", err)
	}
	return &m, nil
}

// checkNoise: the noise is known in one way, and to the denoiser alone.
func (o *Options) checkNoise() error {
	name := "--noise-from"
	if o.Profile != nil {
		o.NoiseFrom, name = nil, "--noise-profile" // of a part with both, segments has measured there
	}
	_, denoises := o.denoiser()
	switch {
	case o.NoiseFrom == nil && o.Profile == nil:
		return nil
	case !denoises:
		return cli.Usagef("leave the options of other filters out", "%s is an option of the denoise filter", name)
	case o.NoiseFrom != nil && o.Input == "-":
		return cli.Usagef("save the input to a file first", "--noise-from reads the input twice, and a pipe can be read once")
	case o.NoiseFrom != nil && o.Part != nil:
		return cli.Usagef("vidfilter segments measures it, for --noise-profile", "--noise-from: a part may lack the time")
	}
	if o.know(o.Profile); o.NoiseFrom != nil {
		o.know(&noise.Model{}) // until it is measured
	}
	return nil
}

// measureNoise measures the noise for --noise-from, if it is given. It reports doubts by tell.
func (o *Options) measureNoise(ctx context.Context, frames *pipeline.Pool, tell func(string)) error {
	n := o.NoiseFrom
	if n == nil || o.Join != "" {
		return nil
	}
	d := o.decoding(nil)
	d.Start, d.Duration, d.Frames, d.Part = n.At, time.Second, noiseFrames, nil
	d.NoAudio, d.NoSubs, d.Quantisers = true, true, true
	m, warnings, err := n.measure(ctx, o.Input, d, frames)
	if err != nil {
		return fmt.Errorf("--noise-from %v: %w", n, err)
	}
	if scales.MatchString(stages.Before.Of(o.Filters).Text) {
		tell(fmt.Sprintf("--noise-from %v measures the source, and --before scales its noise: leave --noise-from out", n))
	}
	for _, w := range warnings {
		tell(fmt.Sprintf("--noise-from %v: %s: choose a flat part that stands still", n, w))
	}
	m, err = noise.ParseProfile(m.Profile()) // as it is carried to those that filter parts
	o.know(&m)
	return err
}

// denoiser returns the options of the denoiser, and whether it is the job's main filter.
func (o *Options) denoiser() (kernels.Denoise, bool) {
	p, ok := o.Filters.Main().(kernels.Denoise)
	return p, ok
}

// know has the denoiser take the noise as known.
func (o *Options) know(m *noise.Model) {
	kernels.Edit(&o.Filters, func(p *kernels.Denoise) { p.Known = m })
}

func (n *NoiseFrom) String() string {
	s := strconv.FormatFloat(n.At.Seconds(), 'f', -1, 64)
	if n.Box == (noise.Box{}) {
		return s
	}
	return fmt.Sprintf("%s,%d,%d,%d,%d", s, n.Box.X, n.Box.Y, n.Box.Width, n.Box.Height)
}

// scales finds filters of FFmpeg by which noise changes its size.
var scales = regexp.MustCompile(`\bz?scale\b`)

// noiseFrames bounds the frames of a second that are measured.
const noiseFrames = 60

// measure reads the frames of a second.
func (n *NoiseFrom) measure(ctx context.Context, path string, o decode.Options, frames *pipeline.Pool) (m noise.Model, warnings []string, err error) {
	in, err := decode.Open(ctx, path, frames, o)
	if err != nil {
		return m, nil, err
	}
	defer in.Close()
	var survey noise.Survey
	var spot *noise.Spot
	var last *pipeline.Frame
	release := func() {}
	defer func() { release() }()
	for {
		f, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil && last == nil && n.At > 0 && errors.Is(err, decode.ErrUnreadable) {
			err = cli.Usagef("choose an earlier time", "the video has no picture there")
		}
		if err == nil && last == nil {
			if err = n.fits(f); err != nil {
				f.Release()
			} else if n.Box != (noise.Box{}) {
				spot = noise.NewSpot(n.inField(f))
			}
		}
		if err != nil {
			return m, nil, err
		}
		if last != nil && (f.Format != last.Format || f.Interlaced != last.Interlaced) {
			f.Release()
			break
		}
		if spot != nil {
			denoise.Observe(spot, f)
		} else {
			denoise.Observe(&survey, f)
		}
		release()
		last, release = f, f.Release
	}
	if spot == nil {
		return survey.Model(), nil, nil
	}
	m, warnings, err = spot.Model()
	if err != nil {
		err = hint.Wrap(err, "choose a part of middle brightness")
	}
	return m, warnings, err
}

// fits checks that the box lies in a picture.
func (n *NoiseFrom) fits(f *pipeline.Frame) error {
	if b := n.Box; b.X+b.Width > f.Width || b.Y+b.Height > f.Height {
		return cli.Usagef("X and Y are its left and upper edge, W and H its size",
			"the box of %dx%d at %d,%d reaches beyond the picture of %dx%d", b.Width, b.Height, b.X, b.Y, f.Width, f.Height)
	}
	return nil
}

// inField returns the box in the pictures that are measured: of an interlaced frame, a field.
func (n *NoiseFrom) inField(f *pipeline.Frame) noise.Box {
	b := n.Box
	if f.Interlaced {
		b.Y, b.Height = b.Y/2, b.Height/2
	}
	return b
}
