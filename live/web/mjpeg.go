package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"vidfilter/internal/site"
	"vidfilter/live"
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
	p, err := preview.New(preview.Options{
		Kind: preview.JPEG, View: view.View, BitRate: jpegRate, FrameRate: 30, Threads: s.o.Threads,
	})
	if err != nil {
		site.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer p.Close()
	watch := s.session.Watch(1)
	defer watch.Close()
	w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary="+boundary)
	j := jpegs{w: w, rc: http.NewResponseController(w), p: p, view: view, begin: true}
	for {
		pair, err := watch.Next(ctx)
		if err != nil {
			return
		}
		err = j.send(pair)
		pair.Release()
		if err != nil {
			return
		}
	}
}

// jpegRate is for pictures that are whole each time.
const jpegRate = 30e6

type jpegs struct {
	w  http.ResponseWriter
	rc *http.ResponseController
	p  *preview.Encoder

	view  plainView
	begin bool // the first boundary is still to come
}

// send writes one picture with the boundary behind it, since browsers wait for that before they
// show the picture.
func (j *jpegs) send(pair *live.Pair) error {
	left, right := j.view.of(pair)
	packet, err := j.p.Encode(left, right, preview.Stamp{}, true)
	if err != nil {
		return err
	}
	if err := j.rc.SetWriteDeadline(time.Now().Add(silent)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if j.begin {
		if _, err := fmt.Fprintf(j.w, "--%s\r\n", boundary); err != nil {
			return err
		}
		j.begin = false
	}
	if _, err := fmt.Fprintf(j.w, "Content-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n", len(packet.Data)); err != nil {
		return err
	}
	if _, err := j.w.Write(packet.Data); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(j.w, "\r\n--%s\r\n", boundary); err != nil {
		return err
	}
	return j.rc.Flush()
}
