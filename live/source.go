package live

import (
	"context"
	"time"

	"vidfilter/decode"
	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// SourceKind is the kind of a source.
type SourceKind string

// The kinds of inputs.
const (
	Camera  SourceKind = "camera"
	File    SourceKind = "file" // or a pipe, or a network stream
	Test    SourceKind = "test"
	Browser SourceKind = "browser"
)

// Input is the source that Run opens, as often as it has to.
type Input struct {
	Name  string // as the person gave it
	Kind  SourceKind
	Loop  bool // reopened at its end
	Again bool // it may come back after a failure: a camera

	// Open starts to take pictures, into memory of pool by its Take. It may report its status
	// until it is closed.
	Open func(ctx context.Context, pool *pipeline.Pool, tell StatusFunc) (Source, error)
}

// StatusFunc reports the status of a source, with a message that may be empty. The next picture
// makes it Live.
type StatusFunc func(status Status, message, hint string)

// Source takes pictures. It is used from one goroutine.
type Source interface {
	// Next waits for the next picture, which is the caller's. io.EOF is the end.
	Next(ctx context.Context) (Shot, error)
	// FrameRate returns the expected pictures per second, 0 if unknown.
	FrameRate() float64
	Close()
}

// Shot is a picture that was taken.
type Shot struct {
	Frame   *pipeline.Frame
	Taken   time.Time // capture time by this machine's clock; if the camera is remote, when it came or could have come
	Stamp   float64   // Unix time of capture in milliseconds, by the camera machine's clock
	Foreign bool      // that is another machine
	Skipped int64     // pictures dropped by the source before this one

	// At is the time on the clock of the sound: the file's own, which keeps rising when the file is
	// played again; of a remote camera, Taken since 1970.
	At time.Duration

	// The main filter's input, and the shown original: a part of Frame, scaled. Nil before the shot
	// is filtered.
	input, original *pipeline.Frame

	Place time.Duration  // of a file's picture, from the file's start
	Sound []sound.Packet // that came with it, on the clock of At

	// After a seek: it is shown though the session is frozen, the filter forgets the pictures
	// before, it sees the picture but shows no result.
	sought, begins, silent bool

	end chan struct{} // not a picture: a marker, closed when it arrives
}

func (s Shot) release() { releaseFrames(s.Frame, s.input, s.original) }

// shotAt is a shot of this machine.
func shotAt(f *pipeline.Frame, t time.Time) Shot {
	return Shot{Frame: f, Taken: t, Stamp: Milliseconds(t)}
}

// Milliseconds returns a time as stamps have it.
func Milliseconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1000 }

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
