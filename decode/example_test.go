package decode_test

import (
	"context"
	"fmt"
	"io"

	"vidfilter/decode"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// The frames of half a second of a video are read, from one second on.
func ExampleOpen() {
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	ctx := context.Background()
	in, err := decode.Open(ctx, "../samples/clean.mp4", pool, decode.Options{Start: 1e9, Duration: 5e8, VideoOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer in.Close()
	frames := 0
	for {
		f, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		if frames == 0 {
			fmt.Println(f.Format, f.Video.Rate)
		}
		frames++
		f.Release()
	}
	fmt.Println(frames, "frames")
	// Output:
	// yuv420p 640x360 {24 1}
	// 12 frames
}
