package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"

	"vidfilter/internal/wake"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/preview"
)

// withHint returns an error in words, with its hint.
func withHint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" {
		return err.Error() + " (" + h.Hint() + ")"
	}
	return err.Error()
}

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
		return v.say(ctx, refusedMessage{Type: "refused", Reason: "you can only look on here"})
	}
	switch m.Type {
	case "hello":
		return v.hello(m)
	case "ack":
		v.ack(m)
	case "key":
		if m := v.member.Load(); m != nil {
			m.Key()
		}
	case "view":
		return v.look(m.View)
	case "sound":
		v.hears.Store(m.On)
		wake.Up(v.soundChanged)
	case "set":
		if m.Filter == nil {
			return nil
		}
		if err := session.Set(func(f *live.FilterSettings) error { return f.Apply(m.Filter) }); err != nil {
			return v.say(ctx, refusedMessage{"refused", withHint(err), slices.Sorted(maps.Keys(m.Filter))})
		}
	case "compare":
		v.compare(m.Do)
	case "freeze":
		session.Freeze(m.On)
	case "restart":
		session.Restart()
	case "record":
		if err := v.server.o.Record(m.Do); err != nil {
			return v.say(ctx, refusedMessage{Type: "refused", Reason: err.Error()})
		}
	case "seek", "step", "repeat":
		v.move(m)
	case "measure":
		return v.measureAt(ctx, m)
	case "noise":
		return v.noise(ctx, m)
	case "ping":
		return v.say(ctx, pongMessage{"pong", m.T, live.Milliseconds(time.Now())})
	case "camera":
		return v.camera(ctx, m)
	case "kick":
		v.server.o.Admission.Kick(m.Guest, v.guest)
	}
	return nil
}

// noise measures the noise in a box, for a second, or in each picture. It replies with warnings
// only.
func (v *viewer) noise(ctx context.Context, m message) error {
	session := v.server.session
	switch m.Do {
	case "each":
		return session.MeasureEach()
	case "box":
		if !v.measuring.CompareAndSwap(false, true) {
			return nil
		}
		go func() {
			defer v.measuring.Store(false)
			warnings, err := session.MeasureNoise(ctx, m.X, m.Y, m.Width, m.Height)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				_ = v.say(ctx, refusedMessage{Type: "refused", Reason: err.Error()})
			case len(warnings) > 0:
				_ = v.say(ctx, refusedMessage{Type: "refused", Reason: strings.Join(warnings, "; ") + ": draw a flat part that stands still"})
			}
		}()
	}
	return nil
}

func (v *viewer) compare(do string) {
	session := v.server.session
	switch do {
	case "on", "off":
		session.Compare(do == "on")
	case string(live.SideA), string(live.SideB):
		session.Choose(live.Side(do))
	case "copy":
		session.CopyToOther()
	}
}

func (v *viewer) hello(m message) error {
	kind, known := previewKinds[m.Video]
	if m.Version != version || !known {
		return badMessage{fmt.Errorf("a page of version %d with %q", m.Version, m.Video)}
	}
	if err := v.look(m.View); err != nil {
		return err
	}
	select {
	case v.kind <- kind:
	default: // a second hello
	}
	return nil
}

// pageViews are the parts of a pair that a page may ask for.
var pageViews = map[string]preview.View{"": preview.ViewStack, "both": preview.ViewStack, "original": preview.ViewOriginal, "filtered": preview.ViewFiltered}

// look sets the part of a pair that the page gets.
func (v *viewer) look(view string) error {
	to, known := pageViews[view]
	if !known {
		return badMessage{fmt.Errorf("no view %q", view)}
	}
	v.mu.Lock()
	changed := v.want.View != to
	v.want.View = to
	v.mu.Unlock()
	if m := v.member.Load(); m != nil && changed {
		m.Changed()
	}
	return nil
}

