package decode

import (
	"slices"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
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
		{"silent for long", false, slices.Concat([]int64{0}, slices.Repeat([]int64{no}, 30)), nil, 5, 0}, // 25 frames are a second
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

// Two streams of a transport stream whose clock jumps: both take the same correction.
func TestClockFollows(t *testing.T) {
	c := clock{jumpy: true, lanes: map[int]*lane{}}
	video, audio := &lane{}, &lane{}
	at := func(l *lane, time, duration int64) int64 {
		c.follow(l, time, duration)
		return time + l.offset
	}
	const ms = 1000
	for i := range int64(3) {
		if got := at(video, i*40*ms, 40*ms); got != i*40*ms {
			t.Fatalf("video %d: %d", i, got)
		}
		at(audio, 5*ms+i*24*ms, 24*ms)
	}
	const jump = 500 * second
	if got := at(video, jump, 40*ms); got != 120*ms {
		t.Errorf("after the jump the video goes on at %d", got)
	}
	if got, want := at(audio, jump+5*ms, 24*ms), int64(120*ms+5*ms); got != want {
		t.Errorf("the sound goes on at %d instead of %d: it is out of step", got, want)
	}
	if c.jumps != 1 {
		t.Errorf("%d jumps", c.jumps)
	}
	if got := at(video, 20*ms, 40*ms); got != 160*ms || c.jumps != 2 {
		t.Errorf("a jump back goes on at %d, %d jumps", got, c.jumps)
	}
	c.follow(video, av.NoPTS, 0) // says nothing, changes nothing
	if got := at(video, 60*ms, 40*ms); got != 200*ms || c.jumps != 2 {
		t.Errorf("after a packet without a time: %d, %d jumps", got, c.jumps)
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
