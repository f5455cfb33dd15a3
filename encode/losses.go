package encode

import (
	"bytes"
	"slices"

	"vidfilter/internal/av"
)

// NotKept returns what the output does not have of the input's video beside its pictures: those of
// the extras that it lacks, and what its codec or container has no place for. It is known after the
// last frame.
func (o *Output) NotKept(extras []string) []string {
	lost := losses(slices.DeleteFunc(slices.Clone(extras), func(x string) bool {
		return x == av.Alpha && o.alphaKept || x == av.Grain && o.grain != nil
	}))
	for _, name := range o.lost {
		lost.add(name)
	}
	return lost
}

// Join takes over from a coder, whose packets the output has, what it could not keep. It fails if
// the coder has described its part in another way than the output.
func (o *Output) Join(c *Coder) error {
	for _, name := range c.lost {
		o.lost.add(name)
	}
	o.alphaKept = o.alphaKept || c.alphaKept
	for i, is := range c.fields.kinds {
		o.fields.kinds[i] = o.fields.kinds[i] || is
	}
	if c.fields.told != o.fields.told || len(c.changes.told) > 0 {
		return PartsErrorf("what pictures say of the video changes")
	}
	par := o.video.codecpar
	if c.frames > 0 && !bytes.Equal(c.header, av.Slice((*byte)(par.extradata), int(par.extradata_size))) {
		return PartsErrorf("parts of the video are described in different ways")
	}
	return nil
}
