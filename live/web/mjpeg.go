package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"vidfilter/internal/site"
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
	j := &jpegs{coded.NewQueue(1), view, s.o.Encoders}
	member := s.o.Encoders.Join(j)
	defer member.Leave()
	w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary="+boundary)
	_ = j.send(ctx, member, &timedWriter{w, http.NewResponseController(w)})
}

// jpegRate is for pictures that are whole each time.
const jpegRate = 30e6

// jpegs is a client of the pool with room for one picture.
type jpegs struct {
	coded.Queue
	view plainView
	pool *coded.EncoderPool
}

// send writes pictures with a boundary behind each, since browsers wait for that before they show
// the picture.
func (j *jpegs) send(ctx context.Context, m *coded.Subscriber, w *timedWriter) error {
	begin := "--" + boundary + "\r\n"
	for {
		p, err := j.Next(ctx)
		if err != nil {
			return err
		}
		m.Ready()
		head := fmt.Sprintf("%sContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n", begin, len(p.Data))
		if _, err := w.Write(slices.Concat([]byte(head), p.Data, []byte("\r\n--"+boundary+"\r\n"))); err != nil {
			return err
		}
		begin = ""
	}
}

func (j *jpegs) Want() coded.EncoderKey {
	return coded.EncoderKey{Kind: preview.JPEG, View: j.view.View, Sides: j.view.sides, Display: j.pool.Display()}
}
func (j *jpegs) Rate() float64 { return jpegRate }