func (v *viewer) ack(m message) {
	v.mu.Lock()
	wait := time.Duration(m.Wait * float64(time.Millisecond))
	v.flow.ack(time.Now(), m.ID, wait)
	v.rtt = milliseconds(v.flow.least())
	v.want.Smaller = v.flow.smaller
	v.mu.Unlock()
	if m := v.member.Load(); m != nil {
		m.Ready()
	}
}

// patience limits the wait for a page's hello, since each connection counts as a viewer.
var patience = 5 * time.Second

// previewKinds are the formats a page may ask for.
var previewKinds = map[string]preview.Coding{"avc": preview.AVC, "jpeg": preview.JPEG}

// send waits for the page's hello and then sends what its coder queues.
func (v *viewer) send(ctx context.Context) error {
	var kind preview.Coding
	select {
	case kind = <-v.kind:
	case <-time.After(patience):
		return v.conn.Close(websocket.StatusPolicyViolation, "no hello has come")
	case <-ctx.Done():
		return nil
	}
	v.mu.Lock()
	v.want.Kind, v.want.Sides, v.want.Stamp = kind, true, true
	st, _ := v.server.session.State()
	v.flow.period = time.Duration(float64(time.Second) / v.server.o.Encoders.FrameRate())
	if samples := st.Width * st.Height; kind == preview.JPEG {
		v.flow.rate = jpegRate
	} else if samples > 0 {
		if v.want.View == preview.ViewStack {
			samples *= 2
		}
		v.flow.size(samples)
	}
	v.mu.Unlock()
	member := v.server.o.Encoders.Join((*pageClient)(v))
	v.member.Store(member)
	defer member.Leave()
	for {
		var err error
		select {
		case x := <-v.queue:
			if p, ok := x.(coded.Picture); ok {
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

// pageClient is a page for the pool.
type pageClient viewer

func (v *pageClient) Want() coded.EncoderKey {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.want
}

func (v *pageClient) Rate() float64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flow.rate
}

func (v *pageClient) Room() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flow.room()
}

func (v *pageClient) Interval() time.Duration { return 0 }

// Take queues a picture, which counts as sent.
func (v *pageClient) Take(p coded.Picture) {
	now, bytes := time.Now(), binaryHeader+len(p.Data)
	v.mu.Lock()
	if c := p.Config; c != nil && v.want.Kind != preview.JPEG {
		v.flow.size(c.CodedWidth * c.CodedHeight) // which limits the rate
	}
	v.flow.send(now, uint32(p.ID), bytes)
	v.sent.Add(now, float64(bytes))
	v.encode.Add(now, milliseconds(p.Took))
	v.mu.Unlock()
	(*viewer)(v).post(p)
}

func (v *pageClient) Refuse(err error) {
	(*viewer)(v).post(refusedMessage{Type: "refused", Reason: "the picture cannot be shown: " + err.Error()})
}

func (v *pageClient) End() {} // the server ends all pages before

// mostQueued is how many pictures and messages wait to be written; more than can be in flight.
const mostQueued = 32

// post queues a picture or a message.
func (v *viewer) post(x any) {
	select {
	case v.queue <- x:
	default: // the queue holds more than may be in flight
		_ = v.conn.CloseNow()
	}
}

// picture writes a picture.
func (v *viewer) picture(ctx context.Context, p coded.Picture) error {
	if p.Config != nil {
		if err := v.say(ctx, configMessage{"config", p.Config}); err != nil {
			return err
		}
	}
	flags := byte(0)
	for flag, on := range map[byte]bool{flagKey: p.Key, flagForeign: p.Foreign, flagRepeated: p.Again, flagCompared: p.Compared} {
		if on {
			flags |= flag
		}
	}
	h := header{kind: kindPicture, flags: flags, id: uint32(p.ID), stamp: p.Stamp, at: p.At}
	b := h.append(make([]byte, 0, binaryHeader+len(p.Data)))
	if err := v.write(ctx, websocket.MessageBinary, append(b, p.Data...)); err != nil {
		return err
	}
	if !p.Again {
		v.mu.Lock()
		v.latency.Add(time.Now(), milliseconds(time.Since(p.Taken)))
		v.mu.Unlock()
	}
	return nil
}
