package web

import (
	"context"
	"net/http"
	"time"

	"vidfilter/internal/site"
	"vidfilter/live/access"
	"vidfilter/live/coded"
)

// enter lets a player in. Its context ends when it leaves or has to go. done is nil, and the
// request answered, if it cannot be let in.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, transport string) (ctx context.Context, done func()) {
	if !s.begin() {
		site.Refuse(w, http.StatusServiceUnavailable, "vidfilter has ended")
		return nil, nil
	}
	guest, ok := s.o.Admission.Enter(VisitorOf(r.Context()), transport)
	if !ok {
		s.viewing.Done()
		site.Refuse(w, http.StatusServiceUnavailable, access.Full)
		return nil, nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(s.ctx, cancel)
	go untilKicked(ctx, guest, cancel)
	return ctx, func() {
		stop()
		cancel()
		guest.Leave()
		s.viewing.Done()
	}
}

func untilKicked(ctx context.Context, g *access.Viewer, end func()) {
	select {
	case <-g.Kicked():
		end()
	case <-ctx.Done():
	}
}

// ts is GET /stream.ts: the filtered picture as H.264 in MPEG-TS.
func (s *Server) ts(w http.ResponseWriter, r *http.Request) {
	ctx, done := s.enter(w, r, "MPEG-TS")
	if done == nil {
		return
	}
	defer done()
	reader := s.o.Encoders.Read()
	defer reader.Close()
	w.Header().Set("Content-Type", "video/mp2t")
	_ = coded.WriteTS(ctx, reader, &timedWriter{w, http.NewResponseController(w)})
}

// timedWriter writes an endless response with a deadline for each part, and flushes it.
type timedWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (p *timedWriter) Write(b []byte) (int, error) {
	if err := p.rc.SetWriteDeadline(time.Now().Add(silent)); err != nil {
		return 0, err
	}
	n, err := p.w.Write(b)
	if err != nil {
		return n, err
	}
	return n, p.rc.Flush()
}
