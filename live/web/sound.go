package web

import (
	"context"

	"github.com/coder/websocket"

	"vidfilter/live/opus"
)

// hear sends sound while the page plays it.
func (v *viewer) hear(ctx context.Context) error {
	for {
		if v.hears.Load() {
			if err := v.listen(ctx); err != nil {
				return err
			}
		}
		select {
		case <-v.soundChanged:
		case <-ctx.Done():
			return nil
		}
	}
}

// listen sends sound until the page plays none. A line that does not take it in time loses some of
// it.
func (v *viewer) listen(ctx context.Context) error {
	r := v.server.o.Sound.Join()
	defer r.Close()
	for v.hears.Load() {
		select {
		case p := <-r.Packets():
			if err := v.sound(ctx, p); err != nil {
				return err
			}
		case <-v.soundChanged:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// sound writes a packet. Nobody hears the own microphone.
func (v *viewer) sound(ctx context.Context, p opus.Packet) error {
	if v.speaks.Load() {
		return nil
	}
	h := header{kind: kindSound, at: p.At}
	if p.Begins {
		h.flags = flagBegins
	}
	return v.write(ctx, websocket.MessageBinary, append(h.append(make([]byte, 0, binaryHeader+len(p.Data))), p.Data...))
}
