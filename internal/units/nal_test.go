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
	for _, n := range []int{1, 3, 5, 8} {
		if units, ok := NALUnits(whole[:n], 2); ok {
			t.Errorf("%d bytes of units are taken: %x", n, units)
		}
	}
}
