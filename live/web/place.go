package web

import (
	"context"
	"math"
	"time"

	"vidfilter/live"
)

// follow reports to a page where in a file the picture is.
func (v *viewer) follow(ctx context.Context) error {
	if v.server.o.Input.Kind != live.File {
		return nil
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	told := time.Duration(-1)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		pair := v.server.session.Latest()
		if pair == nil {
			continue
		}
		at := pair.Place
		pair.Release()
		if at == told {
			continue
		}
		told = at
		if err := v.say(ctx, placeMessage{"place", at.Seconds()}); err != nil {
			return err
		}
	}
}

// move does a page's seek, step and repeat.
func (v *viewer) move(m message) {
	seconds := func(x float64) time.Duration { return time.Duration(within(x, 0, 1e9) * float64(time.Second)) }
	switch s := v.server.session; m.Type {
	case "seek":
		s.Seek(seconds(m.At))
	case "step":
		s.Step(map[bool]int{true: 1, false: -1}[m.At > 0])
	case "repeat":
		s.Repeat(seconds(m.From), seconds(m.To))
	}
}

// window is the size of the part of a picture that is measured around the pointer.
const window = 64

// soonest is the shortest time between two measurements for a page: each reads the whole picture.
const soonest = 100 * time.Millisecond

// measureAt answers with the true samples at a place of the picture as it is stored.
func (v *viewer) measureAt(ctx context.Context, m message) error {
	if math.IsNaN(m.X) || math.IsNaN(m.Y) || time.Since(v.measured) < soonest {
		return nil
	}
	defer func() { v.measured = time.Now() }() // the answer may have taken longer
	pair := v.server.session.Latest()
	if pair == nil {
		return nil
	}
	defer pair.Release()
	return v.say(ctx, samplesMessage{"samples", pair.ID, live.MeasureAt(pair, m.X, m.Y, window)})
}
