package scene

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"

	"vidfilter/pipeline"
)

// Config describes a clip of the lake. Width and Height are in pixels, 16 to 16384.
type Config struct {
	Width, Height    int
	Frames           int
	RateNum, RateDen int    // frames per second as a fraction
	Noise            int    // deviation of mid-tone grain, in 1/256 code value; 0 to 64*256
	Seed             uint64 // of the grain, independent of the scene
	Bare             bool   // without the caption of frame number and time
}

// Check returns an error that names a value out of range.
func (c Config) Check() error {
	switch {
	case c.Width < 16 || c.Height < 16 || c.Width > 16384 || c.Height > 16384:
		return fmt.Errorf("scene: size %dx%d: want 16 to 16384 each way", c.Width, c.Height)
	case c.Frames < 1:
		return fmt.Errorf("scene: %d frames: want at least one", c.Frames)
	case c.RateNum < 1 || c.RateDen < 1 || c.RateNum > 1<<20 || c.RateDen > 1<<20:
		return fmt.Errorf("scene: rate %d/%d: want both parts in 1 to %d", c.RateNum, c.RateDen, 1<<20)
	case c.Noise < 0 || c.Noise > 64*256:
		return fmt.Errorf("scene: noise %d/256: want 0 to 64", c.Noise)
	}
	return nil
}

// Format is the frames' format: yuv420p, BT.709, limited range.
func (c Config) Format() pipeline.Format {
	return pipeline.Format{Layout: pipeline.YUV420P, Width: c.Width, Height: c.Height, Matrix: pipeline.BT709}
}

// Draw draws frame n, counted from 0, of a checked configuration on a frame of its format.
func (c Config) Draw(f *pipeline.Frame, n int) {
	seconds := float64(n) * float64(c.RateDen) / float64(c.RateNum)
	scale := float64(c.Height) / viewHeight
	s := lake(seconds)
	if !c.Bare {
		s = caption(n, seconds).Moved(16-float64(c.Width)/2/scale, 16).over(s)
	}
	side := 2
	if c.Height >= 2*viewHeight {
		side = 1 // a sample is at most half a unit, and large pictures take long
	}
	half := float64(c.Width) / 2
	Scene(func(x, y float64) Colour {
		c := s((x-half)/scale, y/scale)
		c.Y = min(c.Y, 235)
		return c
	}).draw(f, side)
	if c.Noise > 0 {
		c.addGrain(f, n)
	}
}

// addGrain adds noise of a normal distribution, blurred by 1-3-1 both ways so that grains are one
// to two pixels wide. It is strongest in mid-tones, as in film.
func (c Config) addGrain(f *pipeline.Frame, n int) {
	const (
		dark   = 0.4      // gain in black and white, of the mid-tones'
		colour = 0.35     // gain of chroma, of luma
		unit   = 256 * 11 // a blur multiplies the deviation by sqrt(1+9+1)
	)
	for i := 2; i >= 0; i-- { // luma last: its brightness decides the gain
		w, h := f.PlaneSize(i)
		shift := min(i, 1)
		blurred := make([][]float64, h+2)
		parallel(h+2, func(y int) {
			r := rand.New(rand.NewPCG(c.Seed, uint64(n)<<32|uint64(y)<<2|uint64(i)))
			a, b := r.NormFloat64(), r.NormFloat64()
			row := make([]float64, w)
			for x := range row {
				next := r.NormFloat64()
				row[x] = a + 3*b + next
				a, b = b, next
			}
			blurred[y] = row
		})
		parallel(h, func(y int) {
			row, bright := f.Row(i, y), f.Row(0, y<<shift)
			for x, v := range row {
				l := min(max(float64(bright[x<<shift])-16, 0), 219)
				gain := float64(c.Noise) / unit * (dark + (1-dark)*4*l*(219-l)/(219*219))
				if i > 0 {
					gain *= colour
				}
				noise := blurred[y][x] + 3*blurred[y+1][x] + blurred[y+2][x]
				row[x] = byte(min(max(float64(v)+gain*noise, 1), 254) + 0.5) // 0 and 255 are reserved
			}
		})
	}
}

// WriteY4M draws all frames and writes them to w as YUV4MPEG2.
func WriteY4M(w io.Writer, cfg Config) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20) // keeps its first error
	fmt.Fprintf(out, "YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED\n",
		cfg.Width, cfg.Height, cfg.RateNum, cfg.RateDen)
	f := pipeline.Blank(cfg.Format())
	for n := range cfg.Frames {
		cfg.Draw(f, n)
		out.WriteString("FRAME\n")
		for i, y := range f.Rows() {
			if _, err := out.Write(f.Row(i, y)); err != nil {
				return fmt.Errorf("scene: write frame: %w", err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("scene: write frame: %w", err)
	}
	return nil
}
