package decode

import (
	"slices"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/internal/units"
)

func TestTimeline(t *testing.T) {
	const no = av.NoPTS
	for _, c := range []struct {
		name              string
		untimed           bool
		pts, want         []int64
		missing, repaired int64
	}{
		{"as it is", false, []int64{0, 40, 81, 119}, []int64{0, 40, 81, 119}, 0, 0},
		{"a late start", false, []int64{1400, 1440}, []int64{1400, 1440}, 0, 0},
		{"negative", false, []int64{-80, -40, 0}, []int64{-80, -40, 0}, 0, 0},
		{"backwards", false, []int64{0, 40, 20, 80}, []int64{0, 40, 41, 80}, 0, 1},
		{"twice", false, []int64{0, 40, 40, 80}, []int64{0, 40, 41, 80}, 0, 1},
		{"one is missing", false, []int64{0, no, 80}, []int64{0, 40, 80}, 0, 0},
		{"the last is missing", false, []int64{0, 40, no}, []int64{0, 40, 80}, 0, 0},
		{"none at all", true, []int64{no, no, no}, []int64{0, 40, 80}, 0, 0},
		// 25 frames are a second
		{"silent for long", false, slices.Concat([]int64{0}, slices.Repeat([]int64{no}, 30)), nil, 5, 0},
	} {
		l := newTimeline(astiav.NewRational(1, 1000), astiav.NewRational(25, 1))
		l.untimed = c.untimed
		var got []int64
		for _, pts := range c.pts {
			p, d := l.stamp(pts, 0)
			if d != 40 {
				t.Errorf("%s: a frame lasts %d", c.name, d)
			}
			got = append(got, p)
		}
		if c.want != nil && !slices.Equal(got, c.want) {
			t.Errorf("%s: %v instead of %v", c.name, got, c.want)
		}
		if l.missing != c.missing || l.repaired != c.repaired {
			t.Errorf("%s: %d missing, %d repaired", c.name, l.missing, l.repaired)
		}
	}
}

