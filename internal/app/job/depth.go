package job

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/internal/cli"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// autoDepth is the depth of --depth auto for codecs whose players take it.
const autoDepth = 10

var autoDeep = []string{"hevc", "av1"}

// depth returns the bits that --depth names, or 0.
func (o *Options) depth() int {
	n, _ := strconv.Atoi(o.Depth)
	return n
}

// leastDepth returns the least bits that --depth auto chooses, 0 if it leaves the source's.
func (o *Options) leastDepth() int {
	codec := video.CodecOf(o.Encoder)
	if o.Depth != "auto" || o.PixelFormat != "" || !slices.Contains(autoDeep, codec.Common) && !slices.Contains(autoDeep, codec.OnDevice) {
		return 0
	}
	return autoDepth
}

// checkDepth: a pixel format has a depth, too.
func (o *Options) checkDepth() error {
	n := av.Depth(astiav.FindPixelFormatByName(o.PixelFormat))
	if o.depth() > 0 && n > 0 && n != o.depth() {
		return cli.Usagef("give one of them", "--depth %s and --pixel-format %s, which has %d bits, exclude each other", o.Depth, o.PixelFormat, n)
	}
	return nil
}

// deepens reports whether frames get more bits for the filters, which the output does not have: a
// filter before the denoiser changes all samples, and rounding them to 8 bits would be noise. A
// user's graph chooses bits itself.
func (o *Options) deepens() bool {
	_, denoises := first[kernels.Denoise](o.filters())
	steadies := false
	for _, s := range o.filters() {
		switch s.Filter().Place {
		case kernels.PlaceBefore, kernels.PlaceAfter:
			return false
		case kernels.PlaceDeflicker:
			steadies = true
		}
	}
	return steadies && denoises
}

// filteredDepth returns the bits that the samples of frames get before the filter. The denoiser's
// results have as many as the encoder needs, by a shift: where the largest sample is white, frames
// get them first. Other filters have as many as their frames. Where bits are lost afterwards,
// results of most bits are rounded once.
func (o *Options) filteredDepth(f pipeline.Format) int {
	const most, between = 16, 12
	has, want := f.Layout.Info().Depth, max(o.depth(), o.leastDepth())
	ends := f.FullRange || f.Layout.Info().RGB
	_, denoises := first[kernels.Denoise](o.filters())
	least := has
	if o.deepens() {
		least = max(has, between)
	}
	switch {
	case denoises && ends:
		return max(least, video.ResultDepth(o.encodeOptions(nil), has))
	case denoises:
		return least
	case want == 0, o.passes() && want < has:
		return has
	case o.depth() > 0 && o.depth() < has:
		return most
	}
	return max(has, want)
}

// sourceDepth returns the bits of the input's samples.
func (j *job) sourceDepth() int { return av.Depth(j.in.Video().CodecParameters().PixelFormat()) }

// settleDepth has --depth auto keep the source's depth where NVENC has no more, and says what it
// chooses.
func (j *job) settleDepth() {
	has, least := max(j.sourceDepth(), 8), j.o.leastDepth()
	if least <= has {
		return
	}
	codec := video.CodecOf(j.o.Encoder)
	text := fmt.Sprintf("the output has %d bits a sample, which players of %s take (--depth %d keeps the source's)", least, strings.ToUpper(cmp.Or(codec.OnDevice, codec.Common)), has)
	if j.encoding != nil {
		width, height := j.outputSize()
		if err := j.encoding.Supports(codec.OnDevice, pipeline.YUV420P.At(least), width, height); err != nil {
			o := *j.o
			o.Depth, j.o = "source", &o
			text = fmt.Sprintf("the output has the source's %d bits: %v", has, err)
		}
	}
	if j.o.Part == nil && j.o.Join == "" {
		j.ui.Info(text)
	}
}
