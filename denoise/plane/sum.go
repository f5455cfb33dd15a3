package plane

// Sum is the sum of Count pictures, sample by sample, of [SumOf] at the most. Of its planes, Depth
// says what a sample of one picture has: samples of more than sumDepth bits are rounded to that.
type Sum struct {
	Picture
	Count int
}

// SumOf is how many pictures a sum holds: 16 bits have room for so many samples of 12.
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
