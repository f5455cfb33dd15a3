package units

import (
	"bytes"
	"slices"
	"testing"

	"vidfilter/internal/e2e"
)

// spsWith returns a parameter set of H.264: of High profile with scaling lists, or Main.
func spsWith(high, fields, delays, structure bool) []byte {
	w := writer{}
	flag := func(b bool) uint32 {
		if b {
			return 1
		}
		return 0
	}
	w.bits(map[bool]uint32{true: 100, false: 77}[high], 8)
	w.bits(30, 16)
	w.ue(0)
	if high {
		for _, v := range []uint32{1, 0, 0} { // 4:2:0, 8 bits
			w.ue(v)
		}
		w.bits(0, 1)
		w.bits(1, 1)
		for i := range 8 {
			w.bits(flag(i == 0 || i == 7), 1)
			switch i {
			case 0: // ends early: the rest repeats
				w.ue(3)  // +2
				w.ue(20) // -10: 0
			case 7:
				for range 64 {
					w.ue(1) // +1
				}
			}
		}
	}
	w.ue(1) // frame_num of 5 bits
	w.ue(1) // pic_order_cnt_type
	w.bits(0, 1)
	for _, v := range []uint32{0, 0, 2, 7, 9} {
		w.ue(v)
	}
	w.ue(4)
	w.bits(0, 1)
	w.ue(10)
	w.ue(8)
	w.bits(flag(!fields), 1)
	if fields {
		w.bits(0, 1)
	}
	w.bits(3, 2) // direct_8x8_inference_flag, frame_cropping_flag
	for range 4 {
		w.ue(1)
	}
	w.bits(1, 1) // VUI
	w.bits(1, 1)
	w.bits(255, 8)
	w.bits(0x00010001, 32)
	w.bits(0, 1)
	w.bits(1, 1)
	w.bits(0b1010_1, 5)
	w.bits(0x010101, 24)
	w.bits(0, 1)
	w.bits(1, 1)
	w.bits(1, 32)
	w.bits(50, 32)
	w.bits(1, 1)
	for range 2 {
		if w.bits(flag(delays), 1); delays {
			w.ue(1)
			w.bits(0, 8)
			for range 2 {
				w.ue(1000)
				w.ue(2000)
				w.bits(0, 1)
			}
			for _, v := range []uint32{9, 22, 10, 6} { // removal 23 bits, output 11, offset 6
				w.bits(v, 5)
			}
		}
	}
	if delays {
		w.bits(0, 1)
	}
	w.bits(flag(structure), 1)
	w.bits(0, 1)
	return append([]byte{0x67}, Escaped(w.end())...)
}

// picture is a slice of H.264 with a frame_num of 5 bits.
func picture(frame uint32, fields, single, bottom bool) []byte {
	w := writer{}
	w.ue(0)
	w.ue(7)
	w.ue(0)
	w.bits(frame, 5)
	if fields {
		w.bits(map[bool]uint32{true: 1}[single], 1)
		if single {
			w.bits(map[bool]uint32{true: 1}[bottom], 1)
		}
	}
	w.bits(0x5555, 16)
	return append([]byte{0x41}, Escaped(w.end())...)
}

func TestFields(t *testing.T) {
	s := StreamOf("h264", nil)
	s.Learn(joined([][]byte{spsWith(true, true, true, true), {0x68, 0xee}}, 0))
	var f Fields
	for i, c := range []struct {
		frame                  uint32
		single, bottom, second bool
	}{
		{0, true, false, false}, {0, true, true, true}, {1, true, true, false}, {1, true, false, true}, {1, true, true, false},
		{2, true, true, false}, {2, true, true, false}, {3, false, false, false}, {3, true, false, false}, {3, false, false, false},
	} {
		if got := f.Second(s, joined([][]byte{{9, 0x30}, picture(c.frame, true, c.single, c.bottom)}, 0)); got != c.second {
			t.Errorf("picture %d: %v", i, got)
		}
	}
	s.Learn(joined([][]byte{spsWith(false, false, false, true)}, 0))
	for range 2 {
		if f.Second(s, joined([][]byte{picture(31, false, false, false)}, 0)) {
			t.Error("a frame completes another one")
		}
	}
}

