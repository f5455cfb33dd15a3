package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Grain as heavy as on film, in 1/256 of a level, and frames a second.
const (
	clipGrain = 9 * 256
	clipRate  = 24
)

// makeClip writes frames of the samples' scene, with grain, to a file in folder and returns its
// name. The encoding is coarse but keeps the grain, as footage does.
func makeClip(ctx context.Context, cpu *kernels.CPU, folder string, size Size, frames int) (name string, err error) {
	cfg := scene.Config{
		Width: size.Width, Height: size.Height, Frames: frames, RateNum: clipRate, RateDen: 1, Noise: clipGrain, Seed: 1,
	}
	pool := pipeline.NewPool(cpu, 1+1) // one is drawn while another is encoded
	defer pool.Close()
	like, err := openLike(ctx, folder, cfg, pool)
	if err != nil {
		return "", err
	}
	defer like.Close()
	name = filepath.Join(folder, size.String()+".mp4")
	out, err := encode.Create("file:"+name, templateOf(like), encode.Options{
		Format: "mp4", CRF: 26, Preset: "veryfast", Tune: "grain", GOP: 2 * clipRate,
	})
	if err != nil {
		return "", err
	}
	defer out.Close()
	rate := pipeline.Ratio{Num: cfg.RateNum, Den: cfg.RateDen}
	video := &pipeline.Video{
		TimeBase: pipeline.Ratio{Num: rate.Den, Den: rate.Num}, Rate: rate, MeanRate: rate, Aspect: pipeline.Ratio{Num: 1, Den: 1},
	}
	return name, pipeline.Run(ctx, &film{cfg: cfg, pool: pool, video: video}, nil, out, pipeline.Options{})
}

// openLike opens a file with one frame of the scene, which stands in for the input of an output.
func openLike(ctx context.Context, folder string, cfg scene.Config, pool *pipeline.Pool) (*decode.Input, error) {
	cfg.Frames = 1
	name := filepath.Join(folder, "like.y4m")
	f, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("bench: make a clip: %w", err)
	}
	err = scene.WriteY4M(f, cfg)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, fmt.Errorf("bench: make a clip: %w", err)
	}
	return decode.Open(ctx, name, pool, decode.Options{})
}

// templateOf makes the output carry the input's streams.
func templateOf(in *decode.Input) encode.Template {
	return encode.Template{
		Context: in.Context(), Video: in.Video(), Others: in.Others(), Shift: in.Shift(),
	}
}

// film is a source that draws the scene.
type film struct {
	cfg   scene.Config
	pool  *pipeline.Pool
	video *pipeline.Video
	next  int
}

// Next draws a frame. Its time is its number, in the time base of a y4m of that rate.
func (f *film) Next(ctx context.Context) (*pipeline.Frame, error) {
	if f.next == f.cfg.Frames {
		return nil, io.EOF
	}
	out, err := f.pool.NewFrame(ctx, f.cfg.Format())
	if err != nil {
		return nil, err
	}
	f.cfg.Draw(out, f.next)
	out.PTS, out.Duration, out.Video = int64(f.next), 1, f.video
	f.next++
	return out, nil
}
