package decode

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"vidfilter/internal/av"
	"vidfilter/internal/contract"
)

// Span and Range are what other processes name.
type (
	Span  = contract.Span
	Range = contract.Range
)

// PartError says that a part of a video, or parts together, are not as they were cut. It does not
// wrap ErrUnreadable: the same file may be filtered whole.
type PartError struct{ Path, What string }

func (e *PartError) Error() string { return fmt.Sprintf("part of %s: %s", e.Path, e.What) }

// Hint suggests a remedy.
func (e *PartError) Hint() string {
	return "vidfilter segments says how the file can be cut; filter it whole otherwise"
}

func (in *Input) partError(format string, args ...any) error {
	return &PartError{in.path, fmt.Sprintf(format, args...)}
}

// wantedPart is wanted for a part, in whole numbers without rounding to microseconds.
func (in *Input) wantedPart(pts int64) (bool, error) {
	all := in.opts.Part.Read()
	switch {
	case pts == av.NoPTS:
		return false, in.partError("a frame has no time")
	case pts < all.Start:
		return false, nil
	case pts >= all.End:
		return false, errPastEnd
	case in.times.started && pts <= in.times.last:
		return false, in.partError("the frame at %d comes behind the one at %d", pts, in.times.last)
	}
	return true, nil
}

// endPart checks a part after its last frame.
func (in *Input) endPart() error {
	in.eof = true
	if in.interrupted() {
		return io.EOF
	}
	p := in.opts.Part
	for _, c := range []struct {
		n int64
		Span
	}{{in.emitted, p.Span}, {in.emitted + in.context, p.Read()}} {
		if c.n != c.Frames {
			return in.partError("%d frames lie in %d:%d instead of %d", c.n, c.Start, c.End, c.Frames)
		}
	}
	return io.EOF
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
