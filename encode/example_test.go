package encode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Ten frames of a video are encoded again, without a filter, beside the audio of that time.
func ExampleCreate() {
	out := filepath.Join(os.TempDir(), fmt.Sprintf("encoded-%d.mkv", os.Getpid()))
	defer os.Remove(out)
	fmt.Println(encodeAgain(context.Background(), "../samples/clean.mp4", out))
	// Output: 10 <nil>
}

func encodeAgain(ctx context.Context, from, to string) (frames int64, err error) {
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	in, err := decode.Open(ctx, from, pool, decode.Options{Frames: 10})
	if err != nil {
		return 0, err
	}
	defer in.Close()
	template := encode.TemplateOf(in)
	template.Cut = true
	out, err := encode.Create(to, template, encode.Options{Format: "matroska", Encoder: "ffv1", CRF: -1})
	if err != nil {
		return 0, err
	}
	defer out.Close()
	in.OnPacket(out.WritePacket)
	if err := pipeline.Run(ctx, in, nil, out, pipeline.Options{}); err != nil {
		return 0, err
	}
	return out.Frames(), out.Verify()
}