func TestMapRules(t *testing.T) {
	streams := []streamTraits{
		{0, 'v', 0, "und"}, {1, 'a', 0, "eng"}, {2, 'a', 1, "ger"}, {3, 's', 0, "eng"}, {4, 't', 0, ""}, {5, 'd', 0, ""},
	}
	for _, c := range []struct {
		maps []string
		want []int
	}{
		{nil, []int{0, 1, 2, 3, 4, 5}},
		{[]string{"0"}, []int{0, 1, 2, 3, 4, 5}},
		{[]string{"v", "a:1"}, []int{0, 2}},
		{[]string{"0:v", "0:a:0"}, []int{0, 1}},
		{[]string{"-s"}, []int{0, 1, 2, 4, 5}},
		{[]string{"0", "-a:0"}, []int{0, 2, 3, 4, 5}},
		{[]string{"a:m:language:ger"}, []int{2}},
		{[]string{"3"}, []int{3}},
		{[]string{"0:3?", "-3"}, nil},
		{[]string{"a:7?"}, nil},
		{[]string{"t", "d"}, []int{4, 5}},
	} {
		rules, err := parseMaps(c.maps)
		if err != nil {
			t.Errorf("%v: %v", c.maps, err)
			continue
		}
		var got []int
		for _, s := range streams {
			if mapped(rules, s, true) {
				got = append(got, s.index)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: streams %v instead of %v", c.maps, got, c.want)
		}
	}
	for _, bad := range []string{"", "1:0", "x", "a:", "a:m:title:x", "a:-1", "[v]", "0:a:0:1"} {
		if _, err := parseMaps([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Decode times made from presentation times never go backwards, and no frame is shown before it is
// decoded.
func TestDecodeTimes(t *testing.T) {
	for _, c := range []struct {
		name      string
		pts, want []int64
	}{
		{"as shown", []int64{0, 40, 80}, []int64{0, 40, 80}},
		{"one ahead", []int64{0, 80, 40, 160, 120}, []int64{-40, 0, 40, 80, 120}},
		{"pyramid", []int64{0, 160, 80, 40, 120, 320, 240, 200, 280}, []int64{-80, -40, 0, 40, 80, 120, 160, 200, 240}},
		{"leading frames", []int64{80, 0, 40, 200, 120, 160}, []int64{-40, 0, 40, 80, 120, 160}},
		{"a late start", []int64{1000, 1080, 1040}, []int64{960, 1000, 1040}},
		{"uneven", []int64{0, 100, 33, 70}, []int64{-40, 0, 33, 70}},
	} {
		d := decodeTimes{delay: reordering(c.pts), first: slices.Min(c.pts), step: 40}
		var got []int64
		for _, pts := range c.pts {
			got = append(got, d.next(pts))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v instead of %v", c.name, got, c.want)
		}
	}
}

// Packets of a stream keep their order, even if their times do not.
func TestQueueKeepsTheOrder(t *testing.T) {
	var q packetQueue
	for i, time := range []int64{0, 160, 40, 80} {
		for stream := range 2 {
			p := astiav.AllocPacket()
			p.SetStreamIndex(stream)
			p.SetPts(int64(i))
			if stream == 1 {
				time = int64(i) * 40
			}
			e2e.Must(t, q.add(p, time, nil))
			p.Free()
		}
	}
	var got [2][]int64
	out := func(p *astiav.Packet) error {
		got[p.StreamIndex()] = append(got[p.StreamIndex()], p.Pts())
		return nil
	}
	e2e.Must(t, q.release(50, out))
	if !slices.Equal(got[0], []int64{0, 1, 2}) || !slices.Equal(got[1], []int64{0, 1}) {
		t.Errorf("at 50: %v", got)
	}
	e2e.Must(t, q.flush(out))
	if all := []int64{0, 1, 2, 3}; !slices.Equal(got[0], all) || !slices.Equal(got[1], all) {
		t.Errorf("in all: %v", got)
	}
}

func TestTimecodeOfGroups(t *testing.T) {
	const frame = 3600 // of 1/90000 s
	g := groups{at: map[int64]units.GroupTime{
		0:          {Hours: 1, Seconds: 59, Pictures: 20, Before: 2},
		12 * frame: {Hours: 1, Minutes: 1, Seconds: 0, Pictures: 7, Before: 2},
		24 * frame: {Hours: 1, Minutes: 1, Seconds: 0, Pictures: 99},
	}}
	for pts, want := range map[int64]string{
		0: "01:00:59:22", -frame: "01:00:59:21", 2 * frame: "01:00:59:24", 4 * frame: "01:01:00:01", 11 * frame: "01:01:00:08",
		12 * frame: "01:01:00:09", 24 * frame: "", av.NoPTS: "",
	} {
		if got := g.timecode(pts, astiav.NewRational(1, 90000), astiav.NewRational(25, 1)); got != want {
			t.Errorf("%d: %q instead of %q", pts/frame, got, want)
		}
	}
	zero := groups{at: map[int64]units.GroupTime{0: {Before: 2}}}
	drop := groups{at: map[int64]units.GroupTime{0: {Seconds: 59, Pictures: 28, Drop: true, Before: 2}}}
	for _, c := range []struct {
		g    groups
		rate astiav.Rational
		want string
	}{
		{zero, astiav.NewRational(25, 1), ""}, {groups{}, astiav.NewRational(25, 1), ""}, {drop, astiav.NewRational(25, 1), ""},
		{drop, astiav.NewRational(30000, 1001), "00:01:00;02"}, {g, astiav.NewRational(0, 1), ""},
	} {
		if got := c.g.timecode(0, astiav.NewRational(1, 90000), c.rate); got != c.want {
			t.Errorf("%v at %v: %q instead of %q", c.g, c.rate, got, c.want)
		}
	}
}
