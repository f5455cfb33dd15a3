// Package quality measures the denoiser on clips with noise of several kinds, beside the spatial
// filters and ffmpeg's denoisers at their best strengths.
package quality

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/report"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// The size of the drawn clips.
const width, height = 416, 240

// Options of Run.
type Options struct {
	Noise   []string // kinds; empty: all
	Clips   string   // glob (path.Match) of the drawn clips by set and name; "": "proof/*"
	Methods string   // glob of the rivals; "": all
	Files   []string // videos to measure on instead: as they are unless Noise or Truth is given
	Truth   string   // a clean video of the scene in Files, or ""
	Quick   bool     // no bits and no events; three clips and two kinds unless others are named
	FFmpeg  string   // the program; "": the one on the path, if any
	Crops   string   // a folder for pictures, or ""

	Width, Height int // of the drawn clips; 0: 416x240

	Version string
	Log     *slog.Logger // nil drops it
}

// Report has the measurements.
type Report struct {
	report.Header
	NoFFmpeg string    `json:"no_ffmpeg"` // why no rival was measured; "" if one was
	Footage  []Footage `json:"footage,omitempty"`
	Cells    []Cell    `json:"cells"`
	Events   []Event   `json:"events"`
}

// Cell is a clip with noise, filtered in one way.
type Cell struct {
	Noise    string `json:"noise"`
	Clip     string `json:"clip"`
	Method   string `json:"method"`
	Strength string `json:"strength"`
	Scores
}

// run is one Run at work.
type run struct {
	Options
	report  *Report
	methods []method
	clips   []clip
}

// clip is a clean clip.
type clip struct {
	name   string
	frames []*pipeline.Frame
	source func(int) int
	bar    int

	first, last int // the frames that are measured
}

// Names returns the drawn clips that a glob chooses: "" the proof's.
func Names(glob string) (names []string) {
	for _, c := range chosen(glob) {
		names = append(names, c.FullName())
	}
	return names
}

func chosen(glob string) []scene.Clip {
	glob = cmp.Or(glob, scene.Proof+"/*")
	return slices.DeleteFunc(scene.Clips(), func(c scene.Clip) bool {
		ok, err := path.Match(glob, c.FullName())
		return !ok || err != nil
	})
}

// Run measures.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Width, o.Height = cmp.Or(o.Width, width), cmp.Or(o.Height, height)
	r := &run{Options: o, report: &Report{Header: report.NewHeader(o.Version, o.Quick)}}
	backends, err := measure.Open(true, nil, false)
	if err != nil {
		return r.report, err
	}
	defer backends.Close()
	r.report.Machine, r.report.NoGPU = backends.Machine, backends.NoGPU
	r.prepare(ctx, backends.CPU)
	switch {
	case len(r.Files) > 0 && r.Truth != "":
		err = r.each(ctx, r.pair)
	case len(r.Files) > 0 && len(r.Noise) == 0:
		err = r.each(ctx, r.footage)
	default:
		err = r.noise(ctx)
	}
	return r.report, err
}

