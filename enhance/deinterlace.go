package enhance

// Deinterlace is a value of --deinterlace.
type Deinterlace int

// The values of --deinterlace.
const (
	DeinterlaceOff  Deinterlace = iota
	DeinterlaceAuto             // a frame of each interlaced frame
	DeinterlaceBob              // a frame of each field
)

// Graph leaves progressive frames as they are. Each frame says what it is: a video may be mixed.
func (d Deinterlace) Graph(f Facts) (string, error) {
	if d == DeinterlaceOff || f.Progressive {
		return "", nil
	}
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
	return f.inside(filter, within), nil
}
