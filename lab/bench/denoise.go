package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"time"

	"vidfilter/denoise/motion"
	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// DenoiseSection has the times of the denoiser, the default filter, on the GPU and the CPU.
type DenoiseSection struct {
	Peak measure.Peak `json:"cpu"` // of all its threads
	Rows []DenoiseRow `json:"rows"`
}

// DenoiseRow is one quality at one size and depth of 4:2:0.
type DenoiseRow struct {
	FilterRow        // Floor: see denoiseOperations; on the CPU with searchDifferences
	Quality   string `json:"quality"`

	Kernels *Stat         `json:"kernels"`              // of the GPU alone; nil on the CPU
	Each    []DenoisePart `json:"each,omitempty"`       // with Options.Verbose
	NLMeans float64       `json:"nlmeans_ms,omitempty"` // ffmpeg's filter on all cores; 0 if it was not measured
}

// DenoisePart is the time of one kernel of a frame.
type DenoisePart struct {
	Kernel  string  `json:"kernel"`
	Blocks  int     `json:"blocks"`
	Threads int     `json:"threads"` // per block
	Shared  int     `json:"shared_bytes"`
	Time    float64 `json:"ms"`
}

// denoiseFrames fill the largest window without repeating a frame.
const denoiseFrames = 13

// depths lists the sample depths of the denoiser and of the filters before it.
var depths = []pipeline.Layout{pipeline.YUV420P, pipeline.YUV420P.At(10)}

// denoiseOperations counts the operations on floats that the passes cannot do without: of each
// coefficient of a patch, its share of the fast transforms (10 at 8x8, 14 at 16x16) in each frame
// and back, and 12 for its weight and mean in each frame.
func denoiseOperations(p kernels.Denoise, f pipeline.Format) float64 {
	const first, second, average = 10, 14, 12
	s, samples := p.Denoising(0).Settings, float64(measure.FrameBytes(f)/f.Layout.Info().SampleBytes())
	pass := func(side, stride, reach, transform, more int) float64 {
		frames := 2*reach + 1
		return float64(side*side*(frames*(transform+average)+more*transform)) / float64(stride*stride)
	}
	all := pass(8, s.First.Stride, s.Near, first, 1)
	if s.TwoPasses {
		all += pass(16, s.Second.Stride, s.Far, second, 2) // the pilot is also transformed
	}
	return all * samples
}

// searchDifferences counts the differences of samples that the search of a frame cannot do without:
// of cells that do not move, with 8 places around on each level of the pyramid and 8 half steps at
// the finest, and where there are two passes of the refinement, with 8 half steps.
func searchDifferences(p kernels.Denoise, f pipeline.Format) float64 {
	const window, all, around = 16 * 16, 13 * 13, 8
	s := p.Denoising(0).Settings
	samples := float64(f.Width * f.Height)
	coarsest := motion.Levels(f.Width, f.Height) - 1
	found := 1.0 + 2*around
	for level := 1; level < coarsest; level++ {
		found += (1 + around) / math.Pow(4, float64(level))
	}
	found += all / math.Pow(4, float64(coarsest))
	windows := 2 * float64(s.Near) * found / (motion.Cell * motion.Cell)
	if s.TwoPasses {
		windows += 2 * float64(s.Far) * (1 + around) / (motion.RefinedCell * motion.RefinedCell)
	}
	return window * samples * windows
}

// denoiseBound allows for the order of additions on each device.
var denoiseBound = Check{Largest: 2, Share: 0.05}

func (r *run) denoise(ctx context.Context) (*DenoiseSection, error) {
	s := &DenoiseSection{Peak: r.peak()}
	for _, b := range []struct {
		backend kernels.Backend
		sizes   []Size
		use     bool
	}{
		{r.GPU, r.sizes([]Size{size1080, size4K}, []Size{size1080}), r.GPU != nil},
		{r.CPU, r.sizes([]Size{size1080}, []Size{size1080}), true},
	} {
		for _, size := range b.sizes {
			for _, l := range depths {
				if !b.use {
					continue
				}
				if err := r.denoiseRows(ctx, s, b.backend, measure.FormatOf(l, size)); err != nil {
					return s, err
				}
			}
		}
	}
	return s, nil
}

