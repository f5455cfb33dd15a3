package plane

import "testing"

// A sum has room for its pictures at any depth.
func TestSum(t *testing.T) {
	for depth := 8; depth <= 16; depth++ {
		p := Plane{2, 1, depth, []uint16{uint16(1<<depth - 1), uint16(5 << (depth - 8))}}
		var s Sum
		for range SumOf {
			s.Add(Picture{Planes: []Plane{p}})
		}
		q := s.Planes[0]
		if got, want := q.At(0, 0), SumOf*q.Max(); got != want || q.At(1, 0) != SumOf*5*q.Unit() || s.Count != SumOf {
			t.Errorf("%d bits: %v, of white %d", depth, q.Pix, want)
		}
	}
}
