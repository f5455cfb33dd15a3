package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/coder/websocket"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/preview"
)

// receive handles the page's messages until it leaves.
func (v *viewer) receive(ctx context.Context) error {
	for {
		kind, b, err := v.conn.Read(ctx)
		if err != nil {
			return err
		}
		if kind == websocket.MessageBinary {
			err = v.cameraPicture(ctx, b)
		} else if m, bad := parseMessage(b); bad != nil {
			err = bad
		} else {
			err = v.handle(ctx, m)
		}
		if err != nil {
			return err
		}
	}
}

// lookers are the messages of those who only look.
var lookers = []string{"hello", "ack", "key", "ping"}

func (v *viewer) handle(ctx context.Context, m message) error {
	session := v.server.session
	if v.guest.Rights < access.Control && !slices.Contains(lookers, m.Type) {
		return v.say(ctx, refusedMessage{"refused", "you can only look on here"})
	}
	switch m.Type {
	case "hello":
		return v.hello(m)
	case "ack":
		v.ack(m)
	case "key":
		v.mu.Lock()
		v.wantKey = true
		v.mu.Unlock()
		v.watch.Again() // a still picture is not sent again otherwise
	case "set":
		if m.Filter == nil {
			return nil
		}
		if err := session.Set(func(f *live.Filter) error { return f.Apply(m.Filter) }); err != nil {
			return v.say(ctx, refusedMessage{"refused", err.Error()})
		}
	case "freeze":
		session.Freeze(m.On)
	case "restart":
		session.Restart()
	case "ping":
		return v.say(ctx, pongMessage{"pong", m.T, live.Milliseconds(time.Now())})
	case "camera":
		return v.camera(ctx, m)
	case "kick":
		v.server.o.Door.Kick(m.Guest, v.guest)
	}
	return nil
}

func (v *viewer) hello(m message) error {
	_, known := previewKinds[m.Video]
	if m.Version != version || !known {
		return badMessage{fmt.Errorf("a page of version %d with %q", m.Version, m.Video)}
	}
	select {
	case v.kind <- m.Video:
	default: // it has said so
	}
	return nil
}

var errFull = errors.New("as many viewers as are allowed are looking already")

func (v *viewer) ack(m message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	wait := time.Duration(m.Wait * float64(time.Millisecond))
	v.flow.ack(time.Now(), m.ID, wait)
	v.rtt = milliseconds(v.flow.least())
	wake.Up(v.credit)
}

// patience limits the wait for a page's hello: a silent one would occupy a viewer's place.
var patience = 5 * time.Second

// previewKinds are the formats a page may ask for.
var previewKinds = map[string]preview.Kind{"avc": preview.AVC, "mp4": preview.MP4, "jpeg": preview.JPEG}

// heldByVideo is how many pictures a video element buffers while it plays.
const heldByVideo = 6

// send sends the newest picture each time the page has room for one.
func (v *viewer) send(ctx context.Context) error {
	var kind string
	select {
	case kind = <-v.kind:
	case <-time.After(patience):
		return v.conn.Close(websocket.StatusPolicyViolation, "no hello has come")
	case <-ctx.Done():
		return nil
	}
	v.mu.Lock()
	switch kind {
	case "mp4":
		v.flow.held = heldByVideo
	case "jpeg":
		v.flow.rate = jpegRate
	}
	o := preview.Options{
		Kind: previewKinds[kind], View: preview.ViewStack, BitRate: int64(v.flow.rate), FrameRate: v.frameRate(), Threads: v.server.o.Threads,
	}
	v.mu.Unlock()
	p, err := preview.New(o)
	if err != nil {
		return err
	}
	defer p.Close()
	out := &sender{viewer: v, preview: p, kind: kind}
	for {
		if err := v.waitForRoom(ctx); err != nil {
			return nil
		}
		pair, err := v.watch.Next(ctx)
		if err != nil {
			return nil
		}
		err = out.picture(ctx, pair)
		pair.Release()
		if err != nil {
			return err
		}
	}
}

// frameRate is the encoder's rate for distributing its bits.
func (v *viewer) frameRate() float64 {
	st, _ := v.server.session.State()
	if st.FrameRate > 0 {
		return st.FrameRate
	}
	return 30
}

func (v *viewer) waitForRoom(ctx context.Context) error {
	for {
		v.mu.Lock()
		room := v.flow.room()
		v.mu.Unlock()
		if room {
			return nil
		}
		select {
		case <-v.credit:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// sender encodes for a viewer.
type sender struct {
	*viewer
	preview *preview.Encoder
	kind    string
	before  int64 // the pair that was sent last
	buffer  []byte
}

func (s *sender) picture(ctx context.Context, pair *live.Pair) error {
	s.mu.Lock()
	rate, key := int64(s.flow.rate), s.wantKey
	s.wantKey = false
	s.mu.Unlock()
	s.preview.SetBitRate(rate)
	start := time.Now()
	packet, err := s.preview.Encode(pair.Original, pair.Filtered, preview.Stamp{Time: pair.Stamp, Seq: uint16(pair.ID)}, key)
	if err != nil {
		return s.cannot(ctx, err)
	}
	encoded := time.Since(start)
	if packet.Config != nil {
		if err := s.configure(ctx, packet.Config); err != nil {
			return err
		}
	}
	kind, flags := byte(kindPicture), byte(0)
	if s.kind == "mp4" {
		kind = kindFragment
	}
	if packet.Key {
		flags |= flagKey
	}
	if pair.Foreign {
		flags |= flagForeign
	}
	repeated := pair.Repeated || s.before == 0 || s.before == pair.ID
	if repeated {
		flags |= flagRepeated
	}
	s.before = pair.ID
	now := time.Now()
	s.buffer = appendHeader(s.buffer[:0], kind, flags, uint32(pair.ID), pair.Stamp, live.Milliseconds(now))
	s.buffer = append(s.buffer, packet.Data...)
	s.mu.Lock()
	s.flow.send(now, uint32(pair.ID), len(s.buffer))
	s.sent.Add(now, float64(len(s.buffer)))
	s.encode.Add(now, milliseconds(encoded))
	s.mu.Unlock()
	if err := s.write(ctx, websocket.MessageBinary, s.buffer); err != nil {
		return err
	}
	if !repeated {
		s.mu.Lock()
		s.latency.Add(time.Now(), milliseconds(time.Since(pair.Taken)))
		s.mu.Unlock()
	}
	return nil
}

// cannot reports a picture that cannot be encoded to the page, and continues with the next.
func (s *sender) cannot(ctx context.Context, err error) error {
	if wake.Sleep(ctx, time.Second) != nil { // not for each of them
		return nil
	}
	return s.say(ctx, refusedMessage{"refused", "the picture cannot be shown: " + err.Error()})
}

func (s *sender) configure(ctx context.Context, c *preview.Config) error {
	if err := s.say(ctx, configMessage{"config", s.kind, c}); err != nil || s.kind != "mp4" {
		return err
	}
	return s.write(ctx, websocket.MessageBinary, append(appendHeader(nil, kindInit, 0, 0, 0, 0), c.Init...))
}
