package pipeline_test

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

// A clip is read, filtered on the CPU and written with its audio.
func Example() {
	out := filepath.Join(os.TempDir(), fmt.Sprintf("example-%d.mp4", os.Getpid()))
	defer os.Remove(out)
	fmt.Println(filterClip(context.Background(), "../samples/clean.mp4", out))
	// Output: 10 <nil>
}

func filterClip(ctx context.Context, from, to string) (frames int64, err error) {
	cpu, err := kernels.NewCPU(0, "") // all threads, the best instruction set
	if err != nil {
		return 0, err
	}
	defer cpu.Close()
	decoded, filtered := pipeline.NewPool(cpu.Input(), 1), pipeline.NewPool(cpu, 4)
	defer decoded.Close()
	defer filtered.Close()
	filter, err := cpu.Filter(kernels.DefaultBilateral(3), filtered)
	if err != nil {
		return 0, err
	}
	in, err := decode.Open(ctx, from, decoded, decode.Options{Frames: 10})
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := encode.Create(to, encode.Template{
		Context: in.Context(), Video: in.Video(), Others: in.Others(), Cut: true,
	}, encode.Options{Format: "mp4", CRF: 18})
	if err != nil {
		return 0, err
	}
	defer out.Close()
	in.OnPacket(out.WritePacket) // the other streams are copied
	if err := pipeline.Run(ctx, in, []pipeline.Filter{filter}, out, pipeline.Options{}); err != nil {
		return 0, err
	}
	return out.Frames(), out.Verify()
}
