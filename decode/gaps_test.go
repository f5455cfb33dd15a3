package decode

import "testing"

func TestGaps(t *testing.T) {
	regular := func(n int64) (pts []int64) {
		for i := range n {
			pts = append(pts, i*40+i%2) // with the rounding of a container
		}
		return pts
	}
	all := regular(40)
	without := func(from, to int) []int64 { return append(append([]int64{}, all[:from]...), all[to:]...) }
	varying := []int64{0, 40, 90, 120, 200, 230, 330, 350, 400, 480, 490, 600}
	for _, c := range []struct {
		name   string
		pts    []int64
		silent [2]int64 // the sound is missing there; no sound where the second is 0
		joint  int64    // -1 for none
		want   int64
		strict bool
	}{
		{"whole", all, [2]int64{}, -1, 0, false},
		{"frames missing", without(20, 25), [2]int64{}, -1, 1, false},
		{"frames missing, and sound", without(20, 25), [2]int64{800, 1000}, -1, 1, false},
		{"sound goes on", without(20, 25), [2]int64{9000, 9001}, -1, 0, false},
		{"one missing", without(20, 21), [2]int64{}, -1, 1, false},
		{"a still at the end", without(30, 39), [2]int64{}, -1, 0, false},
		{"joined there", without(20, 25), [2]int64{}, 900e3, 0, false},
		{"sound goes on, strictly", without(20, 25), [2]int64{9000, 9001}, -1, 1, true},
		{"a still at the end, strictly", without(30, 39), [2]int64{}, -1, 1, true},
		{"no constant rate", varying, [2]int64{}, -1, 0, false},
		{"too few", []int64{0, 40, 80, 400, 440, 480}, [2]int64{}, -1, 0, false},
	} {
		g := gaps{strict: c.strict}
		for _, p := range c.pts {
			g.video(p)
		}
		for at := int64(0); c.silent[1] > 0 && at < 1600; at += 24 {
			if at < c.silent[0] || at > c.silent[1] {
				g.audio(1, at*1000)
			}
		}
		var joints []int64
		if c.joint >= 0 {
			joints = []int64{c.joint}
		}
		if got := g.count(func(ms int64) int64 { return ms * 1000 }, joints); got != c.want {
			t.Errorf("%s: %d gaps instead of %d", c.name, got, c.want)
		}
	}
}
