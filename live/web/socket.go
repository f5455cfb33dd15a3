package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/preview"
)

// Close codes beside the standard ones.
const (
	closedNoLogin websocket.StatusCode = 4001
	closedFull    websocket.StatusCode = 4002
	closedEnd     websocket.StatusCode = 4003
	closedKicked  websocket.StatusCode = 4004
)

// socket is GET /ws. It refuses over the socket, since a page cannot read the status of a failed
// handshake.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	// guard has checked Origin and Host.
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	defer func() { _ = c.CloseNow() }()
	c.SetReadLimit(maxBinary + cameraHeader)
	visitor, _ := s.who(r, false)
	if visitor.Rights == access.None {
		_ = c.Close(closedNoLogin, "log in first")
		return
	}
	if !s.begin() {
		_ = c.Close(closedEnd, "vidfilter has ended")
		return
	}
	defer s.viewing.Done()
	guest, ok := s.o.Admission.Enter(visitor, "page")
	if !ok {
		_ = c.Close(closedFull, access.Full)
		return
	}
	defer guest.Leave()
	v := &viewer{server: s, conn: c, guest: guest, flow: newRateControl(), queue: make(chan any, mostQueued), kind: make(chan preview.Coding, 1), soundChanged: make(chan struct{}, 1)}
	defer context.AfterFunc(s.ctx, func() { _ = c.Close(closedEnd, "vidfilter has ended") })()
	v.run()
}

// viewer is one page.
type viewer struct {
	server *Server
	conn   *websocket.Conn
	guest  *access.Viewer

	kind  chan preview.Coding // of the page's pictures, from its hello
	queue chan any            // pictures and messages to be sent

	member atomic.Pointer[coded.Subscriber] // nil before its hello

	hears        atomic.Bool   // the page plays sound
	soundChanged chan struct{} // holds an element when that may have changed
	speaks       atomic.Bool   // its own camera is shown

	measured time.Time // for the receiving goroutine

	measuring atomic.Bool // the noise in a box

	feed   *live.Feed // of the page's camera, or nil; for the receiving goroutine, as is uplink
	uplink uplink

	mu      sync.Mutex // guards the fields below
	flow    *rateControl
	want    coded.EncoderKey
	sent    live.Window // bytes of pictures, of the last second
	latency live.Window // milliseconds from a picture's arrival to sent
	encode  live.Window // milliseconds
	rtt     float64     // milliseconds
}

// run serves the page until it leaves or sends a bad message, or the server closes the socket. A
// write whose context ends closes the socket, so cancel comes last.
func (v *viewer) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	for _, part := range []func(context.Context) error{v.send, v.hear, v.tell, v.measure, v.follow, v.alive, v.untilKicked} {
		wg.Go(func() {
			if part(ctx) != nil {
				_ = v.conn.CloseNow()
			}
		})
	}
	switch err := v.receive(ctx); {
	case errors.Is(err, errTooLong):
		_ = v.conn.Close(websocket.StatusMessageTooBig, err.Error())
	case errors.As(err, new(badMessage)):
		_ = v.conn.Close(websocket.StatusPolicyViolation, "this is not the socket of a page")
	}
	cancel()
	wg.Wait()
	v.endFeed("")
}

// untilKicked disconnects a viewer who is removed.
func (v *viewer) untilKicked(ctx context.Context) error {
	select {
	case <-v.guest.Kicked():
		return v.conn.Close(closedKicked, "somebody with control has ended this view")
	case <-ctx.Done():
		return nil
	}
}

// beat is the interval of pings.
const beat = 2 * time.Second

// alive measures the line and disconnects a viewer whose computer has gone to sleep.
func (v *viewer) alive(ctx context.Context) error {
	for wake.Sleep(ctx, beat) == nil {
		patient, cancel := context.WithTimeout(ctx, silent)
		start := time.Now()
		err := v.conn.Ping(patient)
		cancel()
		if err != nil {
			return err
		}
		v.mu.Lock()
		v.flow.ping(time.Now(), time.Since(start))
		v.mu.Unlock()
	}
	return nil
}

func (v *viewer) write(ctx context.Context, kind websocket.MessageType, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, silent)
	defer cancel()
	return v.conn.Write(ctx, kind, b)
}

func (v *viewer) say(ctx context.Context, m any) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return v.write(ctx, websocket.MessageText, b)
}

// tell sends the state when it changes, but not faster than a person can see.
func (v *viewer) tell(ctx context.Context) error {
	for {
		state, changed := v.server.session.State()
		v.server.mu.Lock()
		also := v.server.changed
		v.server.mu.Unlock()
		if err := v.say(ctx, v.stateMessage(state)); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-also:
		case <-ctx.Done():
			return nil
		}
		if wake.Sleep(ctx, 30*time.Millisecond) != nil {
			return nil
		}
	}
}

func (v *viewer) stateMessage(st live.State) stateMessage {
	s := v.server
	all := s.o.Admission.Viewers()
	m := stateMessage{
		Type: "state", Version: s.o.Version, Input: s.o.Input.Name, Source: s.o.Input.Kind, State: st,
		Backend: s.o.Backend, Start: s.session.Start(), Options: st.Filter.Controls(),
		Presets: live.Presets(), Restore: s.o.Restore && !st.Touched && v.guest.Rights >= access.Control,
		Automatic: st.Filter.Automatic(), Command: s.o.Command(st.Filter), Viewers: len(all),
		MaxViewers: s.o.Admission.Most(), Rights: v.guest.Rights, CameraWanted: s.o.Remote != nil && s.o.Remote.Wanted(),
	}
	m.Words = st.Filter.Words()
	if st.Other != nil {
		m.OtherWords = st.Other.Words()
	}
	m.Recording, m.RecordWhy = s.o.Recording()
	if v.guest.Rights < access.Control {
		return m
	}
	for _, g := range all {
		m.Guests = append(m.Guests, viewerMessage{
			ID: g.ID, Address: g.Address.String(), Since: live.Milliseconds(g.Since), Transport: g.Transport, Rights: g.Rights, You: g == v.guest,
		})
	}
	return m
}

// measure sends figures every second.
func (v *viewer) measure(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := v.say(ctx, v.stats()); err != nil {
			return err
		}
	}
}

func (v *viewer) stats() statsMessage {
	f := v.server.session.Figures()
	now := time.Now()
	m := statsMessage{
		Type: "stats", FPS: f.FPS, SourceFPS: f.SourceFPS, Filter: milliseconds(f.Filter),
		Dropped: dropped{f.DroppedSource, f.DroppedFilter, v.dropped()}, Noise: v.server.session.Noise(),
	}
	if f.GPU {
		in, kernel, out := milliseconds(f.CopyIn), milliseconds(f.Kernel), milliseconds(f.CopyOut)
		m.CopyIn, m.Kernel, m.CopyOut = &in, &kernel, &out
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	m.SentFPS, m.SentBitRate = v.sent.Rate(now), 8*v.sent.Sum(now)
	m.Encode, m.Arrived = v.encode.Median(now), v.latency.Median(now)
	m.BitRate, m.InFlight, m.RTT = int64(v.flow.rate), len(v.flow.flying), v.rtt
	return m
}

// dropped returns how many pictures the viewer has missed.
func (v *viewer) dropped() int64 {
	if m := v.member.Load(); m != nil {
		return m.Dropped()
	}
	return 0
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
