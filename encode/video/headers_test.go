package video

import (
	"bytes"
	"slices"
	"testing"
)

func TestParameterSetsHEVC(t *testing.T) {
	vps, sps, pps, sei := []byte{0x40, 1, 12}, []byte{0x42, 1, 1, 9}, []byte{0x44, 1, 0xc1}, []byte{0x4e, 1, 5, 1, 7}
	annexB := slices.Concat([]byte{0, 0, 0, 1}, vps, []byte{0, 0, 0, 1}, sps, []byte{0, 0, 1}, pps, []byte{0, 0, 1}, sei)
	hvcc := append(make([]byte, 22), 4)
	hvcc[0] = 1
	for _, unit := range [][]byte{vps, sps, pps, sei} {
		hvcc = slices.Concat(hvcc, []byte{0x80 | unit[0]>>1&63, 0, 1, 0, byte(len(unit))}, unit)
	}
	want := [][]byte{vps, sps, pps}
	for name, b := range map[string][]byte{"start codes": annexB, "hvcC": hvcc} {
		if got := parameterSetsHEVC(b); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %x", name, got)
		}
	}
	for i := range hvcc {
		if got := parameterSetsHEVC(hvcc[:i]); len(got) > 0 {
			t.Errorf("%d bytes of hvcC give %x", i, got)
		}
	}
	obus := []byte{0x0a, 2, 1, 2}
	for _, b := range [][]byte{obus, append([]byte{0x81, 0, 0x0c, 0}, obus...)} {
		if got := headersAV1(b); len(got) != 1 || !bytes.Equal(got[0], obus) {
			t.Errorf("%x of %x", got, b)
		}
	}
	if got := headersAV1(nil); got != nil {
		t.Errorf("%x of nothing", got)
	}
}
