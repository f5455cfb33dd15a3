// Package stream filters frames that a caller pushes one by one: the C library without C. It does
// not decode or encode.
package stream

import (
	"context"
	"errors"
	"fmt"
	"io"

	"vidfilter/enhance"
	"vidfilter/gpu"
	"vidfilter/internal/contract"
	"vidfilter/internal/filters"
	"vidfilter/internal/hint"
	"vidfilter/internal/stages"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Fields is how the frames of a stream are made.
type Fields int

// The kinds of Fields.
const (
	Progressive Fields = iota
	TopFirst
	BottomFirst
	Mixed // by frame
)

// Format describes the frames of a stream. Results have the same size and layout.
type Format struct {
	pipeline.Format
	Fields   Fields
	Rate     pipeline.Ratio // frames a second; unknown: times count frames
	Unit     pipeline.Ratio // seconds, of times; unknown: times count frames
	Lossless bool           // no lossy codec has changed the noise
	Live     bool           // each result is there when its frame has been pushed
}

// SetNames sets the layout by FFmpeg's name, which may also mean the full range, and the matrix by
// its name. Without one, the height decides.
func (f *Format) SetNames(layout, matrix string) error {
	for _, l := range pipeline.Layouts() {
		if i := l.Info(); layout == i.Name || layout != "" && layout == i.FullRange {
			f.Layout, f.FullRange = l, f.FullRange || layout == i.FullRange
		}
	}
	if !f.Layout.Valid() {
		return usage("names are FFmpeg's, as yuv420p, yuv422p10le, gray16le, gbrp, nv12, rgba", "pixel format %q cannot be filtered", layout)
	}
	if matrix == "" && f.Height >= 720 { // as for files without a matrix
		matrix = pipeline.BT709.String()
	} else if matrix == "" {
		matrix = pipeline.BT601.String()
	}
	for m := pipeline.BT601; m <= pipeline.BT2020; m++ {
		if matrix == m.String() {
			f.Matrix = m
			return nil
		}
	}
	return usage("bt601, bt709 or bt2020nc", "unknown matrix %q", matrix)
}

// ErrAgain is returned by Push while a result waits for Pull, and by Pull if more frames are needed
// for the next result.
var ErrAgain = errors.New("not yet")

// errUsage is wrapped by errors of the caller.
var errUsage = contract.Class(contract.ExitUsage)

// Stream filters frames. It is for one goroutine at a time. Filters run during Push and Flush, on
// as many threads as the options allow.
type Stream struct {
	format  Format
	video   *pipeline.Video
	all     []kernels.Stage
	options options
	backend kernels.Backend
	frames  *pipeline.Pool
	chain   *pipeline.Chain
	filter  pipeline.Filter
	results []*pipeline.Frame
	ended   bool  // Flush was called
	failed  error // until Reset

	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Open returns a stream for frames of a format, with options in the form NAME=VALUE:NAME=VALUE. The
// names and values are the same as for the program's flags. The caller must close it.
func Open(f Format, text string) (*Stream, error) {
	o, err := parse(text)
	if err != nil {
		return nil, err
	}
	s := &Stream{format: f, options: o}
	if err := s.check(); err != nil {
		return nil, err
	}
	if c, _ := enhance.ParseChromaShift(stages.ChromaShift.Of(o.filters).Text); c.Auto {
		return nil, usage("give X,Y: vidfilter measures it in a file", "--chroma-shift auto looks at a whole video")
	}
	for _, stage := range o.filters.Stages() {
		if stage.Identity() {
			continue
		}
		if d, is := stage.(kernels.Denoise); is && f.Live {
			d.Causal = true
			stage = d
		}
		if !stage.Takes(f.Layout) {
			return nil, usage("choose another pixel format", "the %s filter does not take %s", stage.Filter(), f.Layout)
		}
		if f.Live && stage.Window().After > 0 {
			return nil, usage("leave it out", "%s reads later frames, for which a live result does not wait", stage.Filter())
		}
		s.all = append(s.all, stage)
	}
	s.video = &pipeline.Video{TimeBase: f.Unit, Rate: f.Rate, MeanRate: f.Rate}
	if !f.Rate.Known() {
		s.video.Rate = pipeline.Ratio{Num: 1, Den: 1}
	}
	if !f.Unit.Known() {
		s.video.TimeBase = pipeline.Ratio{Num: s.video.Rate.Den, Den: s.video.Rate.Num}
	}
	if s.backend, _, err = filters.Open(o.device, o.threads, s.all, gpu.Options{}); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.frames = pipeline.NewPool(s.backend.Input(), 1) // NewFrame takes from it without a limit
	s.chain = s.newChain()
	if s.filter, err = s.chain.Open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func usage(advice, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return hint.Says(text, advice, errUsage)
}

// mostPixels keeps the bytes of a frame within an int32, as FFmpeg does.
const mostPixels = 1 << 27

func (s *Stream) check() error {
	f := s.format
	switch {
	case f.Width < 1 || f.Height < 1 || f.Width > mostPixels/f.Height:
		return usage("", "pictures of %dx%d cannot be filtered", f.Width, f.Height)
	case f.Fields < Progressive || f.Fields > Mixed:
		return usage("", "unknown kind of fields %d", f.Fields)
	}
	return nil
}

// mostResults is more than one call makes: two for each frame that the filters hold.
const mostResults = 256

func (s *Stream) newChain() *pipeline.Chain {
	var links []pipeline.Link
	for _, stage := range s.all {
		links = append(links, pipeline.Link{
			Name: stage.Filter().Name, Window: stage.Window(), Results: s.backend.Held(stage), Takes: stage.Takes,
			Pool: func(limit int, _ *pipeline.Link) *pipeline.Pool {
				return pipeline.NewPool(failing{s.backend, s.cancelled}, limit)
			},
			Open: func(results *pipeline.Pool, next *pipeline.Link, later int) (pipeline.Filter, error) {
				if d, is := stage.(kernels.Deinterlace); is {
					d.Progressive = s.format.Fields == Progressive
					return s.backend.Filter(d, results)
				}
				if h, is := stage.(kernels.OnHost); is {
					in := kernels.Setting{Later: later, Progressive: s.format.Fields == Progressive, Threads: s.options.threads}
					if next != nil {
						in.Takes = next.Takes
					}
					return h.OnHost(results, in)
				}
				return s.backend.Filter(stage, results)
			},
		})
	}
	return pipeline.NewChain(links, mostResults)
}

// failing is an allocator whose failure ends the work: in one goroutine, a filter that waits for
// memory would wait for itself.
type failing struct {
	pipeline.Allocator
	failed func(error)
}

// Alloc implements pipeline.Allocator.
func (f failing) Alloc(size int) (pipeline.Memory, error) {
	m, err := f.Allocator.Alloc(size)
	if err != nil {
		f.failed(err)
	}
	return m, err
}

func (s *Stream) cancelled(err error) { s.cancel(err) }

// Window returns how many frames before and after each its result depends on, at most. The result
// can be pulled once as many after it have been pushed. A stream that begins in the middle of a
// video, at a multiple of Step, makes the same results as the whole once it has seen Before frames.
func (s *Stream) Window() (w pipeline.Window) {
	late := 0
	for _, stage := range s.all {
		w = w.Then(stage.Window())
		if !s.format.Live {
			late += 2 * s.backend.Held(stage) // frames that are measured, and results under way on a GPU
		}
	}
	w.After, w.Step = w.After+late, max(w.Step, 1)
	return w
}

// Waiting reports whether a result waits for Pull.
func (s *Stream) Waiting() bool { return len(s.results) > 0 }

// NewFrame returns a frame for samples to push. Push takes it.
func (s *Stream) NewFrame() (*pipeline.Frame, error) {
	return s.frames.TakeFrame(s.format.Format, nil)
}

// Push filters a frame, which it takes in any case. Only Mixed streams look at its Interlaced and
// TopFieldFirst. Context marks a frame without a result, which others may need.
func (s *Stream) Push(f *pipeline.Frame) (err error) {
	defer s.contain(&err)
	switch {
	case s.failed != nil:
		f.Release()
		return s.failed
	case s.Waiting():
		f.Release()
		return ErrAgain
	case s.ended:
		if err := s.Reset(); err != nil {
			f.Release()
			return err
		}
	}
	f.Quantiser.Faithful = s.format.Lossless
	if f.Video = s.video; s.format.Fields != Mixed {
		f.Interlaced, f.TopFieldFirst = s.format.Fields != Progressive, s.format.Fields == TopFirst
	}
	err = s.filter.Process(s.ctx, f, s.emit)
	if err == nil && s.format.Live {
		err = pipeline.Drain(s.ctx, s.filter, s.emit)
	}
	return s.fails(err)
}

// emit keeps a result for Pull.
func (s *Stream) emit(f *pipeline.Frame) error {
	if f.Context {
		f.Release()
		return nil
	}
	if v := f.Video; v != nil && v.TimeBase != s.video.TimeBase { // of deinterlaced frames, half as long
		f.PTS, f.Duration = f.PTS/2, f.Duration/2
	}
	s.results = append(s.results, f)
	return nil
}

func (s *Stream) fails(err error) error {
	if cause := context.Cause(s.ctx); err != nil && cause != nil {
		err = cause
	}
	if s.failed = err; err != nil {
		s.drop()
	}
	return err
}

// contain turns a panic into a failure. The state of the filters is unknown then: it is left.
func (s *Stream) contain(err *error) {
	if p := recover(); p != nil {
		*err = Fault(p)
		s.failed, s.filter, s.results = *err, nil, nil
	}
}

// Fault returns the error of a panic.
func Fault(panicked any) error {
	return fmt.Errorf("a fault of vidfilter, please report it: %v", panicked)
}

// drop releases the results and the frames that filters hold.
func (s *Stream) drop() {
	for _, f := range s.results {
		f.Release()
	}
	s.results = nil
	if s.filter != nil {
		pipeline.Discard(s.filter)
		s.filter = nil
	}
}

// Pull returns the next result, which the caller must release. It returns ErrAgain if that needs
// more frames, and io.EOF after the last one of a stream that was flushed.
func (s *Stream) Pull() (*pipeline.Frame, error) {
	switch {
	case s.failed != nil:
		return nil, s.failed
	case len(s.results) > 0:
		f := s.results[0]
		s.results = s.results[1:]
		return f, nil
	case s.ended:
		return nil, io.EOF
	}
	return nil, ErrAgain
}

// Flush makes the results of all frames. The next frame begins another video.
func (s *Stream) Flush() (err error) {
	defer s.contain(&err)
	if s.failed != nil || s.ended {
		return s.failed
	}
	s.ended = true
	return s.fails(s.filter.Flush(s.ctx, s.emit))
}

// Reset forgets all frames and results, and a failure. The next frame begins another video.
func (s *Stream) Reset() (err error) {
	s.drop()
	s.cancel(nil)
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.ended, s.failed = false, nil
	if s.filter, err = s.chain.Open(); err != nil {
		s.failed = err
	}
	return err
}

// Close frees the stream. Results that were pulled must have been released.
func (s *Stream) Close() {
	s.drop()
	s.cancel(nil)
	s.chain.Close()
	s.frames.Close()
	_ = s.backend.Close()
}