// denoiseRows measures each quality on one kind of frame.
func (r *run) denoiseRows(ctx context.Context, s *DenoiseSection, b kernels.Backend, f pipeline.Format) error {
	frames, nlmeans := measure.Pan(f, denoiseFrames), 0.0
	if b == kernels.Backend(r.CPU) && f.Layout.Info().Depth == 8 { // nlmeans has no other depth
		var err error
		if nlmeans, err = r.nlmeans(ctx, frames[:3]); err != nil {
			return err
		}
	}
	for quality := kernels.Fast; quality <= kernels.Best; quality++ {
		p := kernels.DefaultDenoise()
		p.Quality, p.Noise = quality, measure.PanSigma
		row, err := r.denoiseRow(ctx, b, p, frames)
		if err != nil {
			return err
		}
		row.NLMeans = nlmeans
		s.Rows = append(s.Rows, row)
	}
	return nil
}

func (r *run) denoiseRow(ctx context.Context, b kernels.Backend, p kernels.Denoise, frames []*pipeline.Frame) (row DenoiseRow, err error) {
	f, reference := frames[0].Format, func(pool *pipeline.Pool) pipeline.Filter { return kernels.NewReferenceDenoiser(pool, p) }
	row.Quality = p.Quality.String()
	what := fmt.Sprintf("denoise --quality %s on %s", p.Quality, b.Name())
	if row.FilterRow, err = r.filterRow(ctx, b, p, what, reference, denoiseOperations(p, f), frames); err != nil {
		return row, err
	}
	g, ok := b.(*gpu.Backend)
	if !ok {
		row.Floor += searchDifferences(p, f) / r.peak().Differences / 1e6
		return row, nil
	}
	times, err := g.TimeDenoise(ctx, frames, p, r.repeatOf(), r.o.Verbose)
	if err != nil {
		return row, err
	}
	all := measure.StatOf(times.All)
	row.Kernels = &all
	for _, k := range times.Each {
		row.Each = append(row.Each, DenoisePart{k.Kernel, k.Blocks[0] * k.Blocks[1], k.Threads, k.Shared, measure.Milliseconds(k.Time)})
	}
	return row, nil
}

// checkClip compares a frame of a small clip with the reference's, once for each key.
func (r *run) checkClip(ctx context.Context, b kernels.Backend, p kernels.Stage, reference func(*pipeline.Pool) pipeline.Filter, l pipeline.Layout, what string) (Check, error) {
	key := checked{b.Name(), l, p}
	if c, ok := r.seen[key]; ok {
		return c, nil
	}
	const frames, middle = 5, 2
	src := r.clip(p, measure.FormatOf(l, Size{Width: 72, Height: 50}), frames)
	pool := pipeline.NewPool(b, b.Held(p)+1)
	defer pool.Close()
	want := pipeline.Blank(src[0].Format)
	if err := measure.FilterClip(ctx, reference(pool), want, middle, src...); err != nil {
		return Check{}, err
	}
	_, onGPU := b.(*gpu.Backend)
	what = fmt.Sprintf("%s, %s,", what, src[0].Format)
	c, err := measure.Verify(src[middle], want, denoiseBound, what, onGPU, func(dst, _ *pipeline.Frame) error {
		filter, err := b.Filter(p, pool)
		if err != nil {
			return err
		}
		return measure.FilterClip(ctx, filter, dst, middle, src...)
	})
	if err == nil {
		r.seen[key] = c
	}
	return c, err
}

// nlmeans returns how many milliseconds ffmpeg's nlmeans takes for a frame: the time with it less
// the time without. It is 0 without ffmpeg, or if the frames are too small to see a difference.
func (r *run) nlmeans(ctx context.Context, frames []*pipeline.Frame) (float64, error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return 0, nil
	}
	r.say("ffmpeg's nlmeans, %s", frames[0].Format)
	var raw bytes.Buffer
	for _, f := range frames {
		for i, y := range f.Rows() {
			raw.Write(f.Row(i, y))
		}
	}
	time := func(filter string) (time.Duration, error) {
		start := time.Now()
		cmd := exec.CommandContext(ctx, program, "-v", "error", "-f", "rawvideo", "-pix_fmt", frames[0].Layout.String(),
			"-s", fmt.Sprintf("%dx%d", frames[0].Width, frames[0].Height), "-i", "-", "-vf", filter, "-f", "null", "-")
		cmd.Stdin = bytes.NewReader(raw.Bytes())
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("bench: ffmpeg -vf %s: %w\n%s", filter, err, out)
		}
		return time.Since(start), nil
	}
	without, err := time("null")
	if err != nil {
		return 0, err
	}
	with, err := time("nlmeans=s=" + strconv.Itoa(measure.PanSigma))
	return max(0, measure.Milliseconds(with-without)/float64(len(frames))), err
}
