package units

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// examples has a unit of each kind. Some hold bytes that need escaping.
var examples = []Unit{
	{MasteringDisplay, mastering()},
	{ContentLight, []byte{3, 232, 1, 144}},
	{HDR10Plus, []byte("\xb5\x00\x3c\x00\x01\x04\x01\x40\x00\x00\x00\x00\x03\x80\x00\x00")},
	{HDRVivid, []byte("\x26\x00\x04\x00\x05\x01\x02")},
	{Captions, []byte("\xb5\x00\x31GA94\x03\xc2\xff\xfc\x94\x20\xfc\x94\x2c\xff")},
	{Captions, append([]byte("\xb5\x00\x31GA94\x03"), make([]byte, 600)...)},
	{AFD, []byte("\xb5\x00\x31DTG1\x41\xf8")},
	{AlternativeTransfer, []byte{18}},
	{AmbientViewing, []byte{0, 0, 0x7a, 0x12, 0x3d, 0x13, 0x40, 0x42}},
	{Timecode, oneClock()},
	{FilmGrain, filmGrain()},
	{FramePacking, Packing(SideBySide, true, false)},
	{DolbyVision, []byte("\x19\x08\x09\x00\x00\x00\x00\x01\x02\x80")},
	{DolbyVision, append(append([]byte{25}, make([]byte, 300)...), 0x80)},
}

// mastering is P3 in BT.2020's white, 0.005 to 1000 cd/m².
func mastering() (b []byte) {
	for _, v := range []uint16{13250, 34500, 7500, 3000, 34000, 16000, 15635, 16450} {
		b = binary.BigEndian.AppendUint16(b, v)
	}
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, 10000000), 50)
}

// oneClock is 10:20:30 and 5 frames.
func oneClock() []byte {
	w := writer{}
	for _, f := range [][2]uint32{{1, 2}, {1, 1}, {0, 1}, {4, 5}, {1, 1}, {0, 1}, {0, 1}, {5, 9}, {30, 6}, {20, 6}, {10, 5}, {0, 5}} {
		w.bits(f[0], int(f[1]))
	}
	return w.end()
}

// filmGrain describes luma in two intervals.
func filmGrain() []byte {
	w := writer{}
	for _, f := range [][2]uint32{{0, 1}, {0, 2}, {0, 1}, {0, 2}, {5, 4}, {4, 3}, {1, 8}, {1, 3}, {0, 8}, {99, 8}} {
		w.bits(f[0], int(f[1]))
	}
	w.ue(9)
	w.ue(0)
	w.bits(100, 8)
	w.bits(255, 8)
	w.ue(300)
	w.ue(1)
	w.bits(1, 1) // persists
	return w.end()
}

// pictures are access units without units.
var pictures = map[string]struct {
	extradata, au []byte
}{
	"h264":        {nil, []byte("\x00\x00\x00\x01\x09\x10\x00\x00\x01\x67\x64\x00\x00\x00\x01\x68\xee\x00\x00\x01\x65\x88\x84\x00\x00\x01\x65\x11\x22")},
	"h264 avcC":   {[]byte{1, 100, 0, 10, 0xff}, []byte("\x00\x00\x00\x02\x09\x10\x00\x00\x00\x04\x65\x88\x84\x00")},
	"hevc":        {nil, []byte("\x00\x00\x00\x01\x40\x01\x0c\x00\x00\x00\x01\x26\x02\xaf\x00\x00\x01\x26\x02\x11\x22")},
	"hevc hvcC":   {append([]byte{1}, append(make([]byte, 20), 3)...), []byte("\x00\x00\x00\x02\x40\x01\x00\x00\x00\x04\x26\x01\xaf\x11")},
	"av1":         {nil, []byte("\x12\x00\x0a\x02\x11\x22\x32\x03\x01\x02\x03\x1a\x01\x80")},
	"av1 unsized": {nil, []byte("\x12\x00\x36\x08\x02\x01\x02\x30\x01\x02\x03")},
}

func (u Unit) String() string { return fmt.Sprintf("%v %x", u.Kind, u.Payload) }

// same reports whether two lists hold the same units, whose order may differ: HEVC has RPUs last.
func same(a, b []Unit) bool {
	order := func(x, y Unit) int {
		return bytes.Compare(append([]byte{byte(x.Kind)}, x.Payload...), append([]byte{byte(y.Kind)}, y.Payload...))
	}
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.EqualFunc(a, b, func(x, y Unit) bool { return order(x, y) == 0 })
}

// Inserted units are found again, and the rest stays the same.
func TestRoundTrip(t *testing.T) {
	for name, p := range pictures {
		codec, _, _ := bytes.Cut([]byte(name), []byte(" "))
		s := StreamOf(string(codec), p.extradata)
		if got := s.Scan(p.au); len(got) != 0 {
			t.Errorf("%s: a bare picture has %v", name, got)
		}
		var all []Unit
		for _, u := range examples {
			if s.Carries(u.Kind) && (s.codec != "h264" || u.Kind != Timecode) { // see TestTiming
				all = append(all, u)
			}
		}
		for _, list := range append([][]Unit{nil, all}, each(all)...) {
			au, err := s.Insert(p.au, list)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if got := s.Scan(au); !same(got, list) {
				t.Errorf("%s: %v becomes %v", name, list, got)
			}
		}
	}
}

