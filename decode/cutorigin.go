package decode

import (
	"fmt"

	"github.com/asticode/go-astiav"
)

// CutTag is the tag in a file with only the packets of a part: the distance of its times from the
// source's, the source's unit and usual rate, and the frames that its decoder holds back.
const CutTag = "vidfilter_cut"

// cutOrigin is a value of CutTag.
type cutOrigin struct {
	offset int64
	rate   astiav.Rational
	delay  int
}

func (c cutOrigin) String() string {
	return fmt.Sprintf("%d %d/%d %d", c.offset, c.rate.Num(), c.rate.Den(), c.delay)
}

func parseCutOrigin(s string) (c cutOrigin, err error) {
	var num, den int
	n, err := fmt.Sscanf(s, "%d %d/%d %d", &c.offset, &num, &den, &c.delay)
	if err != nil || n != 4 || den <= 0 || num < 0 || c.delay < 0 || c.delay > 16 {
		return c, fmt.Errorf("%q is no description of a cut", s)
	}
	c.rate = astiav.NewRational(num, den)
	return c, nil
}
