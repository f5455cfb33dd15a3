package enhance

import "vidfilter/internal/hint"

// Deinterlace is a value of --deinterlace.
type Deinterlace int

// The values of --deinterlace.
const (
	DeinterlaceOff  Deinterlace = iota
	DeinterlaceAuto             // a frame of each interlaced frame
	DeinterlaceBob              // a frame of each field
)

const deinterlaceHint = "auto makes a picture of each frame, bob one of each field, and off leaves fields as they are"

// ParseDeinterlace reads auto, bob or off; the empty text is auto.
func ParseDeinterlace(s string) (Deinterlace, error) {
	switch s {
	case "", "auto":
		return DeinterlaceAuto, nil
	case "bob":
		return DeinterlaceBob, nil
	case "off":
		return DeinterlaceOff, nil
	}
	return 0, hint.Errorf(deinterlaceHint, "unknown")
}

// Graph leaves progressive frames as they are. Each frame says what it is: a video may be mixed.
func (d Deinterlace) Graph(f Facts) (string, error) {
	filter := "bwdif=mode=send_frame:deint=interlaced"
	if d == DeinterlaceBob {
		filter = "bwdif=mode=send_field:deint=interlaced"
	}
	within := ""
	switch l := f.Format.Layout.Info(); {
	case l.Gray() && l.Depth > 8 && l.Depth < 16: // which bwdif does not take
		within = f.planar(16)
	case l.SemiPlanar:
		within = f.planar(l.Depth)
	}
	return f.inside(filter, d != DeinterlaceOff && !f.Progressive, within), nil
}
