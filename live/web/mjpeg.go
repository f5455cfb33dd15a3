package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"vidfilter/internal/site"
	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/coded"
	"vidfilter/live/preview"
	"vidfilter/pipeline"
)

// plainView is a view of a pair or, with sides, of what viewers compare.
type plainView struct {
	preview.View
	sides bool
}

var views = map[string]plainView{
	"": {preview.ViewSplit, true}, "split": {preview.ViewSplit, true}, "original": {preview.ViewOriginal, false}, "filtered": {preview.ViewFiltered, false},
	"left": {preview.ViewOriginal, true}, "right": {preview.ViewFiltered, true},
}

const noView = "view is split, original, filtered, left or right"

func (v plainView) of(p *live.Pair) (left, right *pipeline.Frame) {
	if v.sides {
		return p.Sides()
	}
	return p.Original, p.Filtered
}

const boundary = "picture"

// mjpeg sends JPEGs until the client leaves; each replaces the one before.
func (s *Server) mjpeg(w http.ResponseWriter, r *http.Request) {
	view, known := views[r.URL.Query().Get("view")]
	if !known {
		site.Refuse(w, http.StatusBadRequest, noView)
		return
	}
	ctx, done := s.enter(w, r, "MJPEG")
	if done == nil {
		return
	}
	defer done()
	j := &jpegs{view: view, pool: s.o.Encoders, next: make(chan []byte, 1), ended: make(chan struct{}, 1)}
	member := s.o.Encoders.Join(j)
	defer member.Leave()
	w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary="+boundary)
	_ = j.send(ctx, member, &timedWriter{w, http.NewResponseController(w)})
}

// jpegRate is for pictures that are whole each time.
const jpegRate = 30e6

// jpegs is a client of the pool with room for one picture.
type jpegs struct {
	view  plainView
	pool  *coded.EncoderPool
	next  chan []byte
	ended chan struct{}
}

// send writes pictures with a boundary behind each, since browsers wait for that before they show
// the picture.
func (j *jpegs) send(ctx context.Context, m *coded.Subscriber, w *timedWriter) error {
	begin := "--" + boundary + "\r\n"
	for {
		select {
		case b := <-j.next:
			m.Ready()
			head := fmt.Sprintf("%sContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n", begin, len(b))
			if _, err := w.Write(slices.Concat([]byte(head), b, []byte("\r\n--"+boundary+"\r\n"))); err != nil {
				return err
			}
			begin = ""
		case <-j.ended:
			return errors.New("the session has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (j *jpegs) Want() coded.EncoderKey {
	return coded.EncoderKey{Kind: preview.JPEG, View: j.view.View, Sides: j.view.sides, Display: j.pool.Display()}
}
func (j *jpegs) Rate() float64           { return jpegRate }
func (j *jpegs) Interval() time.Duration { return 0 }
func (j *jpegs) Room() bool              { return len(j.next) == 0 }
func (j *jpegs) Refuse(error)            {}
func (j *jpegs) End()                    { wake.Up(j.ended) }

func (j *jpegs) Take(p coded.Picture) {
	select {
	case j.next <- p.Data:
	default: // only the pool puts pictures in, when there is room
	}
}