func TestMayHaveFields(t *testing.T) {
	sequence := func(flags byte) []byte { return []byte{0, 0, 1, 0xb3, 0, 0, 0, 1, 0xb5, 0x14, flags, 0} }
	for _, c := range []struct {
		codec  string
		header []byte
		want   bool
	}{
		{"h264", joined([][]byte{spsWith(true, true, true, true)}, 0), true}, {"h264", joined([][]byte{spsWith(true, false, true, true)}, 0), false},
		{"h264", nil, false}, {"mpeg2video", sequence(0x82), true}, {"mpeg2video", sequence(0x8a), false}, {"mpeg2video", nil, false}, {"av1", nil, false},
	} {
		if got := MayHaveFields(c.codec, c.header); got != c.want {
			t.Errorf("%s %x: %v", c.codec, c.header, got)
		}
	}
}

func TestLayered(t *testing.T) {
	base, second, sei := []byte{0x02, 0x01, 7}, []byte{0x02, 0x09, 7}, []byte{0x4e, 0x09, 7}
	s := StreamOf("hevc", nil)
	if s.Layered(joined([][]byte{base, sei}, 0)) || !s.Layered(joined([][]byte{base, second}, 0)) || StreamOf("h264", nil).Layered(joined([][]byte{second}, 0)) {
		t.Error("pictures of another layer are not told from others")
	}
}

func TestFieldAlone(t *testing.T) {
	s := StreamOf("h264", nil)
	s.Learn(joined([][]byte{spsWith(true, true, true, true), {0x68, 0xee}}, 0))
	top, bottom, next := picture(0, true, true, false), picture(0, true, true, true), picture(1, true, true, false)
	frame := picture(1, true, false, false)
	for name, c := range map[string]struct {
		units           [][][]byte
		alone, atTheEnd bool
	}{
		"pairs":           {[][][]byte{{top, top}, {bottom}, {frame}}, false, false},
		"both in one":     {[][][]byte{{top, bottom}, {frame}, {top, bottom}}, false, false},
		"before a frame":  {[][][]byte{{top}, {frame}}, true, true},
		"before a field":  {[][][]byte{{top}, {next}}, true, true},
		"the last one":    {[][][]byte{{frame}, {top}}, false, true},
		"followed by two": {[][][]byte{{top}, {next}, {frame}}, true, true},
	} {
		var f Fields
		for _, list := range c.units {
			f.Second(s, joined(list, 0))
		}
		if f.Alone(false) != c.alone || f.Alone(true) != c.atTheEnd {
			t.Errorf("%s: alone %v, at the end %v", name, f.Alone(false), f.Alone(true))
		}
	}
}

// Clocks are written to pic_timing and read back, with or without other fields.
func TestTiming(t *testing.T) {
	for _, c := range []struct{ high, delays bool }{{true, true}, {false, false}, {true, false}} {
		s := StreamOf("h264", joined([][]byte{spsWith(c.high, false, c.delays, true), {0x68, 0xee}}, 0))
		if !s.sps.known || !s.sps.structure || s.sps.delays != c.delays || s.sps.frameBits != 5 {
			t.Fatalf("%+v", s.sps)
		}
		for structure, clocks := range map[uint32]int{0: 1, 3: 2, 5: 3} {
			timing := writer{}
			if c.delays {
				timing.bits(0x1234, 23)
				timing.bits(0x321, 11)
			}
			timing.bits(structure, 4)
			timing.bits(0, clocks)
			body := timing.end()
			sei := append([]byte{6, 6, 1, 0xc4, 1, byte(len(body))}, body...)
			bare := joined([][]byte{Escaped(append(sei, 0x80)), picture(1, false, false, false)}, 0)
			if got := s.Scan(bare); len(got) != 0 {
				t.Errorf("without clocks: %v", got)
			}
			code := TimeCode([]uint32{0x05302010, 0x46302010, 0x07302010}[:clocks], 25, 1)
			au, err := s.Insert(bare, []Unit{{Timecode, code}, examples[1]})
			e2e.Must(t, err)
			picture := bytes.LastIndex(bare, []byte{0, 0, 0, 1}) // zeros may be between units
			if padded, err := s.Insert(slices.Insert(slices.Clone(bare), picture, 0, 0, 0), []Unit{{Timecode, code}, examples[1]}); err != nil || !bytes.Equal(padded, au) {
				t.Errorf("pic_struct %d: zeros between units make %x of %x, %v", structure, padded, au, err)
			}
			want := []Unit{{Timecode, code}, examples[1]}
			if got := s.Scan(au); !same(got, want) {
				t.Errorf("pic_struct %d: %v instead of %v", structure, got, want)
			}
			still := writer{} // without fields there is one clock
			if c.delays {
				still.bits(0x1234, 23)
				still.bits(0x321, 11)
			}
			still.bits(0, 4+1)
			frame := still.end()
			if got := s.Progressive(bare); !bytes.Contains(Unescaped(got), append([]byte{1, byte(len(frame))}, frame...)) ||
				!bytes.HasSuffix(got, bare[picture:]) || len(s.Scan(got)) != 0 {
				t.Errorf("pic_struct %d: a progressive picture is %x, of %x", structure, got, bare)
			}
			again, err := s.Insert(au, []Unit{{Timecode, code}})
			if err != nil || !bytes.Equal(again, au) {
				t.Errorf("pic_struct %d: %x, %v", structure, again, err)
			}
		}
	}
	if au := joined([][]byte{picture(1, false, false, false)}, 0); !bytes.Equal(StreamOf("h264", nil).Progressive(au), au) {
		t.Error("a picture without pic_timing changes")
	}
	plain := StreamOf("h264", joined([][]byte{spsWith(true, false, true, false)}, 0))
	if _, err := plain.Insert(joined([][]byte{{6, 1, 1, 0, 0x80}, picture(1, false, false, false)}, 0), []Unit{{Timecode, oneClock()}}); err == nil {
		t.Error("clocks go into pictures without pic_struct")
	}
}

