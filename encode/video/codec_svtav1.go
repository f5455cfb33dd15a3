package video

//#include <libavcodec/avcodec.h>
import "C"

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"vidfilter/encode/spec"
)

// svtAV1 is SVT-AV1. Its result does not depend on the number of threads.
var svtAV1 = Codec{
	Name:    "libsvtav1",
	Common:  "av1",
	Aliases: []string{"av01", "svt-av1", "svtav1", "aom", "libaom", "libaom-av1"},
	Presets: strings.Fields("0 1 2 3 4 5 6 7 8 9 10 11 12 13"),
	faster:  1,
	Tunes:   strings.Fields("vq psnr ssim"),
	Preset:  "7",
	CRF:     24,
	Quality: Quality{Min: 1, Max: 63, Whole: true, About: "24 looks like the input, 35 is SVT-AV1's own, 63 is worst; whole numbers"},

	maxSide:   16384,
	minSide:   64,
	evenSides: true,
	pads:      true,
	fields:    noFields,
	ownTune:   true,
	// The list of the processors, which closing one encoder frees while another reads it.
	sharesState: true,
	formats:     map[int][]string{8: {"yuv420p"}, 10: {"yuv420p10le"}},
	configure:   configureSVTAV1,
	headers:     headersAV1,
	// All but those that set up the stream that FFmpeg describes, or need files.
	params: strings.Fields(`
		aq-mode buf-initial-sz buf-optimal-sz buf-sz chroma-u-ac-qindex-offset chroma-u-dc-qindex-offset
		chroma-v-ac-qindex-offset chroma-v-dc-qindex-offset enable-cdef enable-dg enable-dlf enable-mfmv enable-overlays
		enable-qm enable-restoration enable-tf enable-tpl-la enable-variance-boost fast-decode film-grain
		film-grain-denoise gop-constraint-rc hierarchical-levels irefresh-type key-frame-chroma-qindex-offset
		key-frame-qindex-offset keyint lookahead lp luma-y-dc-qindex-offset max-qp maxsection-pct mbr mbr-overshoot-pct
		min-qp minsection-pct overshoot-pct pin pred-struct qm-max qm-min recode-loop rmv scd scm
		startup-mg-size superres-denom superres-kf-denom superres-kf-qthres superres-mode superres-qthres tile-columns
		tile-rows tune undershoot-pct use-fixed-qindex-offsets variance-boost-strength variance-octile`),
}

// quietSVT keeps SVT-AV1 from writing to the terminal, unless the user asks for it.
var quietSVT = sync.OnceFunc(func() {
	if _, asked := os.LookupEnv("SVT_LOG"); !asked {
		_ = os.Setenv("SVT_LOG", "0")
	}
})

func configureSVTAV1(o *encoder, c *C.AVCodecContext, set func(option, value string)) {
	quietSVT()
	c.err_recognition |= C.AV_EF_EXPLODE // wrong parameters are errors
	var params []spec.Param
	if n := o.threads(); n > 0 {
		level := slices.IndexFunc([]int{1, 2, 5, 11, 23, math.MaxInt}, func(most int) bool { return n <= most })
		params = append(params, spec.Param{Name: "lp", Value: strconv.Itoa(1 + level)}) // as SVT-AV1 chooses it by the cores
	}
	if o.Tune != "" {
		params = append(params, spec.Param{Name: "tune", Value: strconv.Itoa(slices.Index(strings.Fields("vq psnr ssim"), o.Tune))})
	}
	set("svtav1-params", spec.Params(append(params, o.EncoderParams...)).String())
}

// headersAV1 returns the OBUs of a header, with or without the four bytes of av1C before them.
func headersAV1(extradata []byte) [][]byte {
	const versionAndMarker = 0x81
	if len(extradata) > 4 && extradata[0] == versionAndMarker {
		extradata = extradata[4:]
	}
	if len(extradata) == 0 {
		return nil
	}
	return [][]byte{extradata}
}
