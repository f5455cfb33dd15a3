package quality

import (
	"context"
	"slices"

	"vidfilter/denoise"
	"vidfilter/samples/scene"
)

// eventKinds are the kinds of noise with which events are measured.
var eventKinds = []string{"w10", "w25"}

// Event is a clip with an event, filtered by a tier in time and, by the same measurement of the
// noise, without its neighbours.
type Event struct {
	Noise   string    `json:"noise"`
	Clip    string    `json:"clip"`
	Method  string    `json:"method"`
	Scores  Scores    `json:"scores"`
	Spatial Scores    `json:"spatial"`
	Frames  []float64 `json:"frames"` // the gain of each of them in dB
	Sigma   []float64 `json:"sigma"`  // measured in luma, of each frame of the clip
}

// The frames that are measured: all but those at the ends, where windows are short.
const eventFirst, eventLast = 3, scene.ClipFrames - 4

// Gain is how much the neighbours gain in the whole, in dB, and Moving in the moving region.
func (e Event) Gain() float64 { return e.Scores.PSNR - e.Spatial.PSNR }

// Moving is how much the neighbours gain in the moving region, in dB.
func (e Event) Moving() float64 { return e.Scores.Moving - e.Spatial.Moving }

// Least is the gain of the frame that gains least, in dB.
func (e Event) Least() float64 { return slices.Min(e.Frames) }

// Loss is the least gain that is not a failure.
const Loss = -0.1

// Failed reports whether the result is worse than the spatial one: in the whole, in the moving
// region, or in any frame.
func (e Event) Failed() bool { return e.Gain() < Loss || e.Moving() < Loss || e.Least() < Loss }

// Events measures the fast tier and the good one on clips with events.
func Events(ctx context.Context, k NoiseKind, width, height int) ([]Event, error) {
	all := slices.DeleteFunc(scene.Clips(), func(c scene.Clip) bool { return c.Set != scene.Events })
	events := make([]Event, 2*len(all))
	err := parallel(ctx, len(all), func(i int) error {
		c := drawnClip(all[i], width, height)
		noisy, err := k.apply(ctx, c, "")
		if err != nil {
			return err
		}
		for j, t := range []struct {
			name string
			denoise.Tier
		}{{Fast, denoise.Fast}, {Good, denoise.Good}} {
			e := Event{Noise: k.Name, Clip: c.name, Method: t.name}
			s := settings(t.Tier, false)
			full, err := denoised(ctx, noisy, s)
			if err != nil {
				return err
			}
			single, err := alone(ctx, noisy, s, full.models)
			if err != nil {
				return err
			}
			if e.Scores, err = score(c.frames, full.frames, eventFirst, eventLast); err != nil {
				return err
			}
			if e.Spatial, err = score(c.frames, single.frames, eventFirst, eventLast); err != nil {
				return err
			}
			for t := eventFirst; t <= eventLast; t++ {
				a, err := score(c.frames, full.frames, t, t)
				if err != nil {
					return err
				}
				b, err := score(c.frames, single.frames, t, t)
				if err != nil {
					return err
				}
				e.Frames = append(e.Frames, a.PSNR-b.PSNR)
			}
			for _, m := range full.models {
				e.Sigma = append(e.Sigma, m.Sigma[0])
			}
			events[2*i+j] = e
		}
		return nil
	})
	return events, err
}
