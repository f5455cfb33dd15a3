package video

//#include <libavcodec/avcodec.h>
//#include <libavutil/pixdesc.h>
import "C"

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

type codedFormat struct {
	pixelFormat astiav.PixelFormat
	format      pipeline.Format // matrix and range, without the layout
	isYUV       bool
}

// codedFormat chooses the pixel format: the frames' own if the encoder takes it, else the one
// that loses least.
func (e *encoder) codedFormat(codec *astiav.Codec, f *pipeline.Frame) (codedFormat, error) {
	want, err := e.wantedFormat(codec, f)
	if err != nil {
		return codedFormat{}, err
	}
	if has, gets := e.knownDepth(av.Depth(av.PixelFormat(f.Layout))), av.Depth(want); gets < has && e.PixelFormat == "" && e.Depth == 0 {
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
		exact := slices.DeleteFunc(slices.Clone(offered), func(pf astiav.PixelFormat) bool { return av.Depth(pf) != e.Depth })
		if len(exact) > 0 {
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
	alpha := map[bool]C.int{true: 1}[f.Video.Alpha || av.HasAlpha(f)]
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

// ownFormat returns a frame's own pixel format in a layout, with alpha if it is offered. Gray gets
// chroma without colour where no gray format keeps the depth.
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

func lessChroma(a, b C.enum_AVPixelFormat) bool {
	x, y := C.av_pix_fmt_desc_get(a), C.av_pix_fmt_desc_get(b)
	return x.log2_chroma_w > y.log2_chroma_w || x.log2_chroma_h > y.log2_chroma_h
}

func hasAlpha(pf astiav.PixelFormat) bool {
	return pf.Descriptor().Flags().Has(astiav.PixelFormatDescriptorFlagAlpha)
}

// bits is the depth of the samples of a format without frames.
const bits = 8

// offered lists the pixel formats that keep a depth, or else the nearest depth. nil: any.
func (o *encoder) offered(codec *astiav.Codec, depth int) []astiav.PixelFormat {
	all := codec.PixelFormats()
	about := o.about
	given := about.formats
	if layouts := o.Form.Layouts; given == nil && layouts != nil {
		given = map[int][]string{}
		for _, name := range layouts {
			d := av.Depth(astiav.FindPixelFormatByName(name))
			given[d] = append(given[d], name)
		}
	}
	if given == nil {
		return all
	}
	only := about.presetFormats[o.Preset]
	var best []astiav.PixelFormat
	most := 0
	for _, d := range slices.Sorted(maps.Keys(given)) {
		var list []astiav.PixelFormat
		for _, name := range given[d] {
			pf := astiav.FindPixelFormatByName(name)
			if (only == nil || slices.Contains(only, name)) && (about.OnDevice != "" || len(all) == 0 || slices.Contains(all, pf)) {
				list = append(list, pf)
			}
		}
		if len(list) > 0 && most < depth {
			best, most = list, d
		}
	}
	return best
}

// codedDepth returns the bits that are coded of samples of a depth, if options state it.
func (o *encoder) codedDepth(has int) int {
	return max(cmp.Or(o.Depth, o.knownDepth(has)), o.LeastDepth)
}

// knownDepth returns how many bits count as known, of samples with has bits.
func (o *encoder) knownDepth(has int) int { return min(has, max(cmp.Or(o.SourceDepth, has), bits)) }

// ResultDepth returns how many bits the samples of a filter's results need, of a source of a depth,
// for the encoder to get all that it codes: more than the source has if they are asked for, or if
// the encoder takes no fewer. Where fewer are asked for, results of most bits are rounded once.
func ResultDepth(options spec.Options, source int) int {
	o := newEncoder(options)
	const most = 16
	source = max(source, bits)
	asked := o.codedDepth(source)
	if o.PixelFormat != "" {
		asked = av.Depth(astiav.FindPixelFormatByName(o.PixelFormat))
	}
	switch {
	case asked < source:
		return most
	case asked > source || o.PixelFormat != "":
		return asked
	case o.EncoderParams.Value("profile") == "main10":
		return 10
	}
	codec, err := findEncoder(o.about.Name)
	if err != nil {
		return bits
	}
	least := 0
	for _, pf := range o.offered(codec, bits) {
		if depth := av.Depth(pf); least == 0 || depth < least {
			least = depth
		}
	}
	return max(least, bits)
}

// checkDepth refuses bits that the encoder does not code with its preset.
func (o *encoder) checkDepth(codec *astiav.Codec) error {
	want := max(o.Depth, o.LeastDepth)
	has := o.depths(codec, o.Preset)
	switch {
	case want == 0 || len(has) == 0 || slices.Contains(has, want):
		return nil
	case o.about.presetFormats == nil:
		return misused("it codes "+bitsOf(has), "the encoder %s does not code samples of %d bits", codec.Name(), want)
	}
	var presets []string
	for _, p := range o.about.Presets {
		if slices.Contains(o.depths(codec, p), want) {
			presets = append(presets, p)
		}
	}
	hint := "it codes " + bitsOf(has)
	if len(presets) > 0 {
		hint = fmt.Sprintf("it codes %s; --preset %s has %d", bitsOf(has), strings.Join(presets, " or "), want)
	}
	return misused(hint, "the encoder %s with --preset %s does not code samples of %d bits", codec.Name(), o.Preset, want)
}

func bitsOf(depths []int) string {
	words := make([]string, len(depths))
	for i, d := range depths {
		words[i] = strconv.Itoa(d)
	}
	return strings.Join(words, ", ") + " bits"
}

// depths lists the bits of samples that an encoder codes with a preset; empty: any.
func (o *encoder) depths(codec *astiav.Codec, preset string) (all []int) {
	list := codec.PixelFormats()
	if about := o.about; about.formats != nil {
		list = nil
		for _, name := range slices.Concat(slices.Collect(maps.Values(about.formats))...) {
			pf := astiav.FindPixelFormatByName(name)
			if only := about.presetFormats[preset]; (only == nil || slices.Contains(only, name)) && (about.OnDevice != "" || slices.Contains(codec.PixelFormats(), pf)) {
				list = append(list, pf)
			}
		}
	}
	for _, pf := range list {
		if d := av.Depth(pf); d >= 8 && d <= 16 && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	slices.Sort(all)
	return all
}

// takes reports whether the encoder and its preset take a pixel format of any depth.
func (o *encoder) takes(codec *astiav.Codec, pf astiav.PixelFormat) bool {
	all := codec.PixelFormats()
	about := o.about
	if about.OnDevice != "" { // which FFmpeg's list is not about
		return slices.ContainsFunc(slices.Collect(maps.Values(about.formats)), func(some []string) bool { return slices.Contains(some, pf.Name()) })
	}
	if layouts := o.Form.Layouts; layouts != nil && !slices.Contains(layouts, pf.Name()) {
		return false
	}
	only := about.presetFormats[o.Preset]
	return (len(all) == 0 || slices.Contains(all, pf)) && (only == nil || slices.Contains(only, pf.Name()))
}

func (o *encoder) taker(codec *astiav.Codec) string {
	if o.Form.Layouts != nil {
		return o.Format
	}
	return "the encoder " + codec.Name()
}

func (o *encoder) namedFormat(codec *astiav.Codec, width, height int) (astiav.PixelFormat, error) {
	pf := astiav.FindPixelFormatByName(o.PixelFormat)
	switch {
	case pf == astiav.PixelFormatNone:
		return pf, misused("for example yuv420p, yuv422p, yuv444p", "unknown pixel format %q", o.PixelFormat)
	case !o.takes(codec, pf):
		return pf, misused("leave --pixel-format out", "%s does not take %s", o.taker(codec), pf)
	case odd(width, height, pf) && !o.about.pads:
		return pf, misused("use yuv444p", "%dx%d cannot be coded as %s: its sides must be even", width, height, pf)
	}
	return pf, nil
}
