package quality

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// writeY4M writes frames of yuv420p.
func writeY4M(w io.Writer, frames []*pipeline.Frame) error {
	f, scan := frames[0], "p"
	if f.Interlaced {
		scan = "t"
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "YUV4MPEG2 W%d H%d F24:1 I%s A1:1 C420mpeg2\n", f.Width, f.Height, scan)
	for _, f := range frames {
		out.WriteString("FRAME\n") // errors stay in out, and Flush returns them
		writeSamples(out, f)
	}
	return out.Flush()
}

func writeSamples(out *bufio.Writer, f *pipeline.Frame) {
	for i, y := range f.Rows() {
		_, _ = out.Write(f.Row(i, y))
	}
}

// code encodes frames with x264 as a job does, and returns the size of the file with its name in
// folder.
func code(
	ctx context.Context, folder string, frames []*pipeline.Frame, crf int,
) (name string, bytes int64, err error) {
	raw, name := filepath.Join(folder, "raw.y4m"), filepath.Join(folder, "coded.mp4")
	if err := writeFile(raw, frames); err != nil {
		return "", 0, err
	}
	bytes, err = measure.Encode(ctx, kernels.Host{}, raw, name, encode.Options{
		Format: "mp4", CRF: float64(crf), Preset: "medium", Threads: 1,
	})
	return name, bytes, err
}

// codeBy has an ffmpeg program encode frames, and returns the name of the file in folder.
func codeBy(
	ctx context.Context, program, folder string, frames []*pipeline.Frame, options []string,
) (string, error) {
	raw, name := filepath.Join(folder, "raw.y4m"), filepath.Join(folder, "coded.mkv")
	if err := writeFile(raw, frames); err != nil {
		return "", err
	}
	args := append([]string{"-v", "error", "-threads", "1", "-i", raw}, options...)
	if said, err := exec.CommandContext(ctx, program, append(args, name)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %v: %w: %s", program, options, err, said)
	}
	return name, nil
}

func writeFile(name string, frames []*pipeline.Frame) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(writeY4M(f, frames), f.Close())
}

// decoded returns the first frames of a file.
func decoded(ctx context.Context, name string, most int) ([]*pipeline.Frame, error) {
	frames, _, err := read(ctx, name, most, decode.Options{})
	return frames, err
}

// extent is the stated size of a file's content; 0: unknown.
type extent struct {
	frames int64
	length time.Duration
}

// read returns the first frames of a file in Go's memory.
func read(ctx context.Context, name string, most int, o decode.Options) (frames []*pipeline.Frame, has extent, err error) {
	pool := pipeline.NewPool(kernels.Host{}, 4)
	defer pool.Close()
	o.VideoOnly, o.Quantisers = true, true
	in, err := decode.Open(ctx, name, pool, o)
	if err != nil {
		return nil, has, err
	}
	defer in.Close()
	has.frames, has.length = in.Estimate()
	for len(frames) < most {
		f, err := in.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, has, err
		}
		frames = append(frames, copyOf(f))
		f.Release()
	}
	return frames, has, nil
}
