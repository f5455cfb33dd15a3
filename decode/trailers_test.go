package decode

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// What cameras write behind the last box is no damage; boxes that are cut off or overwritten are.
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
