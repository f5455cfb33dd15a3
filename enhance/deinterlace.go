package enhance

// Deinterlace is a value of --deinterlace.
type Deinterlace int

// Values of --deinterlace, in the order of DeinterlaceNames. Only DeinterlaceBob uses a graph.
const (
	DeinterlaceOff    Deinterlace = iota
	DeinterlaceAuto               // same as best
	DeinterlaceBest               // a frame per field
	DeinterlaceSingle             // a frame per interlaced frame
	DeinterlaceBob                // a frame per field, by bwdif
)

// DeinterlaceNames lists the names of the values in order.
var DeinterlaceNames = []string{"off", "auto", "best", "single", "bob"}

// Doubles reports whether an interlaced frame gives two frames.
func (d Deinterlace) Doubles() bool { return d != DeinterlaceOff && d != DeinterlaceSingle }

// Graph leaves progressive frames as they are. Each frame has its own kind: a video may be mixed.
func (d Deinterlace) Graph(f Facts) (string, error) {
	if d != DeinterlaceBob || f.Progressive {
		return "", nil
	}
	within := ""
	switch l := f.Format.Layout.Info(); {
	case l.Gray() && l.Depth > 8 && l.Depth < 16: // which bwdif does not take
		within = f.planar(16)
	case l.SemiPlanar:
		within = f.planar(l.Depth)
	}
	return f.inside("bwdif=mode=send_field:deint=interlaced", within), nil
}
