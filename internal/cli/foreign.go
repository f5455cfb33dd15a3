package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

const (
	graphs   = "use --before or --after, which take filters of ffmpeg; there are --crop, --deinterlace, --scale and --fps"
	denoise  = "the default filter removes noise; --strength 1.5 removes more"
	copied   = "leave it out: audio, subtitles, chapters, attachments, metadata, colour and HDR are kept"
	quality  = "use --crf; --quality is for the filter"
	encoding = "use --encoder-params, by the encoder's names, as keyint=250:bframes=3"
	decoding = "leave it out: --hwaccel nvdec decodes on the GPU, and auto chooses"
)

// foreign is advice on the options of ffmpeg, HandBrakeCLI and NVEncC that vidfilter lacks. A name
// that ends in "-" stands for all options that begin so.
var foreign = map[string]string{
	"ss": "use --start", "t": "use --duration", "to": "give --start and --duration", "sseof": "use --start",
	"c": "use --codec or --encoder", "c:v": "use --codec or --encoder", "codec:v": "use --codec", "vcodec": "use --codec",
	"c:a": copied, "c:s": copied, "c:d": copied, "acodec": copied, "scodec": copied, "b:a": copied, "ac": copied, "ar": copied, "af": copied,
	"map_metadata": copied, "map_chapters": copied, "movflags": "leave it out: mp4 and mov begin with their index",
	"b": "use --bitrate", "b:v": "use --bitrate", "q:v": quality, "qscale": quality, "q:a": copied, "qp": quality,
	"g": "use --gop", "f": "use --format, or --input-format for the input", "bf": encoding,
	"x264-params": encoding, "x264opts": encoding, "x265-params": encoding, "svtav1-params": encoding, "profile:v": encoding, "level": encoding,
	"an": "use --no-audio", "sn": "use --no-subs", "dn": "use --map", "pix_fmt": "use --pixel-format or --depth",
	"vframes": "use --frames", "frames:v": "use --frames", "r": "use --fps", "fps_mode": "use --fps", "vsync": "use --fps",
	"vf": graphs, "filter:v": graphs, "filter_complex": graphs, "lavfi": graphs, "rotate": graphs, "pad": graphs, "aspect": "use --after setdar=16/9",
	"resize": "use --scale", "size": "use --scale", "s": "use --scale", "framerate": "use --fps", "frame-rate": "use --fps",
	"hide_banner": "leave it out", "nostdin": "leave it out", "stats": "--stats compares the output with the input; see --progress",
	"distance": "the bilateral filter measures R, G and B jointly; vidfilter lab has the papers' other distances",
	"kernel":   "vidfilter lab --kernel NAME -i IN -o OUT filters by one kernel; vidfilter lab --list names them",
	"window":   "a player shows it: vidfilter live --output - | mpv -",
	"loglevel": "see --quiet and --verbose", "nostats": "see --progress", "j": "use --threads",

	// HandBrakeCLI
	"e": "use --codec or --encoder", "E": copied, "a": copied, "B": copied, "Z": "vidfilter help options lists the options",
	"w": "use --scale W:H", "l": "use --scale W:H", "d": "use --deinterlace or --device",
	"encoder-preset": "use --preset", "encoder-tune": "use --tune", "encopts": encoding, "encoder-profile": encoding, "encoder-level": encoding,
	"vb": "use --bitrate, as 5M", "rate": "use --fps", "cfr": "use --fps", "vfr": "leave it out: timestamps are kept", "pfr": "use --fps",
	"multi-pass": "leave it out: --crf needs one pass", "two-pass": "leave it out: --crf needs one pass", "turbo": "leave it out: --crf needs one pass",
	"width": "use --scale W:H", "height": "use --scale W:H", "maxWidth": "use --scale W:H", "maxHeight": "use --scale W:H",
	"comb-detect": "--deinterlace auto looks for combing", "decomb": "use --deinterlace", "detelecine": "use --before fieldmatch,decimate",
	"denoise": denoise, "nlmeans": denoise, "hqdn3d": denoise, "chroma-smooth": "use --chroma 1.5", "unsharp": "use --sharpen", "lapsharp": "use --sharpen",
	"deblock": "use --before deblock", "grayscale": "use --after hue=s=0", "colorspace": "use --after colorspace", "optimize": "leave it out: mp4 and mov begin with their index",
	"audio": copied, "aencoder": copied, "all-audio": copied, "all-subtitles": copied, "subtitle": copied, "markers": copied, "mixdown": copied,
	"start-at": "use --start", "stop-at": "use --duration", "title": "vidfilter reads files: give one title's file", "preset-list": "vidfilter help options lists the options",

	// NVEncC
	"avhw": decoding, "avsw": decoding, "cqp": quality, "qvbr": quality, "vbr": "use --bitrate", "cbr": "use --bitrate",
	"output-res": "use --scale", "output-depth": "use --depth", "gop-len": "use --gop", "seek": "use --start", "trim": "use --start and --frames",
	"audio-copy": copied, "sub-copy": copied, "chapter-copy": copied, "data-copy": copied, "attachment-copy": copied, "video-metadata": copied,
	"colormatrix": copied, "colorprim": copied, "transfer": copied, "max-cll": copied, "master-display": copied, "dhdr10-info": copied, "dolby-vision-rpu": copied,
	"interlace": "use --field-order, and --deinterlace to remove fields", "bframes": encoding, "lookahead": encoding, "check-device": "vidfilter devices lists them",
	"vpp-deinterlace": "use --deinterlace", "vpp-yadif": "use --deinterlace bob", "vpp-nnedi": "use --deinterlace", "vpp-afs": "use --deinterlace", "vpp-decimate": "use --before fieldmatch,decimate",
	"vpp-resize": "use --scale", "vpp-crop": "use --crop", "vpp-deband": "use --deband", "vpp-unsharp": "use --sharpen", "vpp-edgelevel": "use --sharpen",
	"vpp-knn": denoise, "vpp-pmd": denoise, "vpp-nlmeans": denoise, "vpp-convolution3d": denoise, "vpp-fft3d": denoise, "vpp-denoise-": denoise, "vpp-nvvfx-denoise": denoise,
	"vpp-": graphs,
}

// foreignHint returns the advice on an option, or "". Without an entry of its own, an option has
// the advice on its name before a stream specifier, as c:v:0, or of its family, as vpp-.
func foreignHint(name string) string {
	for foreign[name] == "" && name != "" {
		i := strings.LastIndexAny(strings.TrimSuffix(name, "-"), ":-")
		switch {
		case i < 0:
			name = ""
		case name[i] == ':':
			name = name[:i]
		default:
			name = name[:i+1]
		}
	}
	return foreign[name]
}

// ForeignFlag refuses a long option behind a single dash, as in ffmpeg, before pflag splits it
// into letters: -crf would be -c -r -f, and -radius the radius "adius".
func ForeignFlag(fs *pflag.FlagSet, args []string) error {
	for _, a := range args {
		if a == "--" {
			return nil
		}
		name, ok := strings.CutPrefix(a, "-")
		if !ok || len(name) < 2 || name[0] == '-' {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		if fs.Lookup(name) != nil {
			return Usagef(fmt.Sprintf("did you mean --%s?", name), "unknown option -%s", name)
		}
		if hint := foreignHint(name); hint != "" {
			return Usagef(hint, "unknown option -%s", name)
		}
	}
	return nil
}
