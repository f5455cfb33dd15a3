package decode

import (
	"context"
	"errors"

	"vidfilter/pipeline"
)

type CameraOptions struct {
	Width, Height int
	FPS           float64
	Format        string
	MaxPixels     int64
	Threads       int
	Warn          func(string, ...any)
}
type CameraInfo struct{ Path, Name string }
type CameraMode struct{ FPS float64 }
type Camera struct{}

func Cameras() ([]CameraInfo, error) { return nil, nil }
func OpenCamera(ctx context.Context, path string, pool *pipeline.Pool, o CameraOptions) (*Camera, error) {
	return nil, errors.New("not yet")
}
func (c *Camera) Next(ctx context.Context) (*pipeline.Frame, error) { return nil, errors.New("not yet") }
func (c *Camera) Format() CameraMode                               { return CameraMode{} }
func (c *Camera) Close()                                           {}
