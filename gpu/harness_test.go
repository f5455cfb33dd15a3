package gpu

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// slow is set on the test driver, which runs kernels on the CPU: tests over many kernels and
// options then take each once, not in all combinations.
var slow = os.Getenv(testdriver.RealDevice) != "1"

// onDriver runs the rest of a test in a child process, or on this machine's GPU.
func onDriver(t *testing.T, options string) bool {
	t.Helper()
	return testdriver.OnDevice(t, options)
}

// oneDevice are options for a device to time: a GPU, or one of the driver's.
func oneDevice() string {
	if slow {
		return "devices=1"
	}
	return ""
}

// patience is short with a driver that does not answer. Otherwise a busy machine has time.
func patience(driver string) time.Duration {
	if strings.HasPrefix(driver, "hang") {
		return 300 * time.Millisecond
	}
	return defaultPatience
}

// compares skips a test of results under -short, which the race detector runs with: it slows the
// reference down, and finds no error in tests that filter one frame after another.
func compares(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
}

func open(t *testing.T, o Options) *Backend {
	t.Helper()
	if o.Log == nil {
		o.Log = terminal.LogTo(slog.LevelDebug, func(_ slog.Level, msg string) { t.Log(msg) })
	}
	b, err := Open(o)
	e2e.Must(t, err)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// film is a source of pictures, each with its own time and expected result.
type film struct {
	pool   *pipeline.Pool
	format pipeline.Format
	scenes []*pipeline.Frame
	frames int
	next   int

	interlaced bool
}

func newFilm(t *testing.T, b *Backend, format pipeline.Format, frames int) *film {
	f := &film{pool: pipeline.NewPool(b.Input(), 1), format: format, frames: frames}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		s := kerneltest.Frame(format)
		kerneltest.Scene(s, rng)
		f.scenes = append(f.scenes, s)
	}
	t.Cleanup(func() { f.close(t) })
	return f
}

// close frees the film's memory, which must all have been released.
func (f *film) close(t *testing.T) {
	if n := f.pool.InUse(); n != 0 {
		t.Errorf("%d input frames were never released", n)
	}
	f.pool.Close()
}

// frame returns an owned frame i.
func (f *film) frame(i int) (*pipeline.Frame, error) {
	fr, err := f.pool.TakeFrame(f.format, nil)
	if err != nil {
		return nil, err
	}
	fr.CopySamples(f.scenes[i%len(f.scenes)])
	fr.PTS, fr.Duration, fr.Interlaced = int64(i), 1, f.interlaced
	return fr, nil
}

func (f *film) Next(ctx context.Context) (*pipeline.Frame, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if f.next == f.frames {
		return nil, io.EOF
	}
	f.next++
	return f.frame(f.next - 1)
}

// answers returns the film's pictures filtered by the reference.
func (f *film) answers(t *testing.T, p kernels.Planned) []*pipeline.Frame {
	t.Helper()
	var all []*pipeline.Frame
	for _, s := range f.scenes {
		all = append(all, reference(t, s, p))
	}
	return all
}

func reference(t *testing.T, src *pipeline.Frame, p kernels.Planned) *pipeline.Frame {
	t.Helper()
	want := kerneltest.Frame(src.Format)
	e2e.Must(t, kernels.Reference(want, src, p))
	return want
}

// screen is a sink that compares pictures with the expected ones.
type screen struct {
	t       *testing.T
	answers []*pipeline.Frame
	delay   time.Duration
	mu      sync.Mutex
	seen    int
	pixels  []byte // of all frames, if keep
	keep    bool
}

func (s *screen) Put(_ context.Context, f *pipeline.Frame) error {
	defer f.Release()
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.PTS != int64(s.seen) || f.Duration != 1 {
		s.t.Errorf("frame %d has time %d and duration %d", s.seen, f.PTS, f.Duration)
	}
	if d := kerneltest.Compare(f, s.answers[int(f.PTS)%len(s.answers)]); d.Largest > 1 {
		s.t.Errorf("frame %d: %s", f.PTS, d)
	}
	if s.keep {
		scene.EachSample(f, func(plane, x, y int) byte {
			s.pixels = append(s.pixels, f.Row(plane, y)[x])
			return f.Row(plane, y)[x]
		})
	}
	s.seen++
	return nil
}

func (s *screen) Finish(context.Context) error { return nil }

// show runs a film through a filter of b whose pool has limit blocks.
func show(t *testing.T, ctx context.Context, b *Backend, f *film, s *screen, p kernels.Planned, limit int) error {
	t.Helper()
	pool := pipeline.NewPool(b, limit)
	defer pool.Close()
	filter, err := b.Filter(p, pool)
	e2e.Must(t, err)
	err = pipeline.Run(ctx, f, []pipeline.Filter{filter}, s, pipeline.Options{})
	if n := pool.InUse(); n != 0 {
		t.Errorf("%d results were never released", n)
	}
	return err
}

var smallFormat = pipeline.Format{Layout: pipeline.YUV420P, Width: 70, Height: 46, Matrix: pipeline.BT709}