func FuzzParameters(f *testing.F) {
	f.Add(spsWith(true, true, true, true), picture(1, true, true, true))
	f.Add(spsWith(false, false, false, true), slices.Concat([]byte{6, 1, 2, 0x10, 0x80, 0x80, 0, 0, 1}, picture(1, false, false, false)))
	f.Fuzz(func(t *testing.T, sps, au []byte) {
		s := StreamOf("h264", slices.Concat([]byte{0, 0, 1}, sps))
		var fields Fields
		fields.Second(s, append([]byte{0, 0, 1}, au...))
		for _, u := range s.Scan(append([]byte{0, 0, 1}, au...)) {
			if len(u.Payload) == 0 {
				t.Errorf("an empty unit: %v", u)
			}
		}
	})
}

// Numbers go up by one with each reference picture, to 31 and on from 0.
func TestFrameNumbers(t *testing.T) {
	s := StreamOf("h264", joined([][]byte{spsWith(true, false, false, false), {0x68, 0xee}}, 0))
	const idr, reference, other = 0x65, 0x41, 0x01
	type coded struct {
		kind  byte
		frame uint32
	}
	for name, c := range map[string]struct {
		pictures []coded
		gaps     bool
		missing  int64
		anew     bool // if no decoder finds a gap
	}{
		"whole":                 {[]coded{{idr, 0}, {reference, 1}, {other, 2}, {other, 2}, {reference, 2}, {reference, 3}, {idr, 0}, {reference, 1}}, false, 0, false},
		"begins anywhere":       {[]coded{{reference, 30}, {other, 31}, {reference, 31}, {reference, 0}, {reference, 1}}, false, 0, false},
		"begins with others":    {[]coded{{other, 7}, {reference, 7}, {reference, 8}}, false, 0, false},
		"slices":                {[]coded{{idr, 0}, {idr, 0}, {reference, 1}, {reference, 1}, {other, 2}, {other, 2}}, false, 0, false},
		"one lost":              {[]coded{{idr, 0}, {reference, 1}, {reference, 3}}, false, 1, false},
		"two lost before other": {[]coded{{idr, 0}, {reference, 1}, {other, 4}, {reference, 4}}, false, 2, false},
		"lost at the turn":      {[]coded{{reference, 30}, {reference, 1}}, false, 2, false},
		"an IDR picture lost":   {[]coded{{reference, 20}, {reference, 1}}, false, 12, false},
		"numbers begin anew":    {[]coded{{reference, 9}, {reference, 1}}, false, 1, true},
		"one lost before other": {[]coded{{idr, 0}, {other, 1}, {reference, 1}, {other, 2}, {other, 3}, {reference, 3}}, false, 1, false},
		"others are numbered":   {[]coded{{idr, 0}, {other, 1}, {reference, 2}, {other, 3}, {reference, 4}}, false, 0, false},
		"gaps are allowed":      {[]coded{{idr, 0}, {reference, 4}, {reference, 8}}, true, 0, false},
	} {
		s.sps.gaps = c.gaps
		var f FrameNumbers
		for _, p := range c.pictures {
			unit := picture(p.frame, false, false, false)
			unit[0] = p.kind
			f.Take(s, joined([][]byte{{9, 0x30}, unit}, 0))
		}
		if n := f.Missing(func(uint32) bool { return true }); n != c.missing {
			t.Errorf("%s: %d are missing instead of %d", name, n, c.missing)
		}
		if n := f.Missing(func(uint32) bool { return false }); n != 0 && c.anew {
			t.Errorf("%s: %d are missing, though the numbers begin anew", name, n)
		}
	}
}
