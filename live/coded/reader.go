package coded

import (
	"bytes"
	"context"
	"io"
	"slices"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts"

	"vidfilter/internal/units"
	"vidfilter/live/preview"
)

// Unit is a picture for programs that know no acknowledgements. It is read-only.
type Unit struct {
	Units [][]byte // NAL units without start codes; the parameter sets come first in a key frame
	Key   bool
	At    time.Duration // since the reader's start, rising
	Taken time.Time     // when the picture was taken, or shown again
}

const (
	// keyInterval is the longest time from one key frame to the next: players begin anywhere, and
	// recorders cut there.
	keyInterval = 2 * time.Second
	// waiting is how many pictures wait for a reader: a recorder may be held up by a disk.
	waiting = 16
)

// Reader takes the filtered picture as H.264. One that falls behind misses pictures, and goes on
// with a key frame. Next is for one goroutine.
type Reader struct {
	queue  Queue
	member *Subscriber
	sets   [][]byte
	start  time.Time
	at     time.Duration
}

// Read returns a reader, whose first picture is a key frame. The caller closes it.
func (s *EncoderPool) Read() *Reader {
	r := &Reader{queue: NewQueue(waiting), at: -1}
	r.member = s.Join(&readerClient{r.queue, s})
	return r
}

// Key asks for a key frame.
func (r *Reader) Key() { r.member.Key() }

// Next waits for a picture. It fails when ctx or the session ends.
func (r *Reader) Next(ctx context.Context) (*Unit, error) {
	p, err := r.queue.Next(ctx)
	if err != nil {
		return nil, err
	}
	r.member.Ready()
	return r.unit(p), nil
}

// Close ends the reader. It may be called twice.
func (r *Reader) Close() {
	r.member.Leave()
	r.queue.End()
}

// unit returns a picture for the reader's program.
func (r *Reader) unit(p Picture) *Unit {
	if p.Config != nil {
		r.sets = p.Config.Sets
	}
	taken := p.Taken
	if p.Again || r.start.IsZero() || taken.Sub(r.start) <= r.at {
		taken = time.Now() // it is shown anew
	}
	if r.start.IsZero() {
		r.start = taken
	}
	r.at = max(taken.Sub(r.start), r.at+time.Millisecond)
	u := &Unit{Key: p.Key, At: r.at, Taken: taken}
	if p.Key {
		u.Units = slices.Clone(r.sets)
	}
	list, _ := units.NALUnits(p.Data, 4)
	u.Units = append(u.Units, list...)
	return u
}

// readerClient is a reader for its pool.
type readerClient struct {
	Queue
	pool *EncoderPool
}

func (r *readerClient) Want() EncoderKey {
	return EncoderKey{Kind: preview.AVC, View: preview.ViewFiltered, Display: r.pool.Display()}
}

func (r *readerClient) Rate() float64           { return r.pool.Ample() }
func (r *readerClient) Interval() time.Duration { return keyInterval }

// ticks are units of 1/90000 s. A stream begins at second one, since its clock runs ahead of its
// pictures.
func ticks(d time.Duration) int64 { return int64((d + time.Second) * 9 / 100_000) }

// WriteTS writes a stream's pictures as MPEG-TS, each by one call of w, until ctx or the session
// ends or w fails.
func WriteTS(ctx context.Context, r *Reader, w io.Writer) error {
	var b bytes.Buffer
	track := &mpegts.Track{Codec: &mpegts.CodecH264{}}
	mux := &mpegts.Writer{W: &b, Tracks: []*mpegts.Track{track}}
	if err := mux.Initialize(); err != nil {
		return err
	}
	for {
		u, err := r.Next(ctx)
		if err != nil {
			return err
		}
		at := ticks(u.At)
		if err := mux.WriteH264(track, at, at, u.Units); err != nil {
			return err
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
		b.Reset()
	}
}
