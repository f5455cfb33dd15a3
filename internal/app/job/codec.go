package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/asticode/go-astiav"
	"github.com/spf13/pflag"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// deepCodec is the default for sources of more than 8 bits, and for HDR.
var deepCodec, _ = video.CodecNamed("hevc")

// fitCodec chooses another codec of the format if the default one does not take pictures of the
// source's size, and reports it.
func (j *job) fitCodec() {
	width, height := j.outputSize()
	if j.o.ownCodec || formats.Of(j.o.Format).Family == formats.Picture || video.CodecOf(j.o.Encoder).Takes(width, height) {
		return
	}
	names := video.Fitting(j.o.encodeOptions(nil), width, height)
	if len(names) == 0 {
		return // the output refuses it, with advice
	}
	o := *j.o
	codec, _ := video.CodecNamed(names[0])
	j.ui.Info(fmt.Sprintf("the encoder %s does not take pictures of %dx%d: the output is %s", o.Encoder, width, height, strings.ToUpper(codec.Common)))
	o.Encoder, o.Preset, o.CRF = codec.Name, codec.Preset, codec.CRF
	j.o = &o
}

// leavesCodec reports whether the options leave the codec to the source: no codec is named, and no
// option is meant for H.264 alone.
func (o *Options) leavesCodec(fs *pflag.FlagSet) bool {
	if given(fs, namesCodec) {
		return false
	}
	deep := o.deepCodec()
	for _, tune := range splitTune(o.Tune) {
		if !slices.Contains(deep.Tunes, tune) {
			return false
		}
	}
	codec := video.CodecOf(o.Encoder)
	return codec.Name == spec.DefaultEncoder || codec.OnDevice == DefaultCodec.Common
}

func (o *Options) deepCodec() video.Codec {
	if deep, ok := video.CodecOnDevice(deepCodec); ok && o.usesNVENC() {
		return deep
	}
	return deepCodec
}

// settleCodec chooses HEVC for a progressive video of more than 8 bits or in HDR, which few players
// take in H.264, and reports it.
func (j *job) settleCodec() {
	j.fitCodec()
	source := j.in.Video().CodecParameters()
	pf, hdr := source.PixelFormat(), transfersHDR[source.ColorTransferCharacteristic()]
	asked := j.o.depth()
	depth := cmp.Or(asked, j.to.depth, av.Depth(pf))
	if j.to.hdr {
		hdr = ""
	}
	// Our HEVC has no fields.
	if !j.o.openCodec || j.in.Interlaced() && !j.to.progressive || j.late != nil || depth <= 8 && hdr == "" || formats.Of(j.o.Format).Family == formats.Picture {
		return
	}
	o := *j.o
	j.undecided = j.o
	deep := o.deepCodec()
	if !deep.Takes(j.outputSize()) {
		return
	}
	o.Encoder = deep.Name
	if !o.ownCRF {
		o.CRF = deep.CRF
	}
	if depth <= 8 && asked == 0 { // bands of HDR are wide
		o.PixelFormat = deeper(pf, j.to.width, j.to.height)
	}
	j.o = &o
	if o.Part == nil && o.Join == "" {
		what := fmt.Sprintf("the source has %d bits", depth)
		if asked > 0 {
			what = fmt.Sprintf("--depth %d", asked)
		}
		if hdr != "" {
			what += " in " + hdr
		}
		j.ui.Info(what + ": the output is HEVC (--codec h264 writes H.264, which fewer players take)")
	}
}

// transfersHDR are the transfers of HDR.
var transfersHDR = map[astiav.ColorTransferCharacteristic]string{
	astiav.ColorTransferCharacteristicSmpte2084:  "PQ",
	astiav.ColorTransferCharacteristicAribStdB67: "HLG",
}

// deeper names the pixel format with 10 bits of one with 8; "" leaves it to the encoder.
func deeper(pf astiav.PixelFormat, width, height int) string {
	l, _ := av.NearestLayout(pf, pipeline.Layout.Valid)
	info := l.At(10).Info()
	if info.Name == "" || width&(1<<info.SubX-1) != 0 || height&(1<<info.SubY-1) != 0 {
		return ""
	}
	return info.Name
}
