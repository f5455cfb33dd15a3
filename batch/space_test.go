package batch

import "testing"

func TestDefaultMinFree(t *testing.T) {
	for total, want := range map[int64]int64{
		0: 0, 1 * gigabyte: gigabyte / 4, 4 * gigabyte: gigabyte, 50 * gigabyte: gigabyte, 500 * gigabyte: 5 * gigabyte,
		2000 * gigabyte: 20 * gigabyte, 100_000 * gigabyte: 20 * gigabyte,
	} {
		if got := DefaultMinFree(total); got != want {
			t.Errorf("of %d: %d, want %d", total, got, want)
		}
	}
}

func TestRoom(t *testing.T) {
	r := NewRoom(1000 * leastMargin)
	for i, c := range []struct {
		free   int64 // in units of leastMargin
		paused bool
	}{{2000, false}, {1000, false}, {999, true}, {1000, true}, {1249, true}, {1250, false}, {1000, false}, {0, true}, {9000, false}} {
		if got := r.Paused(c.free * leastMargin); got != c.paused {
			t.Errorf("step %d, %d free: %v", i, c.free, got)
		}
	}
	if NewRoom(0).Paused(0) {
		t.Error("paused although nothing is to stay free")
	}
}
