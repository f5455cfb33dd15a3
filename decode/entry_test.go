package decode

import (
	"bytes"
	"slices"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

// sized puts the length of four bytes before each NAL unit.
func sized(units ...[]byte) (b []byte) {
	for _, u := range units {
		b = append(append(b, 0, 0, byte(len(u)>>8), byte(len(u))), u...)
	}
	return b
}

// coded puts a start code before each NAL unit.
func coded(units ...[]byte) (b []byte) {
	for _, u := range units {
		b = append(append(b, 0, 0, 1), u...)
	}
	return b
}

func TestEntries(t *testing.T) {
	avcc := []byte{1, 100, 0, 30, 0xff, 0xe1}
	hvcc := append([]byte{1}, make([]byte, 22)...)
	hvcc[21] = 0xf
	idr, slice := []byte{0x65, 0x88}, []byte{0x41, 0x9a}
	other := []byte{6, 5, 2, 6, 0xc4, 0x80}                  // user data like a recovery point
	exact := []byte{6, 5, 1, 0xaa, 6, 1, 0xc4, 0x80}         // count 0, exact, after user data
	late := []byte{6, 6, 1, 0x58, 0x80}                      // recovery_frame_cnt 1
	vague := []byte{6, 6, 1, 0x84, 0x80}                     // exact_match_flag 0
	long := []byte{6, 5, 255, 1, 0x80}                       // longer than it is
	escaped := []byte{6, 5, 3, 0, 0, 3, 6, 6, 1, 0xc4, 0x80} // 00 00 06, then a recovery point
	for _, c := range []struct {
		name      string
		codec     astiav.CodecID
		extradata []byte
		packet    []byte
		want      bool
	}{
		{"IDR", astiav.CodecIDH264, avcc, sized([]byte{9, 0xf0}, idr), true},
		{"IDR behind start codes", astiav.CodecIDH264, nil, coded([]byte{9, 0xf0}, idr), true},
		{"open GOP", astiav.CodecIDH264, avcc, sized(exact, slice), true},
		{"escaped", astiav.CodecIDH264, avcc, sized(escaped, slice), true},
		{"intra refresh", astiav.CodecIDH264, avcc, sized(late, slice), false},
		{"inexact", astiav.CodecIDH264, avcc, sized(vague, slice), false},
		{"no recovery point", astiav.CodecIDH264, avcc, sized(other, slice), false},
		{"broken SEI", astiav.CodecIDH264, avcc, sized(long, slice), false},
		{"recovery point behind the slice", astiav.CodecIDH264, avcc, sized(slice, exact), false},
		{"a length too large", astiav.CodecIDH264, avcc, []byte{0, 0, 1, 0, 0x65}, false},
		{"nothing", astiav.CodecIDH264, avcc, nil, false},
		{"HEVC IDR", astiav.CodecIDHevc, hvcc, sized([]byte{35 << 1, 1}, []byte{19 << 1, 1}), true},
		{"HEVC CRA", astiav.CodecIDHevc, hvcc, sized([]byte{21 << 1, 1}), true},
		{"HEVC trailing", astiav.CodecIDHevc, hvcc, sized([]byte{1 << 1, 1}, []byte{21 << 1, 1}), false},
		{"MPEG-2", astiav.CodecIDMpeg2Video, nil, coded([]byte{0xb3, 1}, []byte{0xb8, 0}, []byte{0, 0, 0x08, 0}), true},
		{"MPEG-2 without headers", astiav.CodecIDMpeg2Video, nil, coded([]byte{0, 0, 0x08, 0}), false},
		{"MPEG-2 P", astiav.CodecIDMpeg2Video, nil, coded([]byte{0xb3, 1}, []byte{0, 0, 0x10, 0}), false},
		{"MPEG-2 cut off", astiav.CodecIDMpeg2Video, nil, coded([]byte{0xb3, 1}, []byte{0, 0}), false},
	} {
		if got := isEntry(c.codec, c.extradata, c.packet); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestHeadersOf(t *testing.T) {
	avcc := []byte{1, 100, 0, 30, 0xff, 0xe1}
	sps, other := []byte{0x67, 100, 0, 30, 0xac}, []byte{0x67, 100, 0, 31, 0xac}
	slice := []byte{0x65, 0x88}
	if a := headersOf(astiav.CodecIDH264, avcc, sized(sps, slice)); !bytes.Equal(a, sps) {
		t.Errorf("%x", a)
	}
	if a := headersOf(astiav.CodecIDH264, nil, coded(other, slice)); !bytes.Equal(a, other) {
		t.Errorf("%x", a)
	}
	if a := headersOf(astiav.CodecIDH264, avcc, sized(slice)); a != nil {
		t.Errorf("%x", a)
	}
	if a := headersOf(astiav.CodecIDMpeg2Video, nil, coded([]byte{0xb3, 1, 2, 3, 4, 5}, []byte{0, 0, 8})); !bytes.Equal(a, []byte{0xb3, 1, 2, 3, 4}) {
		t.Errorf("%x", a)
	}
}

func TestShows(t *testing.T) {
	for _, c := range []struct {
		name   string
		codec  astiav.CodecID
		packet []byte
		want   bool
	}{
		{"VP8", astiav.CodecIDVp8, []byte{0x10}, true},
		{"VP8 hidden", astiav.CodecIDVp8, []byte{0x01}, false},
		{"VP9 key frame", astiav.CodecIDVp9, []byte{0x82, 0}, true},
		{"VP9 hidden", astiav.CodecIDVp9, []byte{0x84, 0}, false},
		{"VP9 superframe", astiav.CodecIDVp9, []byte{0x84, 0, 0xc1}, true},
		{"VP9 shown before", astiav.CodecIDVp9, []byte{0x88, 0}, true},
		{"VP9 profile 3 hidden", astiav.CodecIDVp9, []byte{0xb2, 0}, false},
		{"VP9 profile 3", astiav.CodecIDVp9, []byte{0xb1, 0}, true},
		{"empty", astiav.CodecIDVp9, nil, false},
		{"others", astiav.CodecIDAv1, []byte{0}, true},
	} {
		if got := showsPicture(c.codec, c.packet); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func FuzzEntries(f *testing.F) {
	f.Add([]byte{1, 100, 0, 30, 0xff}, []byte{0, 0, 0, 2, 0x65, 0x88})
	f.Add([]byte{}, []byte{0, 0, 1, 6, 6, 1, 0xc4, 0x80, 0, 0, 1, 1})
	f.Fuzz(func(t *testing.T, extradata, packet []byte) {
		for _, id := range []astiav.CodecID{astiav.CodecIDH264, astiav.CodecIDHevc, astiav.CodecIDMpeg2Video, astiav.CodecIDVp8, astiav.CodecIDVp9} {
			isEntry(id, extradata, packet)
			showsPicture(id, packet)
		}
	})
}

func part(start, end, frames int64) Range {
	return Range{Span: Span{Start: start, End: end, Frames: frames}}
}

func TestParts(t *testing.T) {
	s := &scan{seen: map[int64]bool{}, begin: -100, latest: 990, end: 1000}
	for pts := int64(-100); pts <= 990; pts += 10 {
		s.seen[pts] = true
	}
	for _, c := range []struct {
		entries []int64
		length  int64
		want    []Range
	}{
		{[]int64{-100, 200, 500, 800}, 300, []Range{part(-100, 200, 30), part(200, 500, 30), part(500, 800, 30), part(800, 991, 20)}},
		{[]int64{-100, 200, 500, 800}, 301, []Range{part(-100, 500, 60), part(500, 991, 50)}},
		// the rest is too short
		{[]int64{-100, 200, 500, 900}, 300, []Range{part(-100, 200, 30), part(200, 500, 30), part(500, 991, 50)}},
		{[]int64{-100, 900}, 300, []Range{part(-100, 991, 110)}},
		{nil, 300, []Range{part(-100, 991, 110)}},
	} {
		s.entries = c.entries
		got := s.parts(c.length, pipeline.Window{})
		if len(got) != len(c.want) {
			t.Errorf("%v by %d: %v", c.entries, c.length, got)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v by %d: part %d is %v", c.entries, c.length, i, got[i])
			}
		}
	}
}

// The context of a part is as many frames as a filter reads at any frame spacing, fewer at the ends
// of the video.
func TestWindows(t *testing.T) {
	s := &scan{seen: map[int64]bool{}, entries: []int64{0, 100, 140}, latest: 170, end: 180}
	for _, pts := range []int64{0, 30, 40, 90, 100, 110, 120, 140, 150, 170} {
		s.seen[pts] = true
	}
	around := func(before, after, step int) pipeline.Window {
		return pipeline.Window{Before: before, After: after, Step: step}
	}
	for _, c := range []struct {
		w    pipeline.Window
		want []Span
	}{
		{pipeline.Window{}, []Span{{}, {}, {}}},
		{around(3, 3, 1), []Span{{Start: 0, End: 121, Frames: 7}, {Start: 30, End: 171, Frames: 9}, {Start: 100, End: 171, Frames: 6}}},
		{around(6, 6, 0), []Span{{Start: 0, End: 171, Frames: 10}, {Start: 0, End: 171, Frames: 10}, {Start: 30, End: 171, Frames: 9}}},
		{around(2, 0, 0), []Span{{Start: 0, End: 100, Frames: 4}, {Start: 40, End: 140, Frames: 5}, {Start: 110, End: 171, Frames: 5}}},
		{around(2, 0, 4), []Span{{Start: 0, End: 100, Frames: 4}, {Start: 0, End: 140, Frames: 7}, {Start: 100, End: 171, Frames: 6}}},
		{around(0, 1, 0), []Span{{Start: 0, End: 101, Frames: 5}, {Start: 100, End: 141, Frames: 4}, {Start: 140, End: 171, Frames: 3}}},
	} {
		var got []Span
		for _, p := range s.parts(40, c.w) {
			got = append(got, p.Around)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v: %v instead of %v", c.w, got, c.want)
		}
	}
}

func TestCutTag(t *testing.T) {
	want := cutOrigin{-1234567890123, astiav.NewRational(30000, 1001), 2}
	if got, err := parseCutOrigin(want.String()); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "1", "1 2/0 3", "1 2/3", "x 1/1 0", "1 1/1 17", "1 -1/1 0"} {
		if got, err := parseCutOrigin(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

func TestParseRange(t *testing.T) {
	for _, good := range []string{"-5:9223372036854775807:3", "0:50:3:-20:80:6", "0:50:3:0:50:3"} {
		if r, err := ParseRange(good); err != nil || r.String() != good {
			t.Errorf("%v, %v", r, err)
		}
	}
	for _, bad := range []string{"0:50:3:", "0:50:3:-20:80", "0:50:3:10:80:6", "0:50:3:-20:40:6", "0:50:3:-20:80:2", "0:50:3:-20:80:x"} {
		if r, err := ParseRange(bad); err == nil {
			t.Errorf("%s is %v", bad, r)
		}
	}
}
