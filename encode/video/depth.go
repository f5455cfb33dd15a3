package video

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/spec"
	"vidfilter/internal/av"
)

// bits is the depth of the samples of a format without frames.
const bits = 8

// offered lists the pixel formats for frames of a depth: those of the encoder and its preset that
// keep it, else those of the depth nearest to it. nil: any.
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

// codedDepth returns how many bits are coded of samples with so many, as far as options say it.
func (o *encoder) codedDepth(has int) int { return max(cmp.Or(o.Depth, has), o.LeastDepth) }

// ResultDepth returns how many bits the samples of a filter's results need, of a source with so
// many, for the encoder to get all that it codes: more than the source has if they are asked for,
// or if the encoder takes no fewer. Where fewer are asked for, results of most bits are rounded
// once.
func ResultDepth(o spec.Options, source int) int {
	return newEncoder(o).resultDepth(source)
}

func (o *encoder) resultDepth(source int) int {
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

// bitsOf describes depths.
func bitsOf(depths []int) string {
	words := make([]string, len(depths))
	for i, d := range depths {
		words[i] = strconv.Itoa(d)
	}
	return strings.Join(words, ", ") + " bits"
}

// depths lists the bits of samples that an encoder codes with a preset; none: any.
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

// taker names what limits the pixel formats.
func (o *encoder) taker(codec *astiav.Codec) string {
	if o.Form.Layouts != nil {
		return o.Format
	}
	return "the encoder " + codec.Name()
}

// namedFormat returns the format of --pixel-format for a picture of this size.
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
