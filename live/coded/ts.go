package coded

import (
	"bytes"
	"context"
	"io"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts"
)

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
