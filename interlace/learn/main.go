// Command learn makes the tables of the deinterlacer from progressive video:
//
//	go run ./interlace/learn -o interlace/weights.bin CLIP...
//
// Each frame of a clip gives one field, and the rows left out are the truth. Use clips of 25 to 60
// frames per second, without noise and coding artefacts, of at least 12 frames. Small pictures do:
// 25 clips of 640x360 take an hour on two cores. The same clips give the same tables.
//
// -measure prints the PSNR of the missing rows with the tables that the program has, without
// learning.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"vidfilter/decode"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// frames is the number of frames used of a clip.
const frames = 12

// clip is the luma of a progressive video, 8 bits.
type clip struct {
	name  string
	truth []plane.Plane
}

func main() {
	out := flag.String("o", "weights.bin", "file to write")
	measure := flag.Bool("measure", false, "measure the program's tables")
	flag.Parse()
	if err := run(*out, *measure, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "learn:", err)
		os.Exit(1)
	}
}

func run(out string, measure bool, names []string) error {
	if len(names) == 0 {
		return errors.New("name the clips to learn from")
	}
	var clips []*clip
	for _, name := range names {
		c, err := read(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		clips = append(clips, c)
	}
	if measure {
		report(clips, interlace.Learned(), 0)
		report(clips, interlace.Learned(), 8)
		return nil
	}
	t := new(interlace.Tables)
	t.Net = learnNet(clips)
	for pass := range interlace.Passes {
		learnPass(t, pass, clips)
	}
	report(clips, t, 0)
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, t); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o666)
}

// read returns the first frames of a video.
func read(name string) (*clip, error) {
	ctx := context.Background()
	pool := pipeline.NewPool(kernels.Host{}, 4)
	defer pool.Close()
	in, err := decode.Open(ctx, name, pool, decode.Options{Frames: frames})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	c := &clip{name: filepath.Base(name)}
	for {
		f, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		c.truth = append(c.truth, plane.Of(f, plane.Whole).Planes[0].Reduced(8))
		f.Release()
	}
	if len(c.truth) < frames {
		return nil, fmt.Errorf("%d frames: learning takes %d", len(c.truth), frames)
	}
	return c, nil
}

// noisy returns a copy of a plane with white noise of standard deviation sigma.
func noisy(p plane.Plane, sigma float64, seed uint64) plane.Plane {
	out, random := p.Like(), rand.New(rand.NewPCG(seed, 0))
	for i, v := range p.Pix {
		out.Pix[i] = uint16(min(max(math.Round(float64(v)+sigma*random.NormFloat64()), 0), 255))
	}
	return out
}

// fields returns a field of each frame, top and bottom in turns.
func (c *clip) fields(sigma float64, t *interlace.Tables) (all []*interlace.Lines) {
	for i, p := range c.truth {
		all = append(all, interlace.LumaLines(noisy(p, sigma, uint64(i)), i%2 == 1, t))
	}
	return all
}

// window returns the fields around field n.
func window(fields []*interlace.Lines, n int) *[2*interlace.Reach + 1]*interlace.Lines {
	var w [2*interlace.Reach + 1]*interlace.Lines
	for i := range w {
		if k := n + i - interlace.Reach; k >= 0 && k < len(fields) {
			w[i] = fields[k]
		}
	}
	return &w
}

// margin is the number of samples at a picture's edges that are neither learned from nor measured.
const margin = 8

// missing calls visit for each missing sample of field n inside the margins.
func (c *clip) missing(n int, visit func(x, y int)) {
	p := c.truth[n]
	for y := margin + (n+1)%2; y < p.Height-margin; y += 2 {
		for x := margin; x < p.Width-margin; x++ {
			visit(x, y)
		}
	}
}

// mse returns the mean squared error of field n's missing samples in a picture.
func (c *clip) mse(n int, got plane.Plane) float64 {
	sum, samples := 0.0, 0
	c.missing(n, func(x, y int) {
		d := float64(got.At(x, y) - c.truth[n].At(x, y))
		sum, samples = sum+d*d, samples+1
	})
	return sum / float64(samples)
}

// report prints the PSNR of the missing rows.
func report(clips []*clip, t *interlace.Tables, sigma float64) {
	db := make([]float64, len(clips))
	each(clips, func(i int, c *clip) {
		fields, sum := c.fields(sigma, t), 0.0
		for n := interlace.Reach; n < frames-interlace.Reach; n++ {
			sum += c.mse(n, interlace.Reference(window(fields, n))[0])
		}
		db[i] = 10 * math.Log10(255*255*(frames-2*interlace.Reach)/sum)
	})
	mean := 0.0
	for i, c := range clips {
		fmt.Printf("%-24s noise %g: %.2f dB\n", c.name, sigma, db[i])
		mean += db[i] / float64(len(clips))
	}
	fmt.Printf("%-24s noise %g: %.3f dB\n", "mean", sigma, mean)
}

// each calls do for all clips, some at a time.
func each(clips []*clip, do func(i int, c *clip)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, c := range clips {
		slots <- struct{}{}
		all.Go(func() {
			do(i, c)
			<-slots
		})
	}
	all.Wait()
}
