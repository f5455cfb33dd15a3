package rtc

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/pion/stun/v4"
	"github.com/pion/webrtc/v4"
)

// ICEServer is a STUN or TURN server.
type ICEServer struct {
	uri        stun.URI
	text       string // the address, without credentials
	user, pass string
}

// ParseICEServer takes stun:HOST[:PORT] or turn:USER:PASSWORD@HOST[:PORT], where % escapes
// characters of user and password. Like stuns and turns, turn with ?transport=tcp is for peers
// only: from here, servers are reached over UDP.
func ParseICEServer(s string) (ICEServer, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	var x ICEServer
	var named bool
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		user, pass, ok := strings.Cut(rest[:i], ":")
		var bad, worse error
		x.user, bad = url.PathUnescape(user)
		x.pass, worse = url.PathUnescape(pass)
		if !ok || bad != nil || worse != nil || x.user == "" || x.pass == "" {
			return x, errors.New("its user and password are not USER:PASSWORD, with % for other characters")
		}
		named, rest = true, rest[i+1:]
	}
	x.text = strings.ToLower(scheme) + ":" + rest
	uri, err := stun.ParseURI(x.text)
	if err != nil {
		return x, errors.New("not stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT")
	}
	x.uri = *uri
	if turn := uri.Scheme == stun.SchemeTypeTURN || uri.Scheme == stun.SchemeTypeTURNS; turn != named {
		return x, errors.New("turn needs USER:PASSWORD@ before its host, and stun takes none")
	}
	if strings.ContainsAny(x.text+x.user+x.pass, "\"\\<>\r\n") {
		return x, errors.New("it has characters that no header can hold")
	}
	return x, nil
}

// configuration returns the servers as pion takes them, for gathering from here.
func (s *Server) configuration() webrtc.Configuration {
	var c webrtc.Configuration
	for _, x := range s.o.Servers {
		if x.uri.Proto == stun.ProtoTypeUDP {
			c.ICEServers = append(c.ICEServers, webrtc.ICEServer{URLs: []string{x.text}, Username: x.user, Credential: x.pass})
		}
	}
	return c
}

// links returns the values of Link headers that give peers the servers.
func (s *Server) links() (all []string) {
	for _, x := range s.o.Servers {
		link := fmt.Sprintf("<%s>; rel=\"ice-server\"", x.text)
		if x.user != "" {
			link += fmt.Sprintf("; username=%q; credential=%q; credential-type=\"password\"", x.user, x.pass)
		}
		all = append(all, link)
	}
	return all
}
