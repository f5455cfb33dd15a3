package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"vidfilter/encode"
	"vidfilter/internal/site"
	"vidfilter/live"
)

var views = map[string]encode.View{
	"": encode.ViewSplit, "split": encode.ViewSplit, "original": encode.ViewOriginal, "filtered": encode.ViewFiltered,
}

const boundary = "picture"

// mjpeg sends JPEGs one after the other for as long as somebody takes them: each replaces the one before.
func (s *Server) mjpeg(w http.ResponseWriter, r *http.Request) {
	view, known := views[r.URL.Query().Get("view")]
	if !s.loggedIn(r) {
		site.Refuse(w, http.StatusUnauthorized, "log in on the page first")
		return
	}
	if !known {
		site.Refuse(w, http.StatusBadRequest, "view is split, original or filtered")
		return
	}
	if !s.begin() {
		site.Refuse(w, http.StatusServiceUnavailable, "vidfilter has ended")
		return
	}
	defer s.viewing.Done()
	leave, ok := s.Enter()
	if !ok {
		site.Refuse(w, http.StatusServiceUnavailable, errFull.Error())
		return
	}
	defer leave()
	p, err := encode.NewPreview(encode.PreviewOptions{
		Kind: encode.PreviewJPEG, View: view, BitRate: jpegRate, FrameRate: 30, Threads: s.o.Threads,
	})
	if err != nil {
		site.Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	defer p.Close()
	watch := s.session.Watch(1)
	defer watch.Close()
	w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary="+boundary)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	j := jpegs{w: w, rc: http.NewResponseController(w), p: p, begin: true}
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
	p  *encode.Preview

	begin bool // the first boundary is still to come
}

// send writes one picture. Browsers show one when the boundary behind it has come, so that goes with it.
func (j *jpegs) send(pair *live.Pair) error {
	packet, err := j.p.Encode(pair.Original, pair.Filtered, encode.Stamp{}, true)
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
