package rtc

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pion/webrtc/v4"
)

// trickled is the media type of a fragment of SDP with more candidates.
const trickled = "application/trickle-ice-sdpfrag"

// fragment holds more candidates of a peer, RFC 8840.
type fragment struct {
	ufrags     []string
	candidates []string
}

func parseFragment(body []byte) (f fragment, err error) {
	for line := range strings.SplitSeq(string(body), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		if len(line) < 2 || line[1] != '=' {
			return f, refuse(http.StatusBadRequest, "that is no fragment of SDP")
		}
		switch key, value, _ := strings.Cut(line[2:], ":"); {
		case line[0] != 'a':
		case key == "ice-ufrag":
			f.ufrags = append(f.ufrags, value)
		case key == "candidate":
			f.candidates = append(f.candidates, line[2:])
		}
	}
	return f, nil
}

// matches reports whether an If-Match header names the session's entity tag.
func matches(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		if t = strings.TrimSpace(t); t == tag || t == "*" {
			return true
		}
	}
	return false
}

// trickle adds the candidates of a request to a session.
func (s *Server) trickle(r *http.Request, kind string) error {
	x := s.session(kind, r.PathValue("id"))
	if x == nil {
		return errNoSession
	}
	match := r.Header.Get("If-Match")
	switch {
	case match == "":
		return refuse(http.StatusPreconditionRequired, "send the session's ETag as If-Match")
	case !matches(match, x.tag):
		return refuse(http.StatusPreconditionFailed, "this is not the session's ETag")
	}
	body, err := read(r, trickled, "candidates")
	if err != nil {
		return err
	}
	f, err := parseFragment(body)
	if err != nil {
		return err
	}
	return x.peer.add(f)
}

// add takes more candidates.
func (p *peer) add(f fragment) error {
	for _, u := range f.ufrags {
		if !slices.Contains(p.ufrags, u) {
			return refuse(http.StatusUnprocessableEntity, "ICE cannot restart here: end this session and begin another")
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.candidates += len(f.candidates); p.candidates > mostCandidates {
		return refuse(http.StatusBadRequest, "a session with %d candidates", p.candidates)
	}
	for _, c := range f.candidates {
		if err := p.pc.AddICECandidate(webrtc.ICECandidateInit{Candidate: c}); err != nil {
			return refuse(http.StatusBadRequest, "that is no candidate: %s", printable(err.Error()))
		}
	}
	return nil
}
