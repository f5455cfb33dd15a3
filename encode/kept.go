package encode

import (
	"slices"

	"vidfilter/internal/av"
)

// NotKept returns what the output does not have of the input's video beside its pictures: those of
// the extras that it lacks, and what its codec or container has no place for. It is known after the
// last frame.
func (o *Output) NotKept(extras []string) []string {
	lost := slices.DeleteFunc(slices.Clone(extras), func(x string) bool {
		return x == av.Alpha && o.alphaKept || x == av.Grain && o.grain != nil
	})
	for _, name := range o.carrier.lost {
		if !slices.Contains(lost, name) {
			lost = append(lost, name)
		}
	}
	return lost
}
