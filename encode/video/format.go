package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
import "C"

import (
	"fmt"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// codedFormat is the encoder's input.
type codedFormat struct {
	pixelFormat astiav.PixelFormat
	format      pipeline.Format // matrix and range; the layout is not used
	isYUV       bool
}

// codedFormat chooses the pixel format: the frames' own if the encoder takes it, else the one
// that loses least.
func (e *encoder) codedFormat(codec *astiav.Codec, f *pipeline.Frame) (codedFormat, error) {
	want, err := e.wantedFormat(codec, f)
	if err != nil {
		return codedFormat{}, err
	}
	if has, gets := av.Depth(av.PixelFormat(f.Layout)), av.Depth(want); gets < has && e.PixelFormat == "" && e.Depth == 0 {
		e.Told.Add(fidelity.Video, "", "depth")
		how := ""
		if pipeline.Dither(gets) > 0 {
			how = ", dithered"
		}
		e.Warn("%s takes no %v: %d bits become %d%s", codec.Name(), f.Layout, has, gets, how)
	}
	desc := want.Descriptor()
	to := codedFormat{pixelFormat: want, format: av.AsYUV(f.Format), isYUV: !desc.Flags().Has(astiav.PixelFormatDescriptorFlagRgb)}
	if e.about.videoRange && f.FullRange && to.isYUV {
		e.Told.Add(fidelity.Video, "", "range")
		e.Warn("the encoder %s has limited range only: samples of full range are converted", codec.Name())
		to.format.FullRange = false
	}
	if e.about.fullRange {
		for _, key := range []string{"range", "matrix", "chroma_location"} {
			e.Told.Add(fidelity.Video, "", key)
		}
		to.format.FullRange, to.format.Matrix = true, pipeline.BT601
	}
	return to, nil
}

func (e *encoder) wantedFormat(codec *astiav.Codec, f *pipeline.Frame) (astiav.PixelFormat, error) {
	format := f.Format
	format.Layout = e.codedLayout(f.Layout)
	layout := format.Layout
	offered := e.offered(codec, layout.Info().Depth)
	if e.Depth > 0 {
		e.Told.Add(fidelity.Video, "", "depth")
		if exact := ofDepth(offered, e.Depth); len(exact) > 0 {
			offered = exact
		} else if err := e.checkDepth(codec); err != nil {
			return astiav.PixelFormatNone, err
		}
	}
	takes := func(pf astiav.PixelFormat) bool { return len(offered) == 0 || slices.Contains(offered, pf) }
	if e.PixelFormat != "" {
		e.Told.Add(fidelity.Video, "", "depth")
		e.Told.Add(fidelity.Video, "", "chroma")
		return e.namedFormat(codec, f.Width, f.Height)
	}
	if choose := e.about.choose; choose != nil {
		if pf, warning := choose(format); pf != astiav.PixelFormatNone {
			e.Warn("%s", warning)
			return pf, nil
		}
	}
	own := ownFormat(f, layout, offered)
	if e.Form.Layouts != nil && hasAlpha(own) && !takes(own) {
		offered = slices.DeleteFunc(offered, hasAlpha) // no chroma is made up to keep alpha
		own = ownFormat(f, layout, offered)
	}
	deep := layout.Info().Depth > 8
	switch {
	case takes(own) && (layout != pipeline.RGBA || f.Video.Alpha):
		return own, nil
	case takes(astiav.PixelFormatRgb24) && e.IsPicture() && !av.IsGray(own) && !deep:
		return astiav.PixelFormatRgb24, nil
	}
	if info := layout.Info(); e.about.OnDevice != "" && e.Device != nil && !info.RGB && !info.Gray() {
		if err := e.Device.Supports(e.about.OnDevice, layout, f.Width, f.Height); err != nil {
			return astiav.PixelFormatNone, hint.Add(err, fmt.Sprintf("--pixel-format %s converts", offered[0]))
		}
	}
	alpha := C.int(0)
	if f.Video.Alpha || av.HasAlpha(f) {
		alpha = 1
	}
	list := make([]C.enum_AVPixelFormat, 0, len(offered)+1)
	for _, pf := range offered {
		list = append(list, C.enum_AVPixelFormat(pf))
	}
	list = append(list, C.AV_PIX_FMT_NONE)
	best := C.avcodec_find_best_pix_fmt_of_list(&list[0], C.enum_AVPixelFormat(own), alpha, nil)
	if best == C.AV_PIX_FMT_NONE {
		return astiav.PixelFormatNone, target.Refusal("try "+spec.DefaultEncoder, "the encoder %s takes no format that %s can be converted to", codec.Name(), own)
	}
	less := !layout.Info().Gray() && lessChroma(best, C.enum_AVPixelFormat(own))
	if less {
		e.Told.Add(fidelity.Video, "", "chroma")
	}
	rgb := astiav.PixelFormat(best).Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagRgb)
	if less || !rgb && (layout.Arrangement() == pipeline.GBRP || e.Form.Layouts != nil && layout == pipeline.RGBA) {
		e.Warn("%s takes no %s here; the output is %s", e.taker(codec), own, astiav.PixelFormat(best))
	}
	return astiav.PixelFormat(best), nil
}

