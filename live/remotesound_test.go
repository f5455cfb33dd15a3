package live

import (
	"math"
	"testing"
	"time"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/live/sound"
)

// Times follow the stamps, not the varying delay of pictures, and a clock that is set is followed.
func TestSteady(t *testing.T) {
	var c steady
	now := time.UnixMilli(1_700_000_000_000)
	if _, ok := c.sound(5000, now); ok {
		t.Error("sound before the first picture has a time")
	}
	for i, x := range []struct{ stamp, after, want float64 }{ // milliseconds
		{5000, 30, 30}, {5033, 40, 40}, {5066, 90, 73}, {5100, 100, 100}, // the least delay counts
		{5133, 200, 133}, {905_133, 210, 210}, {905_166, 250, 243}, {100, 300, 300},
	} {
		at := c.picture(x.stamp, now.Add(time.Duration(x.after*1e6)))
		if d := at - time.Duration(now.UnixNano()) - time.Duration(x.want*1e6); d.Abs() > time.Millisecond {
			t.Errorf("%d: off by %v", i, d)
		}
	}
	for stamp, want := range map[float64]bool{90: true, -5000: true, -20_000: false, 3000: false, math.NaN(): false, math.Inf(1): false} {
		if at, ok := c.sound(stamp, now.Add(300*time.Millisecond)); ok != want {
			t.Errorf("sound at %g: %v, %v", stamp, at, ok)
		}
	}
}

// PushSound passes valid packets once, in order, limited to real time.
func TestPushSound(t *testing.T) {
	r := NewRemote(decode.StreamOptions{}, nil)
	src, err := r.Open(t.Context(), nil, func(Status, string, string) {})
	e2e.Must(t, err)
	defer src.Close()
	var got []sound.Packet
	src.(*remote).Speak(func(x sound.Packet) { got = append(got, x) })
	mute, err := r.Connect("h264", 30, false)
	e2e.Must(t, err)
	stamp := Milliseconds(time.Now())
	mute.clock.picture(stamp, time.Now())
	mute.PushSound([]byte{0xfc}, stamp)
	mute.Close("")
	f, err := r.Connect("h264", 30, true)
	e2e.Must(t, err)
	defer f.Close("")
	f.PushSound([]byte{0xfc}, stamp) // there is no picture yet
	f.clock.picture(stamp, time.Now())
	f.PushSound(nil, stamp)
	f.PushSound(make([]byte, mostSound+1), stamp)
	f.PushSound([]byte{0xff, 63}, stamp) // 63 frames of 20 ms
	if len(got) > 0 {
		t.Fatalf("%d packets come through", len(got))
	}
	for n := range 100 {
		f.PushSound([]byte{0xfc, byte(n)}, stamp+float64(n*20))
		f.PushSound([]byte{0xfc, byte(n)}, stamp+float64(n*20)) // twice
	}
	if len(got) != 50 {
		t.Errorf("%d packets of 20 ms at once", len(got))
	}
	for i, x := range got {
		if x.Length != 20*time.Millisecond || x.Data[1] != byte(i) || i > 0 && x.At <= got[i-1].At {
			t.Errorf("packet %d: %+v", i, x)
		}
	}
}
