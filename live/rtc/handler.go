package rtc

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"vidfilter/internal/site"
	"vidfilter/live/access"
)

// MaxOffer is how many bytes an offer may have.
const MaxOffer = 64 << 10

// Paths returns the paths that Handler answers, and the rights that they need; one that ends in a
// slash includes those below it.
func Paths() map[string]access.Rights {
	return map[string]access.Rights{"/whep": access.View, "/whep/": access.View, "/whip": access.Control, "/whip/": access.Control}
}

// Handler answers /whep, /whip and the paths below them.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	for kind, open := range map[string]opener{"whep": s.view, "whip": s.film} {
		at, of := "/"+kind, "/"+kind+"/{id}"
		mux.HandleFunc("POST "+at, func(w http.ResponseWriter, r *http.Request) { s.endpoint(w, r, kind, open) })
		mux.HandleFunc("DELETE "+of, func(w http.ResponseWriter, r *http.Request) {
			if !s.remove(kind, r.PathValue("id")) {
				answerError(w, errNoSession)
			}
		})
		s.allow(mux, at, "OPTIONS, POST", "POST an offer here")
		s.allow(mux, of, "DELETE, OPTIONS", "DELETE a session; candidates that come later are not needed")
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		site.Refuse(w, http.StatusNotFound, "there is nothing under this path")
	})
	return mux
}

const offered = "application/sdp"

var errNoSession = refuse(http.StatusNotFound, "there is no such session; it may have ended")

// opener begins a session.
type opener func(ctx context.Context, o offer) (x *session, answer string, err error)

// allow answers OPTIONS, and refuses all methods of a path that have no handler.
func (s *Server) allow(mux *http.ServeMux, path, methods, refusal string) {
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", methods)
		if r.Method != http.MethodOptions {
			site.Refuse(w, http.StatusMethodNotAllowed, refusal)
			return
		}
		if strings.Contains(methods, http.MethodPost) {
			w.Header().Set("Accept-Post", offered)
			w.Header()["Link"] = s.links()
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// endpoint is where sessions begin.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request, kind string, open opener) {
	x, answer, err := s.negotiate(r, open)
	if err != nil {
		answerError(w, err)
		return
	}
	w.Header().Set("Content-Type", offered)
	w.Header().Set("Location", "/"+kind+"/"+x.id)
	w.Header()["Link"] = s.links()
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, answer)
}

// answerError answers a request that cannot be met.
func answerError(w http.ResponseWriter, err error) {
	var no refusal
	if !errors.As(err, &no) {
		no = refusal{http.StatusInternalServerError, printable(err.Error())}
	}
	if no.code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	site.Refuse(w, no.code, no.sentence)
}

// read returns the offer in a request.
func read(r *http.Request) ([]byte, error) {
	if given, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || !strings.EqualFold(given, offered) {
		return nil, refuse(http.StatusUnsupportedMediaType, "send an offer as Content-Type: %s", offered)
	}
	body, err := io.ReadAll(r.Body)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, refuse(http.StatusRequestEntityTooLarge, "that is too long for an offer")
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "an offer did not come in whole")
	}
	return body, nil
}

func (s *Server) negotiate(r *http.Request, open opener) (*session, string, error) {
	body, err := read(r)
	if err != nil {
		return nil, "", err
	}
	o, err := parseOffer(body)
	if err != nil {
		return nil, "", err
	}
	return open(r.Context(), o)
}

// view begins a player's session.
func (s *Server) view(ctx context.Context, o offer) (x *session, answer string, err error) {
	guest, ok := s.o.Enter(ctx)
	if !ok {
		return nil, "", errFull
	}
	defer func() {
		if err != nil {
			guest.Leave()
		}
	}()
	if err := o.use(o.audio != nil && o.audio.accept && s.hears()); err != nil {
		return nil, "", err
	}
	v, err := s.newViewer(o)
	if err != nil {
		return nil, "", err
	}
	v.peer.kicked = guest.Kicked()
	return s.begin(ctx, "whep", v.peer, o, v.run, func(error) { guest.Leave() })
}

// hears reports whether there is sound, or may be with the next camera. A silent track would hold
// up some players.
func (s *Server) hears() bool {
	st, _ := s.o.Session.State()
	return s.o.Sound != nil && (st.Sound || s.o.Remote != nil)
}

// film begins a camera's session.
func (s *Server) film(ctx context.Context, o offer) (x *session, answer string, err error) {
	if err := o.use(o.audio != nil && o.audio.sends); err != nil {
		return nil, "", err
	}
	c, err := s.newCamera(o)
	if err != nil {
		return nil, "", err
	}
	defer func() {
		if err != nil {
			c.close(nil)
		}
	}()
	return s.begin(ctx, "whip", c.peer, o, c.run, c.close)
}

// begin answers an offer and starts its session.
func (s *Server) begin(ctx context.Context, kind string, p *peer, o offer, run func(context.Context), after func(error)) (*session, string, error) {
	answer, err := p.answer(ctx, o)
	if err != nil {
		_ = p.pc.Close()
		return nil, "", err
	}
	x, ok := s.start(kind, p, run, after)
	if !ok {
		_ = p.pc.Close()
		return nil, "", refuse(http.StatusServiceUnavailable, "vidfilter is ending")
	}
	return x, answer, nil
}