// codedLayout returns the layout of frames with as many bits as are coded of them.
func (o *encoder) codedLayout(l pipeline.Layout) pipeline.Layout {
	depth := o.codedDepth(l.Info().Depth)
	planes := map[pipeline.Layout]pipeline.Layout{
		pipeline.RGBA: pipeline.GBRP, pipeline.NV12: pipeline.YUV420P, pipeline.NV16: pipeline.YUV422P, pipeline.NV24: pipeline.YUV444P,
	}
	for _, coded := range []pipeline.Layout{l.At(depth), planes[l.Arrangement()].At(depth)} {
		if coded.Valid() {
			return coded
		}
	}
	return l
}

// ofDepth returns the pixel formats with samples of a depth.
func ofDepth(all []astiav.PixelFormat, depth int) (some []astiav.PixelFormat) {
	for _, pf := range all {
		if av.Depth(pf) == depth {
			some = append(some, pf)
		}
	}
	return some
}

// ownFormat returns the pixel format that is a frame's own in the layout that is coded of it, with
// its alpha if one that is offered has alpha. Gray frames have chroma without colour where no gray
// keeps their depth as others do.
func ownFormat(f *pipeline.Frame, layout pipeline.Layout, offered []astiav.PixelFormat) astiav.PixelFormat {
	depth := layout.Info().Depth
	alpha := av.HasAlpha(f) && (len(offered) == 0 || slices.ContainsFunc(offered, hasAlpha))
	if layout.Info().Gray() {
		packed := astiav.PixelFormatYa8
		if depth > 8 {
			packed = astiav.PixelFormatYa16Le
		}
		deepest := func(match func(astiav.PixelFormat) bool) (most int) {
			for _, pf := range offered {
				if match(pf) {
					most = max(most, av.Depth(pf))
				}
			}
			return min(most, depth)
		}
		gray := func(pf astiav.PixelFormat) bool { return av.IsGray(pf) && hasAlpha(pf) == alpha }
		switch {
		case deepest(gray) < deepest(func(pf astiav.PixelFormat) bool { return hasAlpha(pf) == alpha }):
			layout = av.Colourless(layout)
		case alpha:
			return packed
		}
	}
	if pf := av.WithAlpha(layout); alpha && pf != astiav.PixelFormatNone {
		return pf
	}
	return av.PixelFormat(layout)
}

// lessChroma reports whether a pixel format has less colour than another.
func lessChroma(a, b C.enum_AVPixelFormat) bool {
	x, y := C.av_pix_fmt_desc_get(a), C.av_pix_fmt_desc_get(b)
	return x.log2_chroma_w > y.log2_chroma_w || x.log2_chroma_h > y.log2_chroma_h
}

func hasAlpha(pf astiav.PixelFormat) bool {
	return pf.Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
}
