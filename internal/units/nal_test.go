package units

import (
	"bytes"
	"slices"
	"testing"
)

func TestNALUnits(t *testing.T) {
	whole := []byte{0, 2, 7, 8, 0, 0, 0, 1, 9}
	units, ok := NALUnits(whole, 2)
	if want := [][]byte{{7, 8}, {9}}; !ok || !slices.EqualFunc(units, want, bytes.Equal) {
		t.Errorf("%x, %v", units, ok)
	}
	for size, b := range map[int]string{0: "\x00\x00\x01\x06\x01\x80\x00\x00\x00\x00\x00\x01\x00\x00\x01\x05", 2: "\x00\x05\x06\x01\x80\x00\x00\x00\x02\x00\x00\x00\x01\x05"} {
		units, ok := NALUnits([]byte(b), size)
		if want := [][]byte{{6, 1, 0x80}, {5}}; !ok || !slices.EqualFunc(units, want, bytes.Equal) {
			t.Errorf("%q: %x, %v", b, units, ok)
		}
	}
	for _, n := range []int{1, 3, 5, 8} {
		if units, ok := NALUnits(whole[:n], 2); ok {
			t.Errorf("%d bytes of units are taken: %x", n, units)
		}
	}
}

func TestParameterSets(t *testing.T) {
	sps, pps := []byte{0x67, 100, 0, 30, 0xac}, []byte{0x68, 0xee, 0x3c}
	annexB := slices.Concat([]byte{0, 0, 0, 1}, sps, []byte{0, 0, 0, 1}, pps, []byte{0, 0, 1, 6, 5, 1, 0x80})
	avcc := slices.Concat([]byte{1, 100, 0, 30, 0xff, 0xe1, 0, byte(len(sps))}, sps, []byte{1, 0, byte(len(pps))}, pps, []byte{0xfd, 0xf8, 0xf8, 0})
	want := [][]byte{sps, pps}
	for name, b := range map[string][]byte{"start codes": annexB, "avcC": avcc} {
		if got := ParameterSets(b); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %x", name, got)
		}
	}
	for i := range avcc[:len(avcc)-4] {
		if got := ParameterSets(avcc[:i]); slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%d bytes of avcC are enough", i)
		}
	}
}
