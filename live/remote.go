package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"vidfilter/decode"
	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// ErrTaken is the error of a second camera.
var ErrTaken = errors.New("another page sends its camera already")

// ErrTooLarge reports a picture above the size limit of a camera.
var ErrTooLarge = errors.New("the camera's pictures are too large")

// maxRemotePixels bounds the memory of a page's camera: a small message may decode to a huge
// picture.
const maxRemotePixels = 16_000_000

// Remote is a browser's camera as an input. It is safe for concurrent use.
type Remote struct {
	options decode.StreamOptions

	mu     sync.Mutex
	source *remote // while the session has the input open
	feed   *Feed   // the sending page, nil for none
	reason string  // why there is none, "" before the first
	change func()
}

// NewRemote returns an input without a camera. It refuses pictures above 16 megapixels, or above
// o.MaxPixels if that is less. changed, which may be nil, is called when Wanted may have changed;
// it must not block.
func NewRemote(o decode.StreamOptions, changed func()) *Remote {
	if changed == nil {
		changed = func() {}
	}
	if o.MaxPixels <= 0 || o.MaxPixels > maxRemotePixels {
		o.MaxPixels = maxRemotePixels
	}
	return &Remote{options: o, change: changed}
}

// Open is for an Input.
func (r *Remote) Open(_ context.Context, pool *pipeline.Pool, tell StatusFunc) (Source, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source = &remote{r: r, pool: pool, tell: tell, shots: newMailbox(1, Shot.release)}
	r.explain()
	return r.source, nil
}

// Wanted reports whether no page sends its camera.
func (r *Remote) Wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feed == nil
}

// explain sets the reason why no pictures come; r.mu is held.
func (r *Remote) explain() {
	switch {
	case r.source == nil:
	case r.feed != nil:
		r.source.tell(Starting, "the browser's camera is starting", "")
	case r.reason != "":
		r.source.tell(Waiting, "the browser's camera: "+r.reason, "press \"Use this camera\" on the page to try again, or give another input with -i")
	default:
		r.source.tell(Waiting, "no browser sends its camera yet", "press \"Use this camera\" on the page")
	}
}

// Feed is one page's camera.
type Feed struct {
	r     *Remote
	codec string
	fps   float64
	track *sound.Track // nil: it sends no sound

	decoder *decode.Stream // made with the first picture
	skipped int64
	refused error // the feed has ended for it

	mu    sync.Mutex // guards what follows: sound may come from another goroutine
	clock steady
	heard allowance
	said  time.Duration // time of the latest sound
}

// Connect starts to accept a page's pictures, in one of the codecs of decode.OpenStream. fps is
// the rate of its camera, 0 if unknown. With hears, Opus comes as well. The error is ErrTaken while
// another page sends. The caller closes the feed; its methods but PushSound are for one goroutine.
func (r *Remote) Connect(codec string, fps float64, hears bool) (*Feed, error) {
	switch codec {
	case "h264", "vp8", "jpeg":
	default:
		return nil, fmt.Errorf("no decoder for a camera's %q", codec)
	}
	r.mu.Lock()
	defer r.change()
	defer r.mu.Unlock()
	if r.feed != nil {
		return nil, ErrTaken
	}
	feed := &Feed{r: r, codec: codec, fps: min(max(fps, 0), 1000)}
	if hears {
		track, err := sound.OpusTrack()
		if err != nil {
			return nil, err
		}
		feed.track = track
	}
	r.feed = feed
	r.explain()
	return r.feed, nil
}

// Refuse notes why a page cannot give its camera.
func (r *Remote) Refuse(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.feed == nil {
		r.reason = reason
		r.explain()
	}
}

// Push decodes a picture taken at stamp, by the page's clock, and hands it to the session. An
// error that wraps ErrTooLarge ends the feed; others ask for a key frame.
func (f *Feed) Push(data []byte, stamp float64) error {
	if f.refused != nil {
		return f.refused
	}
	f.r.mu.Lock()
	source := f.r.source
	f.r.mu.Unlock()
	if source == nil {
		return nil // the session is about to open it
	}
	if f.decoder == nil {
		d, err := decode.OpenStream(f.codec, source.pool, f.r.options)
		if err != nil {
			return err
		}
		f.decoder = d
	}
	came := time.Now()
	frame, err := f.decoder.Decode(data, int64(stamp*1000))
	if errors.Is(err, decode.ErrTooLarge) {
		f.refused = fmt.Errorf("%w: choose a smaller size, of %d pixels at most", ErrTooLarge, f.r.options.MaxPixels)
		f.Close(f.refused.Error())
		return f.refused
	}
	if frame == nil || err != nil {
		return err
	}
	f.mu.Lock()
	at := f.clock.picture(stamp, came)
	f.mu.Unlock()
	shot := Shot{Frame: frame, Taken: time.Unix(0, int64(at)), Stamp: stamp, Foreign: true, Skipped: f.skipped, At: at}
	f.skipped = 0
	if source.shots.put(shot) {
		f.skipped = 1
	}
	return nil
}

// Close ends the feed; the session then waits for another. reason is "" if the user stopped it.
func (f *Feed) Close(reason string) {
	f.r.mu.Lock()
	defer f.r.change()
	defer f.r.mu.Unlock()
	if f.decoder != nil {
		f.decoder.Close()
		f.decoder = nil
	}
	if f.r.feed == f {
		f.r.feed, f.r.reason = nil, reason
		f.r.explain()
	}
}

// remote is the session's end.
type remote struct {
	r     *Remote
	pool  *pipeline.Pool
	tell  StatusFunc
	shots *mailbox[Shot]
	speak func(sound.Packet) // guarded by r.mu
}

// Track implements listener.
func (s *remote) Track() *sound.Track {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.feed == nil {
		return nil
	}
	return s.r.feed.track
}

// Speak implements speaker.
func (s *remote) Speak(to func(sound.Packet)) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.speak = to
}

func (s *remote) Next(ctx context.Context) (Shot, error) {
	for {
		shot, err := s.shots.get(ctx)
		if errors.Is(err, errClosed) {
			err = io.EOF
		}
		if err != nil || !s.r.Wanted() {
			return shot, err
		}
		shot.release() // its camera has left, and the session has said so
	}
}

func (s *remote) FrameRate() float64 {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.r.feed == nil {
		return 0
	}
	return s.r.feed.fps
}

func (s *remote) Close() {
	s.r.mu.Lock()
	if s.r.source == s {
		s.r.source = nil
	}
	s.r.mu.Unlock()
	s.shots.close()
}
