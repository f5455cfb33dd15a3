package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"vidfilter/decode"
	"vidfilter/pipeline"
)

// ErrTaken is the error of a second camera.
var ErrTaken = errors.New("another page sends its camera already")

// Remote is the camera of a browser: an input whose pictures are sent to it. Its methods may be called from any goroutine.
type Remote struct {
	options decode.StreamOptions

	mu     sync.Mutex
	source *remote // while the session has the input open
	feed   *Feed   // the page that sends, nil for none
	reason string  // why there is none, "" when nobody has tried
	change func()
}

// NewRemote returns an input without a camera. changed, which may be nil, is called when Wanted may have changed; it must not block.
func NewRemote(o decode.StreamOptions, changed func()) *Remote {
	if changed == nil {
		changed = func() {}
	}
	return &Remote{options: o, change: changed}
}

// Open is for an Input.
func (r *Remote) Open(_ context.Context, pool *pipeline.Pool, tell Tell) (Source, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.source = &remote{r: r, pool: pool, tell: tell, shots: newMailbox(1, Shot.release)}
	r.explain()
	return r.source, nil
}

// Wanted tells that no page sends its camera.
func (r *Remote) Wanted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.feed == nil
}

// explain tells why no pictures come; r.mu is held.
func (r *Remote) explain() {
	switch {
	case r.source == nil:
	case r.feed != nil:
		r.source.tell(Starting, "the browser's camera is starting", "")
	case r.reason != "":
		r.source.tell(Waiting, "the browser's camera: "+r.reason, "allow the camera on the page, or give another input with -i")
	default:
		r.source.tell(Waiting, "no browser sends its camera yet", "press \"Use this camera\" on the page")
	}
}

// Feed is one page's camera.
type Feed struct {
	r     *Remote
	codec string
	fps   float64

	decoder *decode.Stream // made with the first picture
	skipped int64
}

// Connect begins to take a page's pictures, in one of the codecs that decode.OpenStream takes. fps is what it says of its camera, 0 for
// nothing. The error is ErrTaken while another page sends. The caller closes the feed; its methods are for one goroutine.
func (r *Remote) Connect(codec string, fps float64) (*Feed, error) {
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
	r.feed = &Feed{r: r, codec: codec, fps: min(max(fps, 0), 1000)}
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

// Push decodes a picture, taken at stamp by the page's clock, and hands it to the session. The error asks for a key frame.
func (f *Feed) Push(data []byte, stamp float64) error {
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
	if frame == nil || err != nil {
		return err
	}
	shot := Shot{Frame: frame, Taken: came, Stamp: stamp, Foreign: true, Skipped: f.skipped}
	f.skipped = 0
	if source.shots.put(shot) {
		f.skipped = 1
	}
	return nil
}

// Close ends the feed; the session then waits for another. reason says why, "" when the person wanted it.
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
	tell  Tell
	shots *mailbox[Shot]
}

func (s *remote) Next(ctx context.Context) (Shot, error) {
	shot, err := s.shots.get(ctx)
	if errors.Is(err, errClosed) {
		err = io.EOF
	}
	return shot, err
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
