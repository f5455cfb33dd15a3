package enhance

import (
	"strconv"
	"strings"
)

// Sharpen is a value of --sharpen, 0 to 1.
type Sharpen float64

// Graph sharpens luma.
func (s Sharpen) Graph(f Facts) (string, error) {
	if s == 0 {
		return "", nil
	}
	amount := strconv.FormatFloat(float64(s), 'f', -1, 64)
	return f.inside("unsharp=5:5:"+amount+":5:5:0", f.sharpened()), nil
}

// sharpened returns the layout in which frames are sharpened, "" for their own.
func (f Facts) sharpened() string {
	switch l := f.Format.Layout.Info(); {
	case l.Gray():
		return "yuv420p16le"
	case f.alphaInside():
		return "yuva444p16le"
	case l.RGB:
		return "yuv444p16le"
	case l.Depth == 14:
		return f.planar(16)
	case l.SemiPlanar:
		return f.planar(l.Depth)
	}
	return ""
}

// Deband is whether bands in smooth areas are to be dissolved.
type Deband bool

// Graph works at 12 bits or more: the steps in between need room. They come back dithered.
func (d Deband) Graph(f Facts) (string, error) {
	const filter = "deband=range=32:1thr=0.006:2thr=0.006:3thr=0.006:4thr=0.006:blur=0"
	if !d {
		return "", nil
	}
	within := ""
	switch l := f.Format.Layout.Info(); {
	case f.alphaInside():
		within = "gbrap16le"
	case l.Depth < 12 || l.SemiPlanar:
		within = f.planar(max(12, l.Depth))
	}
	return f.inside(filter, within), nil
}

// inside returns a graph that filters in another layout, "" for the frames' own.
func (f Facts) inside(filter, within string) string {
	if within == "" {
		return filter
	}
	own := f.Format.Layout.Info()
	back := f.planar(own.Depth)
	switch {
	case within == back:
		return "format=" + within + "," + filter
	case f.alphaInside():
		back = own.Name
	}
	parts := []string{"format=" + within, filter}
	if !own.Gray() && !f.cut() && (!own.RGB || within[0] == 'g') { // zscale takes no gray, and mixes no RGB
		parts = append(parts, "zscale=dither=ordered")
	}
	return strings.Join(append(parts, "format="+back), ",")
}
