package liverun

import (
	"encoding/json"
	"errors"
	"strings"

	"vidfilter/encode/target"
	"vidfilter/internal/sandbox"
	"vidfilter/live"
)

// Operations that a process in a sandbox asks of its parent, beside target.Broker's.
const (
	listening = "listening" // at the page with this address
	browse    = "browse"    // has the desktop open it
)

// Service acts for a session in a sandbox where the user's rights are needed: it keeps the
// recording, and opens the page in a browser, once. It is a sandbox.Service.
type Service struct {
	*target.Broker
	Env []string

	page   string
	sealed bool
	shown  bool
}

// Do does a request.
func (s *Service) Do(op string, body json.RawMessage) (any, error) {
	if op != listening && op != browse {
		s.sealed = s.sealed || op == sandbox.Sealed
		return s.Broker.Do(op, body)
	}
	var url string
	if err := json.Unmarshal(body, &url); err != nil {
		return nil, err
	}
	if op == listening {
		if s.sealed {
			return nil, errors.New("another page from inside the sandbox")
		}
		s.page = url
		return nil, nil
	}
	if s.shown || s.page == "" || !strings.HasPrefix(url, s.page+"#") {
		return nil, errors.New("this is not the page, or it was opened before")
	}
	if s.shown = openBrowser(s.Env, url); !s.shown {
		return nil, errors.New("there is no desktop")
	}
	return nil, nil
}

// enter leaves the session its input, its sockets and its recording.
func (l *liveRun) enter(page string) error {
	box := sandbox.Inside()
	if box == nil {
		return nil
	}
	if err := box.Ask(listening, page, nil); err != nil {
		return err
	}
	also := sandbox.Policy{Network: sandbox.Accept}
	if len(l.o.ICE) > 0 {
		also.Network = sandbox.Peer // each session asks the servers from a socket of its own
	}
	if l.device != nil {
		also.Devices = append(also.Devices, l.o.Target)
	}
	also.Write = l.record.files()
	var inputs []string
	if l.input.Kind != live.Test && l.input.Kind != live.Browser {
		inputs = append(inputs, l.o.Input)
	}
	return l.o.EnterSandbox(l.ui, also, inputs...)
}
