package decode

//#include "glue.h"
import "C"

import (
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/asticode/go-astiav"
)

// location is a path of the user as FFmpeg opens it.
type location struct {
	url       string
	protocols string // that FFmpeg may use
	pipe      int    // descriptor in url, to close once url is open; or -1
	forwards  bool   // it can be read only once, in order
}

// containerRules are facts about an input format. The zero value is for unknown ones.
type containerRules struct {
	name string // FFmpeg's, the first of several

	common   bool // worth naming to the user
	refers   bool // text that names other files, which must not be opened by accident
	cuttable bool // key frames are found exactly by their times

	// end reads a whole file: breaks counts places with missing or wrong data, which FFmpeg does
	// not report; ended means that the file ends properly.
	end func(f *os.File, size int64) (breaks int64, ended bool)
	// trailer counts the bytes behind the end, which are no part of the format and no damage.
	trailer func(f *os.File, size int64) int64

	packed    bool    // there are packets to the last byte
	indexLast bool    // packets are followed by an index at most, far smaller than they are
	indexed   bool    // an index lists all packets
	readIndex bool    // and is read on opening
	untimed   bool    // frames have no times, so there are no gaps
	strict    bool    // gaps are damage even if sound goes on: FFmpeg is silent about damage
	framed    bool    // a packet of H.264 is a frame, never a field
	samples   bool    // a packet of H.264 is a frame unless that is interlaced
	keyed     bool    // begins with a key frame, and FFmpeg is silent about a damaged beginning
	dense     bool    // FFmpeg skips damaged data in silence, and headers between packets are short
	pictures  bool    // the file consists of pictures
	lastTime  int64   // precision, in microseconds, of the last frame's time in the index
	lastEnd   float64 // precision, in frames, of the length
}

// containers lists the formats with rules of their own.
var containers = []containerRules{
	{name: "mov", common: true, cuttable: true, samples: true, end: movEnd, trailer: movTrailer, indexed: true, readIndex: true},
	{name: "matroska", common: true, cuttable: true, samples: true, end: matroskaEnd},
	{name: "mpegts", common: true, end: tsEnd},
	{name: "avi", common: true, samples: true, end: aviEnd, indexLast: true, indexed: true, untimed: true},
	{name: "yuv4mpegpipe", common: true, packed: true},
	{name: "png_pipe", common: true},
	{name: "asf", keyed: true, lastEnd: 5},
	{name: "dv", packed: true},
	{name: "flv", framed: true},
	{name: "gif", end: gifEnd},
	{name: "mxf", end: mxfEnd, strict: true, lastEnd: 0.75},
	{name: "nut", strict: true, samples: true, dense: true, lastTime: second / 100},
	{name: "ogg", end: oggEnd},
	{name: "obu", end: obuEnd},
	{name: "ivf", lastEnd: 1.25},
	{name: "gxf", strict: true},
	{name: "wtv", strict: true},
	{name: "bmp_pipe", pictures: true},
	{name: "pgm_pipe", pictures: true},
	{name: "pgmyuv_pipe", pictures: true},
	{name: "ppm_pipe", pictures: true},
	{name: "qoi_pipe", pictures: true},

	{name: "concat", refers: true},
	{name: "dash", refers: true},
	{name: "hls", refers: true},
	{name: "imf", refers: true},
	{name: "rtsp", refers: true},
	{name: "sdp", refers: true},
	{name: "webm_dash_manifest", refers: true},
}

// containerOf returns the rules of a format by FFmpeg's comma-separated names.
func containerOf(names string) containerRules {
	for name := range strings.SplitSeq(names, ",") {
		if i := slices.IndexFunc(containers, func(c containerRules) bool { return c.name == name }); i >= 0 {
			return containers[i]
		}
	}
	return containerRules{}
}

// CommonFormats lists formats, by FFmpeg's names, that are worth suggesting.
func CommonFormats() (names []string) {
	for _, c := range containers {
		if c.common {
			names = append(names, c.name)
		}
	}
	return names
}

// safeFormats lists the demuxers that open neither other files nor devices.
func safeFormats() string {
	var names []string
	var state unsafe.Pointer
	for {
		f := C.av_demuxer_iterate(&state)
		if f == nil {
			return strings.Join(names, ",")
		}
		device := f.priv_class != nil && f.priv_class.category == C.AV_CLASS_CATEGORY_DEVICE_VIDEO_INPUT
		if name := C.GoString(f.name); !containerOf(name).refers && !device {
			names = append(names, name)
		}
	}
}

// Refers reports whether a format, by FFmpeg's name, is text that names other files.
func Refers(name string) bool {
	f := astiav.FindInputFormat(name) // in any case
	return f != nil && containerOf(f.Name()).refers
}

// probe returns FFmpeg's name of a source's format, or "".
func probe(from location) string {
	url, protocols := C.CString(from.url), C.CString(from.protocols)
	defer C.free(unsafe.Pointer(url))
	defer C.free(unsafe.Pointer(protocols))
	return C.GoString(C.vf_probe(url, protocols))
}
