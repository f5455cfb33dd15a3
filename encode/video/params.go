package video

//#cgo pkg-config: x264
//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"vidfilter/encode/spec"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

// ParseParams reads NAME=VALUE:NAME=VALUE, parameters by the encoder's own names. It takes those
// that are listed, since others may open files.
func (c Codec) ParseParams(s string) (spec.Params, error) {
	switch {
	case c.Name == spec.X264:
		return ParseX264(s)
	case s != "" && len(c.params) == 0:
		return nil, misused("leave it out", "the encoder %s has no option --encoder-params", c.Name)
	}
	return parse(s, "--encoder-params", "as NAME=VALUE:NAME=VALUE", c.allow)
}

// parse refuses FFmpeg's quotes and escapes, so that FFmpeg finds the same parameters.
func parse(s, option, example string, allow func(name, value string, given bool) error) (all spec.Params, err error) {
	if s == "" {
		return nil, nil
	}
	if i := strings.IndexAny(s, "\\'\" \t\r\n\v\f"); i >= 0 {
		return nil, misused(example, "%s cannot hold %q", option, s[i])
	}
	for part := range strings.SplitSeq(s, ":") {
		name, value, given := strings.Cut(part, "=")
		if err := allow(name, value, given); err != nil {
			return nil, err
		}
		all = append(all, spec.Param{Name: name, Value: value})
	}
	return all, nil
}

func (c Codec) allow(name, value string, given bool) error {
	names := make([]string, len(c.params))
	for i, p := range c.params {
		names[i], _, _ = strings.Cut(p, "=")
	}
	at := slices.Index(names, name)
	switch {
	case at < 0:
		advice := "known are " + strings.Join(names, " ")
		if near := text.Closest(name, names); near != "" {
			advice = fmt.Sprintf("did you mean %q? %s", near, advice)
		}
		return misused(advice, "%s has no parameter %q that vidfilter allows", c.Name, name)
	case !given || value == "":
		return misused(fmt.Sprintf("%s=VALUE; a switch is %[1]s=1 or %[1]s=0", name), "parameter %q of %s needs a value", name, c.Name)
	}
	if _, list, limited := strings.Cut(c.params[at], "="); limited && !slices.Contains(strings.Split(list, "|"), value) {
		return misused("choose from "+strings.ReplaceAll(list, "|", ", "), "parameter %q of %s does not take %q", name, c.Name, value)
	}
	if c.check != nil {
		return c.check(name, value)
	}
	return nil
}

// x264Allowed lists x264's documented parameters but those that open files.
var x264Allowed = strings.Fields(`
	8x8dct alternative-transfer analyse annexb aq-mode aq-strength asm aud avcintra-class avcintra-flavor b-adapt b-bias
	b-pyramid bff bframes bitrate bluray-compat cabac cabac-idc chroma-me chroma-qp-offset chromaloc cll colormatrix
	colorprim constrained-intra cplx-blur cplxblur cpu-independent cqm cqm4 cqm4i cqm4ic cqm4iy cqm4p cqm4pc cqm4py cqm8
	cqm8i cqm8p crf crf-max crop-rect dct-decimate deadzone-inter deadzone-intra deblock deterministic direct direct-pred
	dpb-size fake-interlaced fast-pskip filler filter force-cfr fps frame-packing frameref fullrange global-header
	interlaced intra-refresh ip-factor ipratio keyint keyint-min level level-idc log lookahead-threads
	mastering-display mbtree me me-range merange min-keyint mixed-refs mv-range mv-range-thread mvrange mvrange-thread
	n-deterministic nal-hrd nf nr open-gop overscan partitions pb-factor pbratio pic-struct psnr psy psy-rd qblur qcomp
	qp qp-max qp-min qp-step qpmax qpmin qpstep ratetol rc-lookahead ref repeat-headers sar scenecut
	slice-max-mbs slice-max-size slice-min-mbs sliced-threads slices slices-max sps-id ssim stitchable subme subq
	sync-lookahead tff threads transfer trellis vbv-bufsize vbv-init vbv-maxrate videoformat weight-b weightb weightp
	zones`)

var x264Files = map[string]string{
	"cqmfile":       "reads a file",
	"dump-yuv":      "writes a file",
	"opencl":        "writes a file",
	"opencl-clbin":  "writes a file",
	"opencl-device": "is for OpenCL, which writes a file",
	"pass":          "reads and writes a file",
	"stats":         "writes a file",
}

