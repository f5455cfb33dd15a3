package live

import (
	"context"
	"fmt"
	"time"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// mostSide is the longest side of results, in pixels.
const mostSide = 8192

// framer makes the input of the main filter and the shown original from pictures: viewers compare
// the same part of a picture at the same size.
type framer struct {
	by            FilterSettings
	before        []kernels.Stage
	behind        []kernels.Stage
	input, scaled pipeline.Filter
}

// newFramer returns the framer for a filter.
func (s *Session) newFramer(f FilterSettings) (*framer, error) {
	p, err := f.Resolved()
	if err != nil {
		return nil, err
	}
	before, behind := around(p.Stages())
	r := &framer{by: f, before: before, behind: framing(behind)}
	if r.input, err = s.chain("the source", r.before, p.Main(), f); err != nil {
		return nil, err
	}
	if r.scaled, err = s.chain("the source", r.behind, nil, f); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// frames reports whether the framer does the work of a filter.
func (r *framer) frames(f FilterSettings) bool { return r != nil && r.by.framesAs(f) }

// frame returns the main filter's input from a picture, and the picture as it is shown. It borrows
// f. The caller releases the results.
func (r *framer) frame(ctx context.Context, f *pipeline.Frame) (input, original *pipeline.Frame, err error) {
	input = f.Retain()
	if len(r.before) > 0 {
		if input, err = one(ctx, r.input, r.by.fields(input)); err != nil {
			return nil, nil, err
		}
	}
	original = input.Retain()
	if len(r.behind) > 0 {
		if original, err = one(ctx, r.scaled, r.by.fields(original)); err != nil {
			input.Release()
			return nil, nil, err
		}
	}
	return input, original, nil
}

func (r *framer) close() {
	if r != nil {
		pipeline.Discard(r.input)
		pipeline.Discard(r.scaled)
	}
}

// one returns the result for a frame, which it takes.
func one(ctx context.Context, by pipeline.Filter, f *pipeline.Frame) (*pipeline.Frame, error) {
	var all []*pipeline.Frame
	err := by.Process(ctx, f, func(out *pipeline.Frame) error {
		all = append(all, out)
		return nil
	})
	switch {
	case err != nil:
	case len(all) != 1:
		err = fmt.Errorf("live: %d pictures of one", len(all))
	case max(all[0].Width, all[0].Height) > mostSide:
		err = fmt.Errorf("a picture of %dx%d is too large: a side has at most %d pixels", all[0].Width, all[0].Height, mostSide)
	default:
		return all[0], nil
	}
	releaseFrames(all...)
	return nil, err
}

// chain opens the filters between two others. from names the first of these, and to is the second,
// nil if the results are shown. Without filters, frames pass.
func (s *Session) chain(from string, stages []kernels.Stage, to kernels.Stage, f FilterSettings) (pipeline.Filter, error) {
	if len(stages) == 0 {
		return pipeline.Pass{}, nil
	}
	links := []pipeline.Link{{Name: from, Open: func(*pipeline.Pool, *pipeline.Link, int) (pipeline.Filter, error) {
		return pipeline.Pass{}, nil
	}}}
	for i, stage := range stages {
		next := to
		if i < len(stages)-1 {
			next = stages[i+1]
		}
		links = append(links, pipeline.Link{
			Name: stage.Filter().Name, Takes: stage.Takes,
			Open: func(_ *pipeline.Pool, _ *pipeline.Link, later int) (pipeline.Filter, error) {
				return s.open(stage, next, later, f)
			},
		})
	}
	return pipeline.NewChain(links, 0).Open()
}

// open opens a filter other than the main one.
func (s *Session) open(stage, next kernels.Stage, later int, f FilterSettings) (pipeline.Filter, error) {
	h, ok := stage.(kernels.OnHost)
	if !ok {
		return s.o.Backend.Filter(stage, s.results)
	}
	in := kernels.Setting{Later: later, Progressive: f.FieldOrder == "progressive", MaxPixels: mostSide * mostSide}
	if next != nil {
		in.Takes = next.Takes
		_, in.ForDevice = next.(kernels.Planned)
	}
	return h.OnHost(s.results, in)
}

// try reports why a filter cannot frame a picture, which it borrows.
func (s *Session) try(f FilterSettings, picture *pipeline.Frame) error {
	r, err := s.newFramer(f)
	if err != nil {
		return err
	}
	defer r.close()
	input, original, err := r.frame(context.Background(), picture)
	if err != nil {
		return err
	}
	releaseFrames(input, original)
	return nil
}

// frame frames a picture. Where that fails because the pictures have changed, they are shown whole
// from now on; it is an error if the filter has been like that from the start.
func (l *loop) frame(ctx context.Context, shot *Shot) error {
	for {
		start := time.Now()
		input, original, err := l.framer.frame(ctx, shot.Frame)
		l.took += time.Since(start)
		switch {
		case err == nil:
			releaseFrames(shot.input, shot.original)
			shot.input, shot.original = input, original
			return nil
		case ctx.Err() != nil || l.onShow == nil && l.by.filter.framesAs(l.s.o.Filter) || len(l.framer.before)+len(l.framer.behind) == 0:
			return err
		}
		if err := l.adopt(ctx, l.s.unframe(err)); err != nil {
			return err
		}
	}
}

// unframe has pictures shown whole, and returns the settings for that.
func (s *Session) unframe(cause error) settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Notice = "the picture is shown whole: " + cause.Error()
	set, now := s.set, s.inForce
	for _, f := range []*FilterSettings{&set.filter, &set.other, &now.filter, &now.other} {
		f.Follow(kernels.Selection{}, kernels.Place.Frames)
	}
	s.inForce = now
	s.settle(set)
	return now
}

// shape is how results are shown: their size in pixels, and the shape of these.
type shape struct {
	width, height int
	aspect        float64 // 0: as the source has it
}

// shapeOf returns the shape of a result for a picture.
func shapeOf(from, f *pipeline.Frame) shape {
	s := shape{width: f.Width, height: f.Height}
	if from.Video != nil && f.Video != nil && f.Video.Aspect != from.Video.Aspect {
		s.aspect = 1
		if f.Video.Aspect.Known() {
			s.aspect = f.Video.Aspect.Float64()
		}
	}
	return s
}
