package quality

import (
	"context"
	"runtime"
	"syscall"
	"time"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// method filters clips in one way. Other programs' methods have strengths, weakest first.
type method struct {
	name      string
	ours      bool // the denoiser, which measures the noise itself
	strengths []string
	start     func(sigma float64) int // the first strength to try
	// reach is how many frames before and after the measured ones change their results; below 0,
	// all do.
	reach int
	run   func(ctx context.Context, frames []*pipeline.Frame, strength string) (result, error)
}

// result is a filtered clip, and the processor's time for it.
type result struct {
	frames []*pipeline.Frame
	time   time.Duration
	models []noise.Model // measured, of each frame

	wanted map[int]bool // numbers of the frames to keep; nil: all, others are nil
}

// Names of methods that others are compared with.
const (
	Untouched = "untouched"
	Fast      = "ours, fast"
	Good      = "ours, good"
	Best      = "ours, best"
	Causal    = "ours, causal fast"
	LookAhead = "ours, causal fast, one frame of look-ahead"
	Spatial   = "ours, spatial only"
	NLMeans   = "nlmeans"
)

// ours returns the forms of the denoiser.
func ours() []method {
	return []method{
		{name: Fast, ours: true, run: tier(denoise.Fast, false)},
		{name: Good, ours: true, run: tier(denoise.Good, false)},
		{name: Best, ours: true, run: tier(denoise.Best, false)},
		{name: Causal, ours: true, run: tier(denoise.Fast, true)},
		{name: LookAhead, ours: true, run: func(ctx context.Context, in []*pipeline.Frame, _ string) (result, error) {
			s := settings(denoise.Fast, true)
			s.Ahead = 1
			return denoised(ctx, in, s)
		}},
		{name: Spatial, ours: true, run: func(ctx context.Context, in []*pipeline.Frame, _ string) (result, error) {
			full, err := denoised(ctx, in, settings(denoise.Good, false))
			if err != nil {
				return full, err
			}
			return alone(ctx, in, settings(denoise.Good, false), full.models)
		}},
	}
}

func settings(t denoise.Tier, causal bool) denoise.Settings {
	s := denoise.Default(t)
	if causal {
		s.Ahead = 0
	}
	return s
}

func tier(t denoise.Tier, causal bool) func(context.Context, []*pipeline.Frame, string) (result, error) {
	return func(ctx context.Context, in []*pipeline.Frame, _ string) (result, error) {
		return denoised(ctx, in, settings(t, causal))
	}
}

// denoised filters a clip as a job does, the noise measured by the filter.
func denoised(ctx context.Context, in []*pipeline.Frame, s denoise.Settings) (result, error) {
	return denoisedOf(ctx, in, s, nil)
}

// denoisedOf is denoised, and keeps some of the results alone.
func denoisedOf(ctx context.Context, in []*pipeline.Frame, s denoise.Settings, wanted map[int]bool) (r result, err error) {
	r.wanted = wanted
	pool := pipeline.NewPool(kernels.Host{}, 2)
	defer pool.Close()
	f := denoise.NewFilter(newEngine(), pool, denoise.Options{Settings: s})
	f.OnNoise(func(m noise.Model, _ bool) { r.models = append(r.models, m) })
	err = r.feed(ctx, f, in)
	return r, err
}

// feed passes copies of the frames through a filter.
func (r *result) feed(ctx context.Context, f pipeline.Filter, in []*pipeline.Frame) error {
	stop := processorTime()
	defer func() { r.time = stop() }()
	emit := func(f *pipeline.Frame) error {
		var kept *pipeline.Frame
		if r.wanted == nil || r.wanted[len(r.frames)] {
			kept = copyOf(f)
		}
		r.frames = append(r.frames, kept)
		f.Release()
		return nil
	}
	for _, frame := range in {
		if err := f.Process(ctx, copyOf(frame), emit); err != nil {
			pipeline.Discard(f)
			return err
		}
	}
	return f.Flush(ctx, emit)
}

// alone filters each frame without its neighbours, by the noise of the models.
func alone(ctx context.Context, in []*pipeline.Frame, s denoise.Settings, models []noise.Model) (r result, err error) {
	e := newEngine()
	defer e.Idle()
	stop := processorTime()
	defer func() { r.time = stop() }()
	for i, f := range in {
		out := copyOf(f)
		r.frames = append(r.frames, out)
		if models[i].Clean() {
			continue
		}
		for _, field := range plane.Fields(f) {
			p, err := e.Prepare(ctx, f, field)
			if err != nil {
				return r, err
			}
			_, err = e.Denoise(ctx, denoise.Job{Out: out, Field: field, Window: []denoise.Picture{p}, Noise: models[i], Settings: s})
			p.Release()
			if err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// processorTime starts to measure the time of this thread, which other programs do not lengthen.
func processorTime() (stop func() time.Duration) {
	runtime.LockOSThread()
	from := threadTime()
	return func() time.Duration {
		defer runtime.UnlockOSThread()
		return threadTime() - from
	}
}

func threadTime() time.Duration {
	const thisThread = 1
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spatialFilters returns this program's filters without the time, at the best of a few strengths.
func spatialFilters(c *kernels.CPU) []method {
	bilateral := []kernels.Stage{}
	for _, p := range []struct {
		radius int
		sigma  float64
	}{{2, 4}, {2, 8}, {2, 15}, {2, 25}, {3, 25}, {2, 40}, {3, 40}, {3, 70}, {3, 100}} {
		q := kernels.DefaultBilateral(p.radius)
		q.SigmaR = p.sigma
		bilateral = append(bilateral, q)
	}
	recursive := []kernels.Stage{}
	for _, p := range []struct{ space, sigma float64 }{{2, 4}, {3, 8}, {5, 15}, {5, 30}, {10, 30}, {5, 60}, {10, 60}, {10, 120}} {
		q := kernels.DefaultRecursive()
		q.SigmaS, q.SigmaR = p.space, p.sigma
		recursive = append(recursive, q)
	}
	return []method{
		ownFilter(c, "bilateral", bilateral, []float64{1, 2, 5, 8, 10, 14, 18, 25, 40}),
		ownFilter(c, "recursive", recursive, []float64{1, 2, 5, 9, 11, 18, 25, 40}),
	}
}

// ownFilter is a filter of this program with parameters for rising noise.
func ownFilter(c *kernels.CPU, name string, all []kernels.Stage, sigmas []float64) method {
	m := method{name: name, start: nearest(sigmas)}
	byText := map[string]kernels.Stage{}
	for _, p := range all {
		s := describe(p)
		m.strengths = append(m.strengths, s)
		byText[s] = p
	}
	m.run = func(ctx context.Context, in []*pipeline.Frame, strength string) (r result, err error) {
		pool := pipeline.NewPool(kernels.Host{}, 2)
		defer pool.Close()
		f, err := c.Filter(byText[strength], pool)
		if err != nil {
			return r, err
		}
		start := time.Now() // the work is on threads of the backend's
		err = r.feed(ctx, f, in)
		r.time = time.Since(start)
		return r, err
	}
	return m
}

func describe(s kernels.Stage) string {
	sigmaR := number(kernels.NumberOf(s, "sigma-r"))
	if p, ok := s.(kernels.Recursive); ok {
		return "sigmas " + number(p.SigmaS) + ", " + sigmaR
	}
	return "radius " + number(kernels.NumberOf(s, "radius")) + ", sigma " + sigmaR
}

// nearest returns the index of the value next to a sigma.
func nearest(values []float64) func(float64) int {
	return func(sigma float64) (best int) {
		for i, v := range values {
			if max(v/sigma, sigma/v) < max(values[best]/sigma, sigma/values[best]) {
				best = i
			}
		}
		return best
	}
}