func (r *run) each(ctx context.Context, do func(ctx context.Context, name string) error) error {
	for _, name := range r.Files {
		if err := do(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// noise adds noise to clean clips.
func (r *run) noise(ctx context.Context) error {
	if err := r.readClips(ctx); err != nil {
		return err
	}
	for _, k := range r.kinds() {
		if err := r.kind(ctx, k, r.clips); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) kinds() (all []NoiseKind) {
	wanted := r.Noise
	if len(wanted) == 0 && r.Quick {
		wanted = []string{"w10", "x23"}
	}
	for _, k := range Kinds() {
		if len(wanted) == 0 && (k.coder == nil || r.report.NoFFmpeg == "") || slices.Contains(wanted, k.Name) {
			all = append(all, k)
		}
	}
	return all
}

// prepare lists the methods.
func (r *run) prepare(ctx context.Context, cpu *kernels.CPU) {
	r.methods = append([]method{untouched()}, ours()...)
	program, err := exec.LookPath(cmp.Or(r.FFmpeg, "ffmpeg"))
	if err != nil {
		r.report.NoFFmpeg = err.Error()
	}
	for _, m := range append(spatialFilters(cpu), rivals(ctx, program)...) {
		if ok, err := path.Match(cmp.Or(r.Methods, "*"), m.name); ok && err == nil {
			r.methods = append(r.methods, m)
		}
	}
}

// readClips draws clips, or reads those that are named.
func (r *run) readClips(ctx context.Context) error {
	if len(r.Files) > 0 {
		for _, name := range r.Files {
			c, err := readClip(ctx, name)
			if err != nil {
				return err
			}
			r.clips = append(r.clips, c)
		}
		return nil
	}
	r.say("drawing clips")
	drawn := slices.DeleteFunc(chosen(r.Clips), func(c scene.Clip) bool { return c.Set == scene.Events })
	if r.Quick && r.Clips == "" {
		drawn = drawn[:min(len(drawn), 3)]
	}
	r.clips = make([]clip, len(drawn))
	return parallel(ctx, len(drawn), func(i int) error {
		r.clips[i] = drawnClip(drawn[i], r.Width, r.Height)
		return nil
	})
}

func drawnClip(c scene.Clip, width, height int) clip {
	return clip{c.FullName(), c.Draw(width, height), c.Source, c.Bar(height), scene.ClipFirst, scene.ClipLast}
}

// ErrLayout is the error of a video that is not 8 bit 4:2:0.
var ErrLayout = errors.New("the clip is not of 8 bits and 4:2:0")

// readClip reads the first frames of a video.
func readClip(ctx context.Context, name string) (c clip, err error) {
	c = clip{name: filepath.Base(name), source: func(t int) int { return t }, first: scene.ClipFirst, last: scene.ClipLast}
	if c.frames, err = decoded(ctx, name, scene.ClipFrames); err != nil {
		return c, err
	}
	if len(c.frames) < scene.ClipFrames {
		return c, fmt.Errorf("%s: %d frames, want %d", name, len(c.frames), scene.ClipFrames)
	}
	for _, f := range c.frames {
		f.Quantiser = pipeline.Quantiser{} // they are taken for clean
		if f.Layout != pipeline.YUV420P || f.Width%2+f.Height%2 > 0 {
			return c, fmt.Errorf("%s: %v: %w", name, f.Format, ErrLayout)
		}
	}
	return c, nil
}

func untouched() method {
	return method{name: Untouched, run: func(_ context.Context, in []*pipeline.Frame, _ string) (result, error) {
		return result{frames: in}, nil
	}}
}

// noisyClip is a clip with noise.
type noisyClip struct {
	clip
	noisy   []*pipeline.Frame
	results map[string]*pipeline.Frame // of each method, to look at
}

// kind measures all methods with one kind of noise.
func (r *run) kind(ctx context.Context, k NoiseKind, list []clip) error {
	r.say("%s", k.Title)
	all := make([]*noisyClip, len(list))
	err := parallel(ctx, len(all), func(i int) (err error) {
		c := &noisyClip{clip: list[i], results: map[string]*pipeline.Frame{}}
		c.noisy, err = k.apply(ctx, c.clip, r.FFmpeg)
		all[i] = c
		return err
	})
	if err != nil {
		return err
	}
	if err := r.compare(ctx, k, all); err != nil {
		return err
	}
	if slices.Contains(eventKinds, k.Name) && !r.Quick {
		r.say("%s, events", k.Title)
		events, err := Events(ctx, k, r.Width, r.Height)
		r.report.Events = append(r.report.Events, events...)
		return err
	}
	return nil
}

// compare measures all methods on noisy clips, and draws crops.
func (r *run) compare(ctx context.Context, k NoiseKind, all []*noisyClip) error {
	for _, m := range r.methods {
		if !k.measures(m.name, r.Methods) {
			continue
		}
		if err := r.method(ctx, k, m, all); err != nil {
			return err
		}
	}
	if r.Crops == "" {
		return nil
	}
	return r.crops(k, all)
}

// apply returns the clip with the noise, coded and decoded if the kind is coded.
func (k NoiseKind) apply(ctx context.Context, c clip, ffmpeg string) ([]*pipeline.Frame, error) {
	noisy := k.noisy(c.frames, c.source, c.bar)
	if k.crf == 0 && k.coder == nil {
		return noisy, nil
	}
	folder, err := os.MkdirTemp("", "vidfilter-quality-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	var name string
	if k.coder != nil {
		name, err = codeBy(ctx, cmp.Or(ffmpeg, "ffmpeg"), folder, noisy, k.coder)
	} else {
		name, _, err = code(ctx, folder, noisy, k.crf)
	}
	if err != nil {
		return nil, err
	}
	coded, err := decoded(ctx, name, scene.ClipFrames)
	if err == nil && len(coded) != len(noisy) {
		err = fmt.Errorf("%s: %d frames after coding, want %d", c.name, len(coded), len(noisy))
	}
	for _, f := range coded {
		f.Format = c.frames[0].Format // the y4m between lacked the matrix
	}
	return coded, err
}

// method finds the best strength, and measures with it.
func (r *run) method(ctx context.Context, k NoiseKind, m method, all []*noisyClip) error {
	strength := ""
	if len(m.strengths) > 0 {
		best, err := hillClimb(m.start(k.sigma), len(m.strengths), func(i int) (float64, error) {
			r.say("%s: %s", k.Name, m.strengths[i])
			return meanPSNR(ctx, m, m.strengths[i], all)
		})
		if err != nil {
			return err
		}
		strength = m.strengths[best]
	}
	r.say("%s: %s", k.Name, m.name)
	cells := make([]Cell, len(all))
	err := parallel(ctx, len(all), func(i int) error {
		got, err := m.run(ctx, all[i].noisy, strength)
		if err != nil {
			return err
		}
		c := Cell{Noise: k.Name, Clip: all[i].name, Method: m.name, Strength: strength}
		if c.Scores, err = score(all[i].frames, got.frames, all[i].first, all[i].last); err != nil {
			return err
		}
		c.MS = got.time.Seconds() * 1000 / float64(len(got.frames))
		if !r.Quick && got.frames[0].Layout == pipeline.YUV420P {
			c.KBytes, err = kilobytes(ctx, got.frames)
		}
		cells[i] = c
		all[i].results[m.name] = got.frames[all[i].shown()]
		return err
	})
	r.report.Cells = append(r.report.Cells, cells...)
	return err
}

// hillClimb goes from an index to its neighbours as long as they are better.
func hillClimb(start, n int, value func(i int) (float64, error)) (best int, err error) {
	top, err := value(start)
	if err != nil {
		return start, err
	}
	best = start
	for _, way := range []int{1, -1} {
		for i := start + way; i >= 0 && i < n; i += way {
			v, err := value(i)
			if err != nil {
				return best, err
			}
			if v <= top {
				break
			}
			best, top = i, v
		}
		if best != start {
			break
		}
	}
	return best, nil
}

// meanPSNR is the mean over the clips, from no more frames than the method reads.
func meanPSNR(ctx context.Context, m method, strength string, all []*noisyClip) (float64, error) {
	values := make([]float64, len(all))
	err := parallel(ctx, len(all), func(i int) error {
		c := all[i]
		from, to := 0, len(c.frames)
		if m.reach >= 0 {
			from, to = max(c.first-m.reach, 0), min(c.last+m.reach+1, to)
		}
		got, err := m.run(ctx, c.noisy[from:to], strength)
		if err != nil {
			return err
		}
		s, err := score(c.frames[from:to], got.frames, c.first-from, c.last-from)
		values[i] = s.PSNR
		return err
	})
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(all), 1)), err
}

func kilobytes(ctx context.Context, frames []*pipeline.Frame) (float64, error) {
	folder, err := os.MkdirTemp("", "vidfilter-quality-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	_, n, err := code(ctx, folder, frames, 18)
	return float64(n) / 1000, err
}

func (r *run) say(format string, args ...any) { r.Log.Info(fmt.Sprintf(format, args...)) }

// parallel calls do for 0..n-1 on all cores, and returns the first error.
func parallel(ctx context.Context, n int, do func(i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(i)
		})
	}
	return g.Wait()
}
