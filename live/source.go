package live

import (
	"context"
	"time"

	"vidfilter/pipeline"
)

// Kind says what takes the pictures.
type Kind string

// The kinds of inputs.
const (
	Camera  Kind = "camera"
	File    Kind = "file" // or a pipe, or a network stream
	Test    Kind = "test"
	Browser Kind = "browser"
)

// Input is what Run opens, as often as it has to.
type Input struct {
	Name  string // as the person gave it
	Kind  Kind
	Loop  bool // after its end it is opened again
	Again bool // where it cannot be had, it may come back by itself: a camera

	// Open begins to take pictures, into memory of pool by its Take. It may tell of its status until it is closed.
	Open func(ctx context.Context, pool *pipeline.Pool, tell Tell) (Source, error)
}

// Tell says how a source is, with words for people that may be empty. A picture that comes makes it Live.
type Tell func(status Status, message, hint string)

// Source takes pictures. It is used from one goroutine.
type Source interface {
	// Next waits for the next picture, which is the caller's. io.EOF is the end.
	Next(ctx context.Context) (Shot, error)
	// FrameRate returns how many pictures a second are to be expected, 0 when nobody knows.
	FrameRate() float64
	Close()
}

// Shot is a picture that was taken.
type Shot struct {
	Frame   *pipeline.Frame
	Taken   time.Time // when, by the clock of this machine; of another machine's camera when it came in
	Stamp   float64   // when, in milliseconds of Unix time, by the clock of the machine with the camera
	Foreign bool      // that is another machine
	Skipped int64     // pictures before it that the source had to leave out
}

func (s Shot) release() { s.Frame.Release() }

// shotAt is a shot of this machine.
func shotAt(f *pipeline.Frame, t time.Time) Shot {
	return Shot{Frame: f, Taken: t, Stamp: Milliseconds(t)}
}

// Milliseconds returns a time as stamps have it.
func Milliseconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }
