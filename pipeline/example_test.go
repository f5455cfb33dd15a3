package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// A clip is read, filtered on the CPU and written with its audio. The output gets its name only
// once it is complete and checked.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := filterClip(context.Background(), "../samples/clean.mp4", filepath.Join(dir, "out.mp4")); err != nil {
		log.Fatal(err)
	}
	// Output: filtered 10 frames
}

func filterClip(ctx context.Context, from, to string) error {
	cpu, err := kernels.NewCPU(0, "") // all threads, the best instruction set
	if err != nil {
		return err
	}
	defer cpu.Close()
	decoded, filtered := pipeline.NewPool(cpu.Input(), 1), pipeline.NewPool(cpu, 4+cpu.Held())
	defer decoded.Close()
	defer filtered.Close()
	filter, err := cpu.Filter(kernels.DefaultParams(3), filtered)
	if err != nil {
		return err
	}
	in, err := decode.Open(ctx, from, decoded, decode.Options{Frames: 10})
	if err != nil {
		return err
	}
	defer in.Close()
	target, err := encode.OpenTarget(to, encode.Refuse, []string{from})
	if err != nil {
		return err
	}
	defer target.Discard() // does nothing after Commit
	out, err := encode.Create("file:"+target.Path(), encode.Template{
		Context: in.Context(), Video: in.Video(), Others: in.Others(), FrameRate: in.FrameRate(), Shift: in.Shift(), Cut: true,
	}, encode.Options{Format: "mp4", Encoder: "libx264", Preset: "veryfast", CRF: 18})
	if err != nil {
		return err
	}
	defer out.Close()
	in.OnPacket(out.WritePacket) // the other streams are copied
	var meters pipeline.Meters
	if err := pipeline.Run(ctx, in, []pipeline.Filter{filter}, out, pipeline.Options{Meters: &meters}); err != nil {
		return err
	}
	if err := out.Verify(); err != nil {
		return err
	}
	fmt.Printf("filtered %d frames\n", meters.Encode.Frames())
	return target.Commit()
}
