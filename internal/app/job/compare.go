package job

import (
	"context"
	"fmt"
	"io"

	"vidfilter/decode"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/pipeline/quality"
)

// Clip is a video and the options to open it.
type Clip struct {
	Path string
	opts decode.Options
}

// CompareVideos measures b against a, frame by frame, at their depth, or in 8 bits if one has more
// than the other. Both need the same number of frames, size and layout; their colour metadata is
// ignored.
func CompareVideos(ctx context.Context, a, b Clip) (quality.Score, error) {
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	x, y, err := openBoth(ctx, a, b, pool)
	if err != nil {
		return quality.Score{}, err
	}
	defer x.Close()
	defer y.Close()
	var sum quality.Accumulator
	for {
		more, err := compareNext(ctx, &sum, x, y)
		if err != nil {
			return quality.Score{}, err
		}
		if !more {
			return sum.Score(), nil
		}
	}
}

// openBoth opens two videos for frames of the same depth that are gray, or RGB in planes, both or
// neither.
func openBoth(ctx context.Context, a, b Clip, pool *pipeline.Pool) (x, y *decode.Input, err error) {
	for _, layouts := range []func(pipeline.Layout) bool{kernels.Bilateral{}.Takes, common, shallow, pipeline.Layout.Basic} {
		a.opts.Layouts, b.opts.Layouts = layouts, layouts
		if x, err = decode.Open(ctx, a.Path, pool, a.opts); err != nil {
			return nil, nil, err
		}
		if y, err = decode.Open(ctx, b.Path, pool, b.opts); err != nil {
			x.Close()
			return nil, nil, err
		}
		if kindOf(x, layouts) == kindOf(y, layouts) {
			break
		}
		x.Close()
		y.Close()
	}
	return x, y, nil
}

// common reports whether a layout serves all pictures of its depth: gray is also YUV without
// colour, and RGB of 8 bits is packed.
func common(l pipeline.Layout) bool { return l.Valid() && !l.Info().Gray() && l != pipeline.GBRP }

// shallow reports whether a layout has 8 bits: gray keeps its range, unlike as YUV without colour.
func shallow(l pipeline.Layout) bool { return l.Basic() || l == pipeline.GRAY }

type frameKind struct {
	depth           int
	gray, planarRGB bool
}

// kindOf returns the kind of a video's frames.
func kindOf(in *decode.Input, layouts func(pipeline.Layout) bool) frameKind {
	pf := in.Video().CodecParameters().PixelFormat()
	l, _, ok := av.LayoutOf(pf)
	if !ok || !layouts(l) {
		l, _ = av.NearestLayout(pf, layouts)
	}
	return frameKind{l.Info().Depth, l.Info().Gray(), l.Arrangement() == pipeline.GBRP}
}

func compareNext(ctx context.Context, sum *quality.Accumulator, x, y *decode.Input) (more bool, err error) {
	f, ferr := x.Next(ctx)
	if ferr != nil && ferr != io.EOF {
		return false, ferr
	}
	if f != nil {
		defer f.Release()
	}
	g, gerr := y.Next(ctx)
	if gerr != nil && gerr != io.EOF {
		return false, gerr
	}
	if g != nil {
		defer g.Release()
	}
	switch {
	case f == nil && g == nil:
		return false, nil
	case f == nil || g == nil:
		return false, fmt.Errorf("one video ends after %d frames, the other goes on", sum.Frames())
	}
	if err := sameKind(f.Format, g.Format); err != nil {
		return false, err
	}
	g.Matrix, g.FullRange = f.Matrix, f.FullRange
	return true, sum.Add(f, g)
}

// sameKind refuses pictures whose samples do not correspond.
func sameKind(f, g pipeline.Format) error {
	switch {
	case f.Width != g.Width || f.Height != g.Height:
		return hint.Wrap(fmt.Errorf("the pictures are %dx%d and %dx%d", f.Width, f.Height, g.Width, g.Height),
			"compare a video with its filtered version, or bring one to the size of the other: ffmpeg -i B -vf scale="+
				fmt.Sprintf("%d:%d C.mkv", f.Width, f.Height))
	case f.Layout != g.Layout:
		return hint.Wrap(fmt.Errorf("the pictures are %v and %v", f.Layout, g.Layout),
			"filter again with --pixel-format of the first, or convert one: ffmpeg -i B -pix_fmt FORMAT C.mkv")
	}
	return nil
}

// CompareStreams compares the facts of two files: the properties of their videos,
// streams, chapters and tags. It reads both and decodes a picture of each.
func CompareStreams(ctx context.Context, a, b string) ([]fidelity.Row, error) {
	x, err := factsOf(ctx, a)
	if err != nil {
		return nil, err
	}
	y, err := factsOf(ctx, b)
	if err != nil {
		return nil, err
	}
	return fidelity.Rows(x, y, nil), nil
}

func factsOf(ctx context.Context, path string) (fidelity.Facts, error) {
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	in, err := decode.Open(ctx, path, pool, decode.Options{Layouts: pipeline.Layout.Valid})
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := in.Next(ctx)
	if err != nil {
		return nil, err
	}
	f.Release()
	if err := in.Rest(ctx); err != io.EOF {
		return nil, err
	}
	return in.Facts(), nil
}
