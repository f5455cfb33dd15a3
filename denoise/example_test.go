package denoise_test

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

// The first frames of a video are denoised on the CPU. Its audio and metadata are copied.
func Example() {
	out := filepath.Join(os.TempDir(), fmt.Sprintf("denoised-%d.mp4", os.Getpid()))
	defer os.Remove(out)
	fmt.Println(denoiseFile(context.Background(), "../samples/noisy.mp4", out, decode.Options{Frames: 8}))
	// Output: <nil>
}

func denoiseFile(ctx context.Context, from, to string, o decode.Options) error {
	denoiser, err := kernels.NewStandalone(kernels.DefaultDenoise())
	if err != nil {
		return err
	}
	defer denoiser.Close()
	in, err := decode.Open(ctx, from, denoiser.Input, o)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := encode.Create(to, encode.TemplateOf(in), encode.Options{Format: "mp4", CRF: 18, Preset: "veryfast"})
	if err != nil {
		return err
	}
	defer out.Close()
	in.OnPacket(out.WritePacket) // the other streams
	if err := pipeline.Run(ctx, in, []pipeline.Filter{denoiser}, out, pipeline.Options{}); err != nil {
		return err
	}
	return out.Verify()
}
