package encode

//#include <libavcodec/avcodec.h>
//#include <libavformat/avformat.h>
//#include <libavutil/opt.h>
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/internal/av"
	"vidfilter/internal/text"
	"vidfilter/pipeline"
)

// Check reports whether an output can be made with these options, as far as that does not depend
// on the input: the encoder exists and takes its options, and the format holds its video. It opens
// the encoder for a small picture, and no file. It reads FFmpeg's log, so no other work of FFmpeg
// may run beside it. Its errors wrap ErrOption.
func Check(o Options) error {
	codec, err := findEncoder(o.codec().Name)
	if err != nil {
		return err
	}
	if err := o.checkDepth(codec); err != nil {
		return err
	}
	if o.format().Family == formats.Picture {
		return nil // its one encoder has no other options
	}
	if contradiction := o.codec().contradiction; contradiction != nil {
		if err := contradiction(&o); err != nil {
			return err
		}
	}
	enc := astiav.AllocCodecContext(codec)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	defer freeEncoder(enc)
	said := av.Overhear(astiav.LogLevelError, func() { err = o.try(enc, codec) })
	if refused, ok := errors.AsType[*encoderError](err); ok {
		refused.said, refused.picture = said, ""
	}
	if err != nil {
		return err
	}
	if of := o.codec().OnDevice; of != "" { // its headers come with its device: those of another will do
		return o.checkFormatOf(codec, of)
	}
	return o.checkFormat(codec, enc)
}

// checkFormatOf is checkFormat with the encoder that codes the same on the CPU, by its common name.
func (o *Options) checkFormatOf(codec *astiav.Codec, common string) error {
	about, _ := CodecNamed(common)
	other := Options{Encoder: about.Name, Preset: about.Preset, CRF: about.CRF}
	stand, err := findEncoder(about.Name)
	if err != nil {
		return err
	}
	enc := astiav.AllocCodecContext(stand)
	if enc == nil {
		return errors.New("encode: out of memory")
	}
	defer freeEncoder(enc)
	if err := other.try(enc, stand); err != nil {
		return err
	}
	return o.checkFormat(codec, enc)
}

func (o *Options) try(enc *astiav.CodecContext, codec *astiav.Codec) error {
	const side = 256 // no encoder needs more
	pf := astiav.PixelFormatYuv420P
	if o.PixelFormat != "" {
		var err error
		if pf, err = o.namedFormat(codec, side, side); err != nil {
			return err
		}
	} else if offered := o.offered(codec, o.codedDepth(bits)); len(offered) > 0 && !slices.Contains(offered, pf) {
		pf = offered[0]
	}
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	enc.SetWidth(side)
	enc.SetHeight(side)
	enc.SetPixelFormat(pf)
	enc.SetTimeBase(astiav.NewRational(1, 25))
	enc.SetThreadCount(1)
	if o.codec().fullRange {
		c.color_range = C.AVCOL_RANGE_JPEG
	}
	c.flags |= C.AV_CODEC_FLAG_GLOBAL_HEADER
	if o.codec().OnDevice != "" {
		return o.tryOptions(c, codec)
	}
	return o.open(enc, codec)
}

// tryOptions gives the options to an encoder that cannot be opened here, for want of its device.
func (o *Options) tryOptions(c *C.AVCodecContext, codec *astiav.Codec) error {
	dict := o.dictionary(c)
	defer dict.Free()
	var e *astiav.DictionaryEntry
	for {
		if e = dict.Get("", e, astiav.NewDictionaryFlags(astiav.DictionaryFlagIgnoreSuffix)); e == nil {
			return nil
		}
		key, value := C.CString(e.Key()), C.CString(e.Value())
		code := C.av_opt_set(unsafe.Pointer(c), key, value, C.AV_OPT_SEARCH_CHILDREN)
		C.free(unsafe.Pointer(key))
		C.free(unsafe.Pointer(value))
		switch {
		case code == C.AVERROR_OPTION_NOT_FOUND:
			return lacksOption(codec, e.Key())
		case code < 0:
			return &encoderError{codec.Name(), "", av.Error(int(code)), nil}
		}
	}
}

