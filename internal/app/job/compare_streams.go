package job

import (
	"context"
	"io"

	"vidfilter/decode"
	"vidfilter/internal/fidelity"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

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
