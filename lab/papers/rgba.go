package papers

import (
	"context"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// InRGBA returns a filter for frames of any format from inner, which filters RGBA. It converts
// frames, and adds inner's changes to the original samples, like kernels.Reference. Interlaced
// frames keep their fields apart.
//
// Frames for inner come from words, and this filter's from results. inner draws its results from a
// pool of its own. announce, if not nil, is called before converting frames of a new format.
func InRGBA(inner pipeline.Filter, words, results *pipeline.Pool, announce func(from pipeline.Format)) pipeline.Filter {
	return &inRGBA{inner: inner, words: words, results: results, announce: announce}
}

type inRGBA struct {
	inner          pipeline.Filter
	words, results *pipeline.Pool
	announce       func(from pipeline.Format)
	announced      pipeline.Format
	waiting        []*pipeline.Frame // owned: the originals of inner's held frames, oldest first
}

func (f *inRGBA) Held() int { return f.inner.Held() }

// Process takes ownership of in, and emits frames of results.
func (f *inRGBA) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	words, err := f.toWords(in)
	if err != nil {
		in.Release()
		return err
	}
	f.waiting = append(f.waiting, in)
	return f.inner.Process(ctx, words, f.back(ctx, emit))
}

// Flush emits the held frames.
func (f *inRGBA) Flush(ctx context.Context, emit pipeline.Emit) error {
	return f.inner.Flush(ctx, f.back(ctx, emit))
}

// Discard frees the held frames.
func (f *inRGBA) Discard() {
	pipeline.Discard(f.inner)
	for _, w := range f.waiting {
		w.Release()
	}
	f.waiting = nil
}

// toWords borrows in and returns an owned RGBA frame of the same picture.
func (f *inRGBA) toWords(in *pipeline.Frame) (*pipeline.Frame, error) {
	if in.Layout == pipeline.RGBA {
		return in.Retain(), nil
	}
	if f.announce != nil && f.announced != in.Format {
		f.announce(in.Format)
		f.announced = in.Format
	}
	format := in.Format
	format.Layout = pipeline.RGBA
	words, err := f.words.TakeFrame(format, nil)
	if err != nil {
		return nil, err
	}
	words.CopyTiming(in)
	if err := kernels.ToWords(words, in); err != nil {
		words.Release()
		return nil, err
	}
	return words, nil
}

// back emits a frame of the original's format for each result of inner.
func (f *inRGBA) back(ctx context.Context, emit pipeline.Emit) pipeline.Emit {
	return func(words *pipeline.Frame) error {
		original := f.waiting[0]
		f.waiting = f.waiting[1:]
		defer original.Release()
		defer words.Release()
		out, err := f.results.NewFrame(ctx, original.Format)
		if err != nil {
			return err
		}
		out.CopyTiming(words)
		if err := kernels.FromWords(out, original, words); err != nil {
			out.Release()
			return err
		}
		return emit(out)
	}
}
