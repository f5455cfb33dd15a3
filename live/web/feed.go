package web

import (
	"context"
	"errors"
	"math"
	"time"

	"vidfilter/live"
)

// camera begins or ends to take the page's own camera.
func (v *viewer) camera(ctx context.Context, m message) error {
	remote := v.server.o.Remote
	if remote == nil {
		return v.say(ctx, refusedMessage{Type: "camera_refused", Reason: "this session shows " + v.server.o.Input.Name + ", not a browser's camera"})
	}
	if !m.On {
		if v.feed == nil && m.Error != "" {
			remote.Refuse(cameraError(m.Error))
			v.server.Changed()
		}
		v.endFeed(cameraError(m.Error))
		return nil
	}
	v.endFeed("")
	feed, err := remote.Connect(m.Codec, m.FPS, m.Sound)
	if err != nil {
		return v.say(ctx, refusedMessage{Type: "camera_refused", Reason: err.Error()})
	}
	v.feed = feed
	v.speaks.Store(true)
	v.uplink = uplink{rate: firstRate, least: math.Inf(1)}
	return v.say(ctx, cameraMessage{Type: "camera_rate", Bits: int64(v.uplink.rate)})
}

// cameraError puts a browser's error name into words.
func cameraError(name string) string {
	switch name {
	case "":
		return ""
	case "NotAllowedError", "SecurityError":
		return "the browser does not allow it"
	case "NotFoundError":
		return "there is none"
	case "NotReadableError", "AbortError":
		return "another program uses it, or it does not work"
	case "OverconstrainedError":
		return "it does not offer what was asked for"
	case "ended":
		return "it was pulled out or switched off"
	}
	const enough = 100
	if r := []rune(name); len(r) > enough {
		name = string(r[:enough])
	}
	return name
}

func (v *viewer) endFeed(reason string) {
	if v.feed != nil {
		v.feed.Close(reason)
		v.feed = nil
		v.speaks.Store(false)
	}
}

// fromCamera accepts a picture of the page's camera, or sound. If a picture is damaged, the page is
// asked for a key frame.
func (v *viewer) fromCamera(ctx context.Context, b []byte) error {
	p, err := parsePart(b)
	if err != nil || v.feed == nil {
		return err // pictures may still come after the end
	}
	if p.kind == partSound {
		v.feed.PushSound(p.data, p.stamp)
		return nil
	}
	err = v.feed.Push(p.data, p.stamp)
	if errors.Is(err, live.ErrTooLarge) {
		v.feed = nil // it has ended itself
		v.speaks.Store(false)
		return v.say(ctx, refusedMessage{Type: "camera_refused", Reason: err.Error()})
	}
	if err != nil {
		if err := v.say(ctx, cameraMessage{Type: "camera_key", ID: p.id}); err != nil {
			return err
		}
	}
	now := time.Now()
	if bits := v.uplink.came(now, live.Milliseconds(now)-p.stamp, len(b)); bits > 0 {
		if err := v.say(ctx, cameraMessage{Type: "camera_rate", Bits: bits}); err != nil {
			return err
		}
	}
	return v.say(ctx, cameraMessage{Type: "camera_ack", ID: p.id})
}

// uplink chooses the bitrate of a page's camera by the delay of its pictures, relative to the
// least delay, since the clocks differ.
type uplink struct {
	rate   float64
	least  float64 // milliseconds: the clocks' offset plus the transit time
	sum    float64
	n      int
	judged time.Time
	volume live.Window // bits
}

// came notes a picture and returns the new rate, or 0 if it is unchanged.
func (u *uplink) came(now time.Time, lateness float64, bytes int) int64 {
	u.volume.Add(now, float64(8*bytes))
	u.least = min(u.least+0.01, lateness) // clocks drift, and lines change
	u.sum += lateness
	u.n++
	if now.Sub(u.judged) < judgement {
		return 0
	}
	mean, old := u.sum/float64(u.n), u.rate
	u.sum, u.n, u.judged = 0, 0, now
	through := u.volume.Sum(now)
	switch {
	case mean > u.least+milliseconds(slack):
		u.rate = min(u.rate, max(through, u.rate/2)) * 0.85
	case through > u.rate*0.6:
		u.rate *= 1.08
	}
	const cameraRate = 20e6 // ample, even for a noisy camera
	u.rate = min(max(u.rate, minRate), cameraRate)
	if u.rate == old {
		return 0
	}
	return int64(u.rate)
}