func each(all []Unit) (lists [][]Unit) {
	for _, u := range all {
		lists = append(lists, []Unit{u})
	}
	return lists
}

func TestPlaces(t *testing.T) {
	light := Unit{ContentLight, []byte{3, 232, 1, 144}}
	rpu := Unit{DolbyVision, []byte{25, 8, 0, 0, 1, 0x80}}
	for name, c := range map[string]struct {
		list []Unit
		want string
	}{
		"h264": {[]Unit{light}, "\x00\x00\x00\x01\x09\x10\x00\x00\x00\x01\x67\x64\x00\x00\x00\x01\x68\xee" +
			"\x00\x00\x00\x01\x06\x90\x04\x03\xe8\x01\x90\x80\x00\x00\x00\x01\x65\x88\x84\x00\x00\x00\x01\x65\x11\x22"},
		"hevc": {[]Unit{rpu, light}, "\x00\x00\x00\x01\x40\x01\x0c\x00\x00\x00\x01\x4e\x02\x90\x04\x03\xe8\x01\x90\x80" +
			"\x00\x00\x00\x01\x26\x02\xaf\x00\x00\x00\x01\x26\x02\x11\x22\x00\x00\x00\x01\x7c\x01\x19\x08\x00\x00\x03\x01\x80"},
		// Before the header of the second frame, which is the one that is shown.
		"av1": {[]Unit{light}, "\x12\x00\x0a\x02\x11\x22\x32\x03\x01\x02\x03\x2a\x06\x01\x03\xe8\x01\x90\x80\x1a\x01\x80"},
	} {
		au, err := StreamOf(name, nil).Insert(pictures[name].au, c.list)
		if err != nil || string(au) != c.want {
			t.Errorf("%s: %x, %v", name, au, err)
		}
	}
}

// Forms that differ between the codecs.
func TestForms(t *testing.T) {
	av1 := masteringToAV1(mastering())
	want := []uint16{44564, 20972, 17367, 45220, 9830, 3932, 20493, 21561} // red, green, blue, white, in 1/65536
	for i, w := range want {
		if got := binary.BigEndian.Uint16(av1[2*i:]); got != w {
			t.Errorf("chromaticity %d: %d instead of %d", i, got, w)
		}
	}
	if high, low := binary.BigEndian.Uint32(av1[16:]), binary.BigEndian.Uint32(av1[20:]); high != 1000<<8 || low != 82 { // 0.005 * 2^14
		t.Errorf("luminance %d, %d", high, low)
	}
	if got := repeated(filmGrain()); !bytes.Equal(persistent(got), filmGrain()) {
		t.Errorf("film grain becomes %x", got)
	}
	if u := ofMetadata(metadataT35, append([]byte(dolbyT35), 0x37, 0xcd, 0x08, 0x20)); u.Payload != nil {
		t.Errorf("a cut RPU is taken: %v", u)
	}
}

func TestInsertDamaged(t *testing.T) {
	for name, p := range pictures {
		codec, _, _ := bytes.Cut([]byte(name), []byte(" "))
		if _, err := StreamOf(string(codec), p.extradata).Insert(p.au[:4], examples[:1]); err == nil {
			t.Errorf("%s: a unit is put into a picture that is cut off", name)
		}
	}
}

func FuzzScan(f *testing.F) {
	for name, p := range pictures {
		codec, _, _ := bytes.Cut([]byte(name), []byte(" "))
		s := StreamOf(string(codec), p.extradata)
		for _, u := range examples {
			if s.Carries(u.Kind) {
				au, _ := s.Insert(p.au, []Unit{u})
				f.Add(string(codec), p.extradata, au)
			}
		}
	}
	sets := joined([][]byte{spsWith(true, false, false, true)}, 0)
	clocked, _ := StreamOf("h264", sets).Insert(joined([][]byte{{6, 1, 1, 4, 0x80}, picture(1, false, false, false)}, 0), []Unit{{Timecode, oneClock()}})
	f.Add("h264", sets, clocked)
	f.Fuzz(func(t *testing.T, codec string, extradata, au []byte) {
		s := StreamOf(codec, extradata)
		found := s.Scan(au)
		more, err := s.Insert(au, found)
		if err != nil || codec == "" {
			return
		}
		// Twice as many, except for the clocks of H.264, where new ones replace the old.
		others := func(list []Unit) []Unit {
			return slices.DeleteFunc(list, func(u Unit) bool { return codec == "h264" && u.Kind == Timecode })
		}
		if was, is := others(found), others(s.Scan(more)); len(is) != 2*len(was) {
			t.Errorf("%v become %v", was, is)
		}
	})
}
