package denoise

import "vidfilter/pipeline"

// RGB pictures are denoised as YUV: noise and detail part better there. What the filter changes is
// added to the original samples, so that what it leaves alone keeps its bits.

// The weights of R, G and B in luma (BT.601), and of the differences in U and V, in 1/65536.
const (
	lumaR, lumaG, lumaB = 19595, 38470, 7471
	blueScale           = 36984 // 0.5/(1-0.114)
	redScale            = 46745 // 0.5/(1-0.299)
	half                = 1 << 15
	fixed               = 16
)

// ofRGB returns an RGBA frame as YUV, in memory of its own.
func ofRGB(in *pipeline.Frame) *pipeline.Frame {
	out := emptyYUV(in)
	for y := range in.Height {
		pixels := in.Row(0, y)
		luma, blue, red := out.Row(0, y), out.Row(1, y), out.Row(2, y)
		for x := range luma {
			p := pixels[4*x:][:4]
			r, g, b := int(p[0]), int(p[1]), int(p[2])
			v := (lumaR*r + lumaG*g + lumaB*b + half) >> fixed
			luma[x] = byte(v)
			blue[x] = chroma((b - v) * blueScale)
			red[x] = chroma((r - v) * redScale)
		}
	}
	return out
}

func chroma(scaled int) byte { return byte(min(max(128+(scaled+half)>>fixed, 0), 255)) }

// emptyYUV returns a frame for the samples of an RGBA frame.
func emptyYUV(in *pipeline.Frame) *pipeline.Frame {
	f := pipeline.Format{
		Layout: pipeline.YUV444P, Width: in.Width, Height: in.Height, Matrix: pipeline.BT601, FullRange: true,
	}
	var planes [4]pipeline.Plane
	for i := range 3 {
		planes[i] = pipeline.Plane{Data: make([]byte, f.Width*f.Height), Pitch: f.Width}
	}
	out := pipeline.NewFrame(f, planes, nil, nil)
	out.Interlaced, out.TopFieldFirst = in.Interlaced, in.TopFieldFirst
	return out
}

// addToRGB writes in to out with the difference of two YUV frames added. Alpha stays.
func addToRGB(out, in, before, after *pipeline.Frame) {
	for y := range in.Height {
		to, from := out.Row(0, y), in.Row(0, y)
		var was, is [3][]byte
		for i := range is {
			was[i], is[i] = before.Row(i, y), after.Row(i, y)
		}
		for x := range in.Width {
			difference := func(i int) int { return int(is[i][x]) - int(was[i][x]) }
			luma, blue, red := difference(0), difference(1), difference(2)
			// The inverse of the transform above, of differences.
			r := luma<<fixed + 91881*red
			g := luma<<fixed - 22554*blue - 46802*red
			b := luma<<fixed + 116130*blue
			for c, d := range [3]int{r, g, b} {
				to[4*x+c] = byte(min(max(int(from[4*x+c])+(d+half)>>fixed, 0), 255))
			}
			to[4*x+3] = from[4*x+3]
		}
	}
}
