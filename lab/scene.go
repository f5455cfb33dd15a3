package lab

import (
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// scenery is one picture of the samples' scene with grain, as RGBA.
type scenery struct{ frame *pipeline.Frame }

// grain as heavy as on film, in 1/256 of a level.
const grain = 9 * 256

// picture draws the scene at a size, once. Alpha is 0 because the kernel of 001 treats it as a
// fourth colour; so it agrees with the others.
func (r *run) picture(s Size) (*pipeline.Frame, error) {
	if p := r.scenes[s]; p != nil {
		return p.frame, nil
	}
	drawer, err := scene.New(scene.Config{Width: s.Width, Height: s.Height, Frames: 1, RateNum: 24, RateDen: 1, Noise: grain, Seed: 1})
	if err != nil {
		return nil, err
	}
	planes := make([]byte, drawer.FrameSize())
	drawer.Frame(planes, 0)
	clear(r.scenes) // keep only one: they are large
	r.scenes[s] = &scenery{toRGBA(planes, s)}
	return r.scenes[s].frame, nil
}

// toRGBA converts yuv420p of BT.709 and limited range, chroma replicated.
func toRGBA(planes []byte, s Size) *pipeline.Frame {
	half := (s.Width + 1) / 2
	n := s.Width * s.Height
	luma, u, v := planes[:n], planes[n:n+half*((s.Height+1)/2)], planes[n+half*((s.Height+1)/2):]
	out := newFrame(s)
	for y := range s.Height {
		row := out.Row(0, y)
		for x := range s.Width {
			l, c := 1.1644*(float64(luma[y*s.Width+x])-16), y/2*half+x/2
			cb, cr := float64(u[c])-128, float64(v[c])-128
			row[4*x], row[4*x+1], row[4*x+2] = level(l+1.7927*cr), level(l-0.2132*cb-0.5329*cr), level(l+2.1124*cb)
		}
	}
	return out
}

func level(x float64) byte { return byte(min(max(x, 0), 255) + 0.5) }

// newFrame returns an RGBA frame in ordinary memory.
func newFrame(s Size) *pipeline.Frame { return newFormat(formatOf(s)) }

func formatOf(s Size) pipeline.Format {
	return pipeline.Format{Layout: pipeline.RGBA, Width: s.Width, Height: s.Height, Matrix: pipeline.BT709}
}

func newFormat(f pipeline.Format) *pipeline.Frame {
	_, pitches, size := f.PlanLayout(pipeline.PitchAlign)
	return pipeline.NewFrame(f, [4]pipeline.Plane{{Data: make([]byte, size), Pitch: pitches[0]}}, nil, nil)
}

// corner returns the upper left part of a frame, over the same memory.
func corner(f *pipeline.Frame, part Size) *pipeline.Frame {
	format := f.Format
	format.Width, format.Height = part.Width, part.Height
	p := f.Planes[0]
	p.Data = p.Data[:min(len(p.Data), part.Height*p.Pitch)]
	return pipeline.NewFrame(format, [4]pipeline.Plane{p}, nil, nil)
}
