package units

import "testing"

func TestGroupTime(t *testing.T) {
	w := writer{}
	for _, f := range [][2]uint32{{1, 32}, {0xb3, 8}, {1, 24}, {0xb8, 8}, {1, 1}, {21, 5}, {42, 6}, {1, 1}, {33, 6}, {17, 6}, {0, 7}, {1, 24}, {0, 8}, {2, 10}, {1, 3}} {
		w.bits(f[0], int(f[1]))
	}
	want := GroupTime{21, 42, 33, 17, true, 2}
	if g, ok := GroupTimeOf(w.b); !ok || g != want {
		t.Errorf("%+v, %v", g, ok)
	}
	for n := range len(w.b) - 1 {
		if g, ok := GroupTimeOf(w.b[:n]); ok {
			t.Errorf("%d of %d bytes: %+v", n, len(w.b), g)
		}
	}
}
