package measure

import (
	"context"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/pipeline"
)

// Encode encodes a video file, or a pipe, to a file and returns its size. The decoder has o.Threads
// threads.
func Encode(ctx context.Context, alloc pipeline.Allocator, from, to string, o encode.Options) (bytes int64, err error) {
	pool := pipeline.NewPool(alloc, 4)
	defer pool.Close()
	in, err := decode.Open(ctx, from, pool, decode.Options{Threads: o.Threads})
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := encode.Create("file:"+to, encode.TemplateOf(in), o)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	if err := pipeline.Run(ctx, in, nil, out, pipeline.Options{}); err != nil {
		return 0, err
	}
	return out.Bytes(), nil
}