func lacksOption(codec *astiav.Codec, name string) error {
	return misused("leave it out; it is an option of other encoders", "the encoder %s has no option --%s", codec.Name(), name)
}

// checkFormat asks the muxer whether it takes the encoder's video.
func (o *Options) checkFormat(codec *astiav.Codec, enc *astiav.CodecContext) error {
	if o.format().Family == formats.None || formatHolds(o.format(), enc) {
		return nil
	}
	var others []string
	for _, f := range formats.All {
		if f.Video() && formatHolds(f, enc) {
			others = append(others, f.Endings[0])
		}
	}
	hint := "choose another --codec"
	if len(others) > 0 {
		hint = "write " + strings.Join(others, " or ") + ", or choose another --codec"
	}
	return misused(hint, "%s cannot hold the video of the encoder %s", o.Format, codec.Name())
}

func formatHolds(f formats.Format, enc *astiav.CodecContext) bool {
	name := C.CString(f.Muxer())
	defer C.free(unsafe.Pointer(name))
	var fc *C.AVFormatContext
	if C.avformat_alloc_output_context2(&fc, nil, name, nil) < 0 {
		return false
	}
	defer C.avformat_free_context(fc)
	st := C.avformat_new_stream(fc, nil)
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	if st == nil || C.avcodec_parameters_from_context(st.codecpar, c) < 0 {
		return false
	}
	st.time_base = c.time_base
	st.avg_frame_rate = C.AVRational{25, 1}
	return muxes(fc.oformat, f, st, st.codecpar.codec_tag)
}

// findEncoder returns a video encoder of this build.
func findEncoder(name string) (*astiav.Codec, error) {
	videos := videoEncoders()
	if slices.Contains(videos, name) {
		return astiav.FindEncoderByName(name), nil
	}
	hint := DefaultEncoder + " is the default; this build has " + strings.Join(videos, " ")
	if strings.HasPrefix(name, "nvenc") {
		hint = "did you mean --codec hevc --hwaccel nvenc? NVENC's encoders are h264_nvenc, hevc_nvenc and av1_nvenc"
	} else if of := encoderOf(name); slices.Contains(videos, of) {
		hint = fmt.Sprintf("that is a codec; its encoder is %s", of)
	} else if near := text.Closest(name, videos); near != "" {
		hint = fmt.Sprintf("did you mean %s?", near)
	}
	if astiav.FindEncoderByName(name) != nil {
		return nil, misused(hint, "the encoder %q is not for video", name)
	}
	return nil, misused(hint, "this build has no encoder %q", name)
}

func videoEncoders() (names []string) {
	var state unsafe.Pointer
	for c := C.av_codec_iterate(&state); c != nil; c = C.av_codec_iterate(&state) {
		if c._type == C.AVMEDIA_TYPE_VIDEO && C.av_codec_is_encoder(c) != 0 {
			names = append(names, C.GoString(c.name))
		}
	}
	return names
}

// encoderOf returns the encoder of a codec, or "".
func encoderOf(codec string) string {
	d := codecNamed(codec)
	if d == nil {
		return ""
	}
	if e := C.avcodec_find_encoder(d.id); e != nil {
		return C.GoString(e.name)
	}
	return ""
}

// bits is the depth of the samples of a format without frames.
const bits = 8

