package live

import (
	"context"
	"time"

	"vidfilter/decode"
	"vidfilter/pipeline"
)

// OpenCamera returns the function that opens a camera of this machine.
func OpenCamera(path string, o decode.CameraOptions) func(context.Context, *pipeline.Pool, StatusFunc) (Source, error) {
	return func(ctx context.Context, pool *pipeline.Pool, _ StatusFunc) (Source, error) {
		c, err := decode.OpenCamera(ctx, path, pool, o)
		if err != nil {
			return nil, err
		}
		return &camera{c}, nil
	}
}

type camera struct{ *decode.Camera }

func (c *camera) Next(ctx context.Context) (Shot, error) {
	f, err := c.Camera.Next(ctx)
	if err != nil {
		return Shot{}, err
	}
	return shotAt(f, time.UnixMicro(f.PTS)), nil
}

func (c *camera) FrameRate() float64 { return c.Format().FPS }
