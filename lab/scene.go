package lab

import (
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// grain as heavy as on film, in 1/256 of a level.
const grain = 9 * 256

// picture draws the scene at a size. It keeps only the latest one: they are large.
func (r *run) picture(s Size) (*pipeline.Frame, error) {
	if r.scene != nil && r.scene.Format == formatOf(s) {
		return r.scene, nil
	}
	var err error
	r.scene, err = drawScene(s)
	return r.scene, err
}

// drawScene draws the samples' scene with grain, as RGBA without alpha.
func drawScene(s Size) (*pipeline.Frame, error) {
	cfg := scene.Config{Width: s.Width, Height: s.Height, Frames: 1, RateNum: 24, RateDen: 1, Noise: grain, Seed: 1}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	planes, rgba := pipeline.Blank(cfg.Format()), pipeline.Blank(formatOf(s))
	cfg.Draw(planes, 0)
	if err := kernels.ToWords(rgba, planes); err != nil {
		return nil, err
	}
	measure.ClearAlpha(rgba)
	return rgba, nil
}

func formatOf(s Size) pipeline.Format { return measure.FormatOf(pipeline.RGBA, s) }

// corner returns the upper left part of a frame, over the same memory.
func corner(f *pipeline.Frame, part Size) *pipeline.Frame {
	format := f.Format
	format.Width, format.Height = part.Width, part.Height
	p := f.Planes[0]
	p.Data = p.Data[:min(len(p.Data), part.Height*p.Pitch)]
	return pipeline.NewFrame(format, [4]pipeline.Plane{p}, nil, nil)
}