// ParseX264 reads NAME=VALUE:NAME=VALUE, and has x264 check each.
func ParseX264(s string) (spec.Params, error) {
	return parse(s, "--x264-params", "as aq-mode=3:deblock=-1,-1, with commas inside a value", func(name, value string, given bool) error {
		if err := allowX264(name); err != nil {
			return err
		}
		if !given || value == "" {
			return misused(fmt.Sprintf("%s=VALUE; a switch is %[1]s=1 or %[1]s=0", name), "x264 parameter %q needs a value", name)
		}
		return checkX264(spec.Param{Name: name, Value: value})
	})
}

// x264Names returns the names that x264 may look up: it reads "_" as "-", and "no-" as off.
func x264Names(name string) []string {
	plain := strings.ReplaceAll(name, "_", "-")
	names := []string{name, plain}
	if after, ok := strings.CutPrefix(plain, "no"); ok {
		names = append(names, strings.TrimPrefix(after, "-"))
	}
	return names
}

func allowX264(name string) error {
	names := x264Names(name)
	for _, n := range names {
		if what := x264Files[strings.ToLower(n)]; what != "" {
			return misused("leave it out", "x264 parameter %q %s; vidfilter does not allow it", name, what)
		}
	}
	if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(x264Allowed, n) }) {
		return nil
	}
	if near := text.Closest(names[1], x264Allowed); near != "" {
		return misused(fmt.Sprintf("did you mean %q?", near), "unknown x264 parameter %q", name)
	}
	return misused("as aq-mode=3:bframes=2; x264 --fullhelp lists the names", "unknown x264 parameter %q", name)
}

func checkX264(p spec.Param) error {
	switch p.Name {
	case "zones":
		return checkZones(p.Value)
	case "cqm": // anything else names a file
		if p.Value != "flat" && p.Value != "jvt" {
			return misused("flat or jvt; cqm4 and cqm8 take numbers", "x264 parameter \"cqm\": %q names a file, and vidfilter does not allow it", p.Value)
		}
	}
	name, value := C.CString(p.Name), C.CString(p.Value)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(value))
	switch n := C.vf_x264_param(name, value); {
	case n == -1:
		return misused("leave it out", "this build's x264 has no parameter %q", p.Name)
	case n < 0:
		return misused("x264 --fullhelp lists its values", "x264 parameter %q does not take %q", p.Name, p.Value)
	case n > 0:
		return misused("leave it out", "x264 parameter %q opens a file; vidfilter does not allow it", p.Name)
	}
	return nil
}

var zoneForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{1,9},\d{1,9}(?:,q=\d{1,2}|,b=\d{1,4}(?:\.\d{1,6})?)?((?:,[a-z0-9_-]+=[^,=/]+)*)$`)
})

// checkZones reads START,END,q=N,NAME=VALUE,.../..., with x264's parameters.
func checkZones(zones string) error {
	for zone := range strings.SplitSeq(zones, "/") {
		m := zoneForm().FindStringSubmatch(zone)
		if m == nil {
			return misused("as zones=0,99,q=20/100,199,b=1.5", "x264 parameter \"zones\": %q is not a zone", zone)
		}
		if _, err := ParseX264(strings.ReplaceAll(strings.TrimPrefix(m[1], ","), ",", ":")); err != nil {
			return err
		}
		if strings.Contains(m[1], ",zones=") {
			return misused("write them side by side: 0,99,q=20/100,199,q=22", "x264 parameter \"zones\" holds zones")
		}
	}
	return nil
}

// x264CPU returns the instruction sets that x264 may use, as its flags: all that the processor has
// but AVX-512.
//
// x264's AVX-512 code for the macroblock tree (164 r3095, mbtree_propagate_list) reads beyond its
// lists, so the coded bits depended on the allocator. Without it they are the same in every run,
// and on every processor from SSE2 to AVX-512. The loss of speed cannot be measured.
var x264CPU = sync.OnceValue(func() int { return int(C.vf_x264_cpu()) })

// ErrOption is wrapped by every error of an option that only the encoder can judge, such as an
// unknown encoder or pixel format.
var ErrOption = contract.NewClass(contract.ExitUsage, "option not understood")

func misused(advice, format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...), advice, ErrOption)
}
