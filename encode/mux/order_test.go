package mux

import (
	"slices"
	"testing"
)

// Parts with B-frames of their own, joined, are decoded at the times of one run.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		pts, dts []int64 // as the parts have them
		want     []int64
	}{
		{"two parts", []int64{0, 30, 10, 20, 40, 70, 50, 60}, []int64{-10, 0, 10, 20, 30, 40, 50, 60}, []int64{-10, 0, 10, 20, 30, 40, 50, 60}},
		{"a pyramid", []int64{5, 45, 25, 15, 35, 55, 65}, []int64{-15, -5, 5, 15, 25, 35, 45}, []int64{-15, -5, 5, 15, 25, 35, 45}},
		{"no B-frames", []int64{7, 9, 20}, []int64{7, 9, 20}, []int64{7, 9, 20}},
		{"uneven", []int64{0, 90, 7, 31, 91, 99}, []int64{-7, 0, 7, 80, 90, 91}, []int64{-7, 0, 7, 31, 90, 91}},
	} {
		var o Order
		var got []int64
		for i := range c.pts {
			got = append(got, o.Next(c.pts[i], c.dts[i]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v instead of %v", c.name, got, c.want)
		}
	}
}
