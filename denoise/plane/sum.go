package plane

// Sum is the sum of Count pictures, sample by sample, of [SumOf] at the most. The Depth of its
// planes is one picture's: samples of more than sumDepth bits are rounded to that.
type Sum struct {
	Picture
	Count int
}

// SumOf is the number of pictures in a sum: samples of 12 bits that fit into 16.
const (
	SumOf    = 16
	sumDepth = 12
)

// Add adds a picture. All must have the same planes.
func (s *Sum) Add(p Picture) {
	if s.Count == 0 {
		s.Picture = p.each(func(p Plane) Plane { return New(p.Width, p.Height, min(p.Depth, sumDepth)) })
	}
	for i, p := range p.Planes {
		for k, v := range p.Reduced(sumDepth).Pix {
			s.Planes[i].Pix[k] += v
		}
	}
	s.Count++
}
