package decode

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// Data that cameras append after the last box is no damage. Boxes that are cut off or overwritten
// are.
func TestEndOfMOV(t *testing.T) {
	box := func(kind, payload string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(8+len(payload)))) + kind + payload
	}
	film := box("ftyp", "isom") + box("mdat", "pictures") + box("moov", "index")
	fragment := box("moof", box("mfhd", "1234")+box("traf", box("tfhd", "1234"))) + box("mdat", "pictures")
	stream := box("ftyp", "isom") + box("moov", "header") + fragment
	const insta360 = "\x0a\x12\x08\x01\x00\x00\x00\x8a8db42d694ccc418790edff439fe026bf"
	const samsung = "\x00\x00\x0a\x0b\x13\x00\x00\x00Image_UTC_Data1SEFHk\x00\x00\x00SEFT"
	for _, c := range []struct {
		name, file string
		want       movEnding
	}{
		{"whole", film, movEnding{ended: true}},
		{"two bytes", film + "ab", movEnding{trailer: 2, ended: true}},
		{"Insta360", film + insta360, movEnding{trailer: int64(len(insta360)), ended: true}},
		{"Samsung", film + samsung, movEnding{trailer: int64(len(samsung)), ended: true}},
		{"like a long box", film + "longtext", movEnding{trailer: 8, ended: true}},
		{"zeros", film + strings.Repeat("\x00", 20), movEnding{ended: true}},
		{"no index", box("ftyp", "isom") + box("mdat", "pictures") + insta360, movEnding{breaks: 1, ended: true}},
		{"cut off", film[:len(film)-3], movEnding{}},
		{"to the end", film + "\x00\x00\x00\x00mdatrest", movEnding{ended: true}},
		{"stream", stream + insta360, movEnding{trailer: int64(len(insta360)), ended: true}},
		{"fragment cut off", stream + fragment[:len(fragment)-3], movEnding{}},
		{"header cut off", stream + fragment[:6], movEnding{breaks: 1, ended: true}},
		{"fragment overwritten", stream + "\x00\x00\x00\x03" + fragment[4:], movEnding{breaks: 1, ended: true}},
	} {
		if got := endMov(bytes.NewReader([]byte(c.file)), int64(len(c.file))); got != c.want {
			t.Errorf("%s: %+v instead of %+v", c.name, got, c.want)
		}
	}
}

func TestDeclaredSize(t *testing.T) {
	const ebml, segment = "\x1a\x45\xdf\xa3", "\x18\x53\x80\x67"
	for name, test := range map[string]struct {
		head string
		want int64
	}{
		"empty":             {"", 0},
		"other":             {"....ftypisom", 0},
		"avi":               {"RIFF\x10\x27\x00\x00AVI LIST", 10008},
		"avi, padded":       {"RIFF\x11\x27\x00\x00AVI LIST", 10008},
		"avi, not known":    {"RIFF\xff\xff\xff\xffAVI LIST", 0},
		"wave":              {"RIFF\x10\x27\x00\x00WAVEfmt ", 0},
		"matroska":          {ebml + "\x83abc" + segment + "\x01\x00\x00\x00\x00\x00\x01\x00", 20 + 256},
		"matroska, short":   {ebml + "\x83abc" + segment + "\x40\x02", 14 + 2},
		"matroska, live":    {ebml + "\x83abc" + segment + "\x01\xff\xff\xff\xff\xff\xff\xff", 0},
		"matroska, cut":     {ebml + "\x83abc" + segment + "\x01\x00", 0},
		"matroska, no size": {ebml + "\x83abc" + segment, 0},
		"matroska, huge":    {ebml + "\x08\xff\xff\xff\xff" + segment, 0},
		"matroska, zero":    {ebml + "\x00" + strings.Repeat("\x00", 20), 0},
		"another element":   {ebml + "\x83abc" + "\x12\x34\x56\x78\x81", 0},
	} {
		if got := declaredSize([]byte(test.head)); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

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
		joint  int64    // -1: no joint
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