// offered lists the pixel formats for frames of a depth: those of the encoder and its preset that
// keep it, else those of the depth nearest to it. nil: any.
func (o *Options) offered(codec *astiav.Codec, depth int) []astiav.PixelFormat {
	all := codec.PixelFormats()
	about := o.codec()
	given := about.formats
	if layouts := o.format().Layouts; given == nil && layouts != nil {
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
func (o *Options) codedDepth(has int) int { return max(cmp.Or(o.Depth, has), o.LeastDepth) }

// ResultDepth returns how many bits the samples of a filter's results need, of a source with so
// many, for the encoder to get all that it codes: more than the source has if they are asked for,
// or if the encoder takes no fewer. Where fewer are asked for, results of most bits are rounded
// once.
func (o *Options) ResultDepth(source int) int {
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
	case o.EncoderParams.value("profile") == "main10":
		return 10
	}
	codec, err := findEncoder(o.codec().Name)
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
func (o *Options) checkDepth(codec *astiav.Codec) error {
	want := max(o.Depth, o.LeastDepth)
	has := o.depths(codec, o.Preset)
	switch {
	case want == 0 || len(has) == 0 || slices.Contains(has, want):
		return nil
	case o.codec().presetFormats == nil:
		return misused("it codes "+bitsOf(has), "the encoder %s does not code samples of %d bits", codec.Name(), want)
	}
	var presets []string
	for _, p := range o.codec().Presets {
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
func (o *Options) depths(codec *astiav.Codec, preset string) (all []int) {
	list := codec.PixelFormats()
	if about := o.codec(); about.formats != nil {
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
func (o *Options) takes(codec *astiav.Codec, pf astiav.PixelFormat) bool {
	all := codec.PixelFormats()
	about := o.codec()
	if about.OnDevice != "" { // which FFmpeg's list is not about
		return slices.ContainsFunc(slices.Collect(maps.Values(about.formats)), func(some []string) bool { return slices.Contains(some, pf.Name()) })
	}
	if layouts := o.format().Layouts; layouts != nil && !slices.Contains(layouts, pf.Name()) {
		return false
	}
	only := about.presetFormats[o.Preset]
	return (len(all) == 0 || slices.Contains(all, pf)) && (only == nil || slices.Contains(only, pf.Name()))
}

// taker names what limits the pixel formats.
func (o *Options) taker(codec *astiav.Codec) string {
	if o.format().Layouts != nil {
		return o.Format
	}
	return "the encoder " + codec.Name()
}

// namedFormat returns the format of --pixel-format for a picture of this size.
func (o *Options) namedFormat(codec *astiav.Codec, width, height int) (astiav.PixelFormat, error) {
	pf := astiav.FindPixelFormatByName(o.PixelFormat)
	switch {
	case pf == astiav.PixelFormatNone:
		return pf, misused("for example yuv420p, yuv422p, yuv444p", "unknown pixel format %q", o.PixelFormat)
	case !o.takes(codec, pf):
		return pf, misused("leave --pixel-format out", "%s does not take %s", o.taker(codec), pf)
	case odd(width, height, pf) && !o.codec().pads:
		return pf, misused("use yuv444p", "%dx%d cannot be coded as %s: its sides must be even", width, height, pf)
	}
	return pf, nil
}

// Fits reports whether a picture of this size can be encoded with the output's options.
func (e *coder) Fits(width, height int) error {
	about := e.opts.codec()
	codec, err := findEncoder(about.Name)
	if err != nil {
		return err
	}
	if !about.Takes(width, height) {
		return e.misfit(width, height)
	}
	if e.opts.PixelFormat != "" {
		_, err = e.opts.namedFormat(codec, width, height)
	}
	if err == nil && about.OnDevice != "" && e.opts.Device != nil {
		return e.opts.Device.Supports(about.OnDevice, pipeline.YUV420P, width, height)
	}
	return err
}

// misfit says why an encoder does not take pictures of a size, and which one does.
func (e *coder) misfit(width, height int) error {
	about := e.opts.codec()
	advice := "write .mkv, with --codec ffv1"
	if others := e.opts.Fitting(width, height); len(others) > 0 {
		advice = "--codec " + strings.Join(others, " or ") + " takes it"
	}
	why := "its sides must be even"
	switch most, least := about.maxSide, about.minSide; {
	case most > 0 && max(width, height) > most:
		why = fmt.Sprintf("sides are at most %d", most)
	case min(width, height) < least || width < about.minWidth:
		why = fmt.Sprintf("pictures are at least %dx%d", max(least, about.minWidth), least)
	}
	return target.Refusal(advice, "%s cannot encode %dx%d: %s", about.Name, width, height, why)
}

// Fitting lists the codecs of the output's format that take pictures of a size, by their common
// names.
func (o *Options) Fitting(width, height int) (names []string) {
	for _, c := range codecs {
		if c.Common == "" || c.OnDevice != "" || !c.Takes(width, height) {
			continue
		}
		if o.holdsVideoOf(c) {
			names = append(names, c.Common)
		}
	}
	return names
}

// holdsVideoOf reports whether the output's format holds what an encoder codes.
func (o *Options) holdsVideoOf(c Codec) bool {
	other := Options{Format: o.Format, Encoder: c.Name, Preset: c.Preset, CRF: c.CRF}
	encoder, err := findEncoder(c.Name)
	if err != nil {
		return false
	}
	enc := astiav.AllocCodecContext(encoder)
	if enc == nil {
		return false
	}
	defer freeEncoder(enc)
	return other.try(enc, encoder) == nil && formatHolds(o.format(), enc)
}

// open opens an encoder, whose picture is set up, with the user's options.
func (o *Options) open(enc *astiav.CodecContext, codec *astiav.Codec) error {
	dict := o.dictionary((*C.AVCodecContext)(enc.UnsafePointer()))
	defer dict.Free()
	if err := alone(codec.Name(), func() error { return enc.Open(codec, dict) }); err != nil {
		picture := fmt.Sprintf(" for %dx%d %s", enc.Width(), enc.Height(), enc.PixelFormat())
		if short := av.OfShortage(err, fmt.Errorf("open the encoder %s%s: %w", codec.Name(), picture, err)); short != nil && o.codec().OnDevice == "" {
			return short
		}
		return &encoderError{codec.Name(), picture, err, nil}
	}
	if e := dict.Get("", nil, astiav.NewDictionaryFlags(astiav.DictionaryFlagIgnoreSuffix)); e != nil {
		return lacksOption(codec, e.Key())
	}
	return nil
}

// dictionary returns the options in the encoder's own terms. Opening the encoder leaves unknown
// ones in the dictionary.
func (o *Options) dictionary(c *C.AVCodecContext) *astiav.Dictionary {
	d := astiav.NewDictionary()
	set := func(option, value string) {
		if value != "" {
			_ = d.Set(option, value, 0)
		}
	}
	codec := o.codec()
	if o.format().Family != formats.Picture {
		o.setCommon(codec, c, set)
	}
	if codec.configure != nil {
		codec.configure(o, c, set)
	}
	return d
}

func (o *Options) setCommon(codec Codec, c *C.AVCodecContext, set func(option, value string)) {
	if o.GOP > 0 {
		c.gop_size = C.int(o.GOP)
	}
	if !codec.ownPreset {
		set(cmp.Or(codec.preset, "preset"), o.Preset)
	}
	if !codec.ownTune {
		set("tune", o.Tune)
	}
	set("x264-params", o.Params.String())
	if o.Bitrate > 0 {
		c.bit_rate = C.int64_t(o.Bitrate)
	} else if o.CRF >= 0 {
		set(cmp.Or(codec.quality, "crf"), strconv.FormatFloat(o.CRF, 'f', -1, 64))
	}
}

// encoderError says that an encoder refuses its options. It wraps ErrOption.
type encoderError struct {
	name, picture string
	err           error
	said          []string // the encoder's own messages
}

func (e *encoderError) Error() string {
	why := e.err.Error()
	if len(e.said) > 0 {
		why = e.said[0]
	}
	return fmt.Sprintf("the encoder %s does not take these options%s: %s", e.name, e.picture, why)
}

func (e *encoderError) Hint() string    { return "leave out the options of the encoder, or change them" }
func (e *encoderError) Unwrap() []error { return []error{ErrOption, e.err} }

// muxes reports whether a muxer takes a stream so that readers find it again.
func muxes(muxer *C.AVOutputFormat, f formats.Format, st *C.AVStream, tag C.uint32_t) bool {
	known := f.Codecs == nil || slices.Contains(f.Codecs, C.GoString(C.avcodec_get_name(st.codecpar.codec_id)))
	return known && C.vf_can_mux(muxer, st, tag) != 0
}
