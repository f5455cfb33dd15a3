package decode

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
)

// Span and Range are exchanged with other processes.
type (
	Span  = contract.Span
	Range = contract.Range
)

// PartError means that parts of a video are not as they were cut. It does not wrap ErrUnreadable:
// the same file may be filtered whole.
type PartError struct{ Path, What string }

func (e *PartError) Error() string { return fmt.Sprintf("part of %s: %s", e.Path, e.What) }

// Hint suggests a remedy.
func (e *PartError) Hint() string {
	return "vidfilter segments says how the file can be cut; filter it whole otherwise"
}

func (l logger) partError(format string, args ...any) error {
	return &PartError{l.path, fmt.Sprintf(format, args...)}
}

// ParseRange reads START:END:FRAMES of a part, followed by the same of all around it, if any.
func ParseRange(s string) (Range, error) {
	f := strings.Split(s, ":")
	if len(f) != 3 && len(f) != 6 {
		return Range{}, errors.New("not START:END:FRAMES, once or twice")
	}
	var n [6]int64
	for i := range f {
		var err error
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return Range{}, errors.New("not whole numbers")
		}
	}
	r := Range{Span: Span{Start: n[0], End: n[1], Frames: n[2]}, Around: Span{Start: n[3], End: n[4], Frames: n[5]}}
	if r.Start >= r.End || r.Frames <= 0 || r.Start == av.NoPTS {
		return Range{}, errors.New("an empty part")
	}
	if all := r.Read(); !all.Covers(r.Span) || all.Start == av.NoPTS {
		return Range{}, errors.New("the part is not within what is around it")
	}
	return r, nil
}

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

// tracker keeps the times of frames that are not decoded here. See Input.Follow.
type tracker struct {
	tracked  map[int64]int64 // durations of the video's frames by PTS, read but not yet followed
	halves   bool            // times are in half units: pictures may lie between frames
	followed []int64         // their PTS, once they are followed
	reached  int64           // the latest PTS in tracked
	untimed  bool            // a frame cannot be followed, since it has no PTS
}

// track records the frame of a video packet just read.
func (t *tracker) track(p *astiav.Packet) error {
	if p.Flags().Has(astiav.PacketFlagDiscard) {
		return nil
	}
	pts := p.Pts()
	if _, twice := t.tracked[pts]; twice || pts == av.NoPTS {
		t.untimed = true
		return nil
	}
	t.tracked[pts] = p.Duration()
	t.reached = max(t.reached, pts)
	return nil
}
