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
			err = v.fromCamera(ctx, b)
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

func (v *viewer) handle(ctx context.Context, m message) error {
	session := v.server.session
	if v.guest.Rights < access.Control && slices.Contains(controlling, m.Type) {
		return v.say(ctx, refusedMessage{"refused", "you can only look on here"})
	}
	switch m.Type {
	case "hello":
		return v.hello(m)
	case "ack":
		v.ack(m)
	case "key":
		v.wantKey.Store(true)
		if c := v.at.Load(); c != nil {
			c.watch.Again() // a still picture is not sent again otherwise
		}
	case "view":
		return v.look(m.View)
	case "sound":
		v.hears.Store(m.On)
		wake.Up(v.ear)
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
	case "record":
		if err := v.server.o.Record(m.Do); err != nil {
			return v.say(ctx, refusedMessage{"refused", err.Error()})
		}
	case "seek", "step", "repeat":
		v.move(m)
	case "measure":
		return v.measureAt(ctx, m)
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
	if err := v.look(m.View); err != nil {
		return err
	}
	select {
	case v.kind <- m.Video:
	default: // it has said so
	}
	return nil
}

// pageViews are the parts of a pair that a page may ask for.
var pageViews = map[string]preview.View{"": preview.ViewStack, "both": preview.ViewStack, "original": preview.ViewOriginal, "filtered": preview.ViewFiltered}

// look changes what the page sees of a pair.
func (v *viewer) look(view string) error {
	to, known := pageViews[view]
	if !known {
		return badMessage{fmt.Errorf("no view %q", view)}
	}
	v.mu.Lock()
	changed := v.want.view != to
	v.want.view = to
	v.mu.Unlock()
	if c := v.at.Load(); c == nil || !changed {
		return nil // it has not begun, or shows it
	}
	return v.server.studio.move(v, nil)
}

var errFull = errors.New("as many viewers as are allowed are looking already")

func (v *viewer) ack(m message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	wait := time.Duration(m.Wait * float64(time.Millisecond))
	v.flow.ack(time.Now(), m.ID, wait)
	v.rtt = milliseconds(v.flow.least())
	v.want.smaller = v.flow.smaller
	if c := v.at.Load(); c != nil {
		wake.Up(c.credit)
	}
}

// patience limits the wait for a page's hello: a silent one would occupy a viewer's place.
var patience = 5 * time.Second

// previewKinds are the formats a page may ask for.
var previewKinds = map[string]preview.Kind{"avc": preview.AVC, "mp4": preview.MP4, "jpeg": preview.JPEG}

// heldByVideo is how many pictures a video element buffers while it plays.
const heldByVideo = 6

// send begins with the page's hello, and sends what its coder queues.
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
	v.want.kind = kind
	st, _ := v.server.session.State()
	v.flow.period = time.Duration(float64(time.Second) / v.server.frameRate())
	switch kind {
	case "mp4":
		v.flow.held = heldByVideo
	case "jpeg":
		v.flow.rate = jpegRate
	}
	if samples := st.Width * st.Height; samples > 0 && kind != "jpeg" {
		if v.want.view == preview.ViewStack {
			samples *= 2
		}
		v.flow.size(samples)
	}
	v.mu.Unlock()
	if err := v.server.studio.move(v, nil); err != nil {
		return err
	}
	defer v.server.studio.leave(v)
	for {
		var err error
		select {
		case x := <-v.queue:
			if p, ok := x.(encoded); ok {
				err = v.picture(ctx, p)
			} else {
				err = v.say(ctx, x)
			}
		case <-ctx.Done():
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// frameRate is the encoder's rate for distributing its bits.
func (s *Server) frameRate() float64 {
	st, _ := s.session.State()
	if st.FrameRate > 0 {
		return st.FrameRate
	}
	return 30
}

// wants returns what a coder for this viewer must make.
func (v *viewer) wants() want {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.want
}

// needs returns the bit rate of the viewer's line, and whether it must have a coder of its own.
func (v *viewer) needs() (rate float64, alone bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flow.rate, time.Now().Before(v.alone)
}

func (v *viewer) beAlone(until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.alone = until
}

func (v *viewer) room() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flow.room()
}

// sized notes the size of the pictures that follow, which limits their rate.
func (v *viewer) sized(c *preview.Config) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.want.kind != "jpeg" {
		v.flow.size(c.CodedWidth * c.CodedHeight)
	}
}

// fly queues a picture, which counts as sent.
func (v *viewer) fly(p encoded) {
	now, bytes := time.Now(), binaryHeader+len(p.packet.Data)
	v.mu.Lock()
	v.flow.send(now, uint32(p.pair), bytes)
	v.sent.Add(now, float64(bytes))
	v.encode.Add(now, milliseconds(p.took))
	v.mu.Unlock()
	v.post(p)
}

// post queues a picture or a message.
func (v *viewer) post(x any) {
	select {
	case v.queue <- x:
	default: // there is room for more pictures than may be in flight
		_ = v.conn.CloseNow()
	}
}

// picture writes a picture.
func (v *viewer) picture(ctx context.Context, p encoded) error {
	if p.config != nil {
		if err := v.configure(ctx, p.kind, p.config); err != nil {
			return err
		}
	}
	kind, flags := byte(kindPicture), byte(0)
	if p.kind == "mp4" {
		kind = kindFragment
	}
	for flag, on := range map[byte]bool{flagKey: p.packet.Key, flagForeign: p.foreign, flagRepeated: p.again} {
		if on {
			flags |= flag
		}
	}
	h := header{kind: kind, flags: flags, id: uint32(p.pair), stamp: p.stamp, at: p.at}
	b := h.append(make([]byte, 0, binaryHeader+len(p.packet.Data)))
	if err := v.write(ctx, websocket.MessageBinary, append(b, p.packet.Data...)); err != nil {
		return err
	}
	if !p.again {
		v.mu.Lock()
		v.latency.Add(time.Now(), milliseconds(time.Since(p.taken)))
		v.mu.Unlock()
	}
	return nil
}

func (v *viewer) configure(ctx context.Context, kind string, c *preview.Config) error {
	if err := v.say(ctx, configMessage{"config", kind, c}); err != nil || kind != "mp4" {
		return err
	}
	return v.write(ctx, websocket.MessageBinary, append(header{kind: kindInit}.append(nil), c.Init...))
}
