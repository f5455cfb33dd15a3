package main

import (
	"math"

	"github.com/spf13/pflag"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/live"
)

// Titles of the groups of flags in --help, in order.
var groups = []string{"Files", "Filter", "Encoder", "Streams and time", "Running"}

// Values that are names. The kernels' own lists are in package kernels.
var (
	deviceNames     = []string{"auto", "cpu", "cuda", "cuda:all"}
	fieldOrders     = live.FieldOrders()
	compareNames    = []string{"side", "split"}
	progressNames   = []string{"auto", "bar", "plain", "json", "none"}
	x264Presets     = []string{"ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo"}
	x264Tunes       = []string{"film", "animation", "grain", "stillimage", "psnr", "ssim", "fastdecode", "zerolatency"}
	shownInputKinds = []string{"mov", "matroska", "mpegts", "avi", "yuv4mpegpipe", "png_pipe"}
)

// table collects flags group by group.
type table struct {
	fs    *pflag.FlagSet
	group string
}

const groupKey = "group"

func (t table) add(v pflag.Value, name, short, usage string) *pflag.Flag {
	f := t.fs.VarPF(v, name, short, usage)
	f.Annotations = map[string][]string{groupKey: {t.group}}
	return f
}

func (t table) flag(p *bool, name, short, usage string) {
	t.add(newSwitch(p), name, short, usage).NoOptDefVal = "true"
}

// flags returns the flag set that writes into o: the one list of flags that parsing, environment, help and
// completions are made from.
func (o *options) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	o.fileFlags(table{fs, groups[0]})
	o.filterFlags(table{fs, groups[1]})
	o.encoderFlags(table{fs, groups[2]})
	o.streamFlags(table{fs, groups[3]})
	o.runFlags(table{fs, groups[4]})
	return fs
}

func (o *options) fileFlags(t table) {
	t.add(once(str(&o.Input, "FILE")), "input", "i", "the video or picture to read; - is stdin")
	t.add(once(str(&o.Output, "FILE")), "output", "o", "what to write; - is stdout (needs --format)")
	t.add(names(str(&o.InputFormat, "NAME"), shownInputKinds), "input-format", "", "the input's format, if not to be detected")
	t.add(names(newValue(&o.Format, "NAME", namedFormat), formatNames()), "format", "", "mp4 mov mkv ts null png jpg bmp tif ppm")
	t.flag(&o.Overwrite, "overwrite", "y", "replace an existing output")
	t.flag(&o.NoOverwrite, "no-overwrite", "n", "never replace one, and do not ask")
	t.flag(&o.AllowNetwork, "allow-network", "", "let -i be a network address")
}

func (o *options) filterFlags(t table) {
	o.pictureFlags(t)
	t.add(names(newValue(&o.Params.Kernel, "NAME", parseKernel), kernelNames()), "kernel", "", "run this one: see "+kernelList)
	t.add(oneOf(&o.Compare, compareNames), "compare", "", "side or split: show original and filtered")
}

// pictureFlags say what becomes of a picture; jobs and live have them.
func (o *options) pictureFlags(t table) {
	p := &o.Params
	t.add(choice(&p.Filter, kernels.FilterNames(), kernels.ParseFilter), "filter", "", "bilateral (default) recursive")
	t.add(newValue(&p.Radius, "N", parseRadius), "radius", "r", "radius in pixels, 0 to 15 (default 3)")
	t.add(newValue(&p.SigmaS, "X", parsePositive), "sigma-s", "", "spatial sigma, pixels (default (r+1)/2; recursive 10)")
	t.add(newValue(&p.SigmaR, "X", parsePositive), "sigma-r", "", "range sigma in levels of 8 bits (default 20)")
	t.add(choice(&p.Range, kernels.RangeNames(), kernels.ParseRange), "range", "", "lorentzian (default) gaussian")
	t.add(choice(&p.Distance, kernels.DistanceNames(), kernels.ParseDistance), "distance", "", "rgb (default) channel lab luma")
	t.add(choice(&p.Border, kernels.BorderNames(), kernels.ParseBorder), "border", "", "reflect (default) clamp zero skip")
	t.add(newValue(&p.Iterations, "N", intIn(1, kernels.MaxIterations)), "iterations", "", "of the recursive filter, 1 to 3 (default 2)")
	t.add(oneOf(&o.FieldOrder, fieldOrders), "field-order", "", "auto (default) progressive tff bff")
}

func (o *options) encoderFlags(t table) {
	t.add(str(&o.Encoder, "NAME"), "encoder", "", "FFmpeg's name of it (default libx264)")
	t.add(newValue(&o.CRF, "X", parseCRF), "crf", "", "constant quality, 0 to 51 (default 18)")
	t.add(names(str(&o.Preset, "NAME"), x264Presets), "preset", "", "speed of encoding (default medium)")
	t.add(names(str(&o.Tune, "NAME"), x264Tunes), "tune", "", "film animation grain ...")
	t.add(newValue(&o.Bitrate, "RATE", parseBitrate), "bitrate", "", "bits a second, as 5M or 800k, instead of --crf")
	t.add(newValue(&o.GOP, "N", intIn(0, math.MaxInt32)), "gop", "", "frames from key frame to key frame at most")
	t.add(str(&o.X264Params, "K=V:..."), "x264-params", "", "any other options of x264")
	t.add(str(&o.PixelFormat, "NAME"), "pixel-format", "", "FFmpeg's name of it (default the input's)")
}

func (o *options) streamFlags(t table) {
	t.flag(&o.NoAudio, "no-audio", "", "leave out audio")
	t.flag(&o.NoSubs, "no-subs", "", "leave out subtitles")
	t.add(&list{p: &o.Map}, "map", "", "streams to keep, as in ffmpeg; repeatable")
	t.add(newValue(&o.Start, "TIME", parseTime), "start", "", "start there: 90, 1:30.5, 200ms")
	t.add(newValue(&o.Duration, "TIME", parseLength), "duration", "", "stop after this much")
	t.add(newValue(&o.Frames, "N", int64In(1, math.MaxInt64)), "frames", "", "stop after N frames")
	t.add(newValue(&o.Part, "A:B:N", parsePart), "part", "", "only frames with these time stamps, as batch cuts")
	t.add(once(str(&o.Join, "FILE")), "join", "", "take the video from the parts that FILE lists")
}

func (o *options) runFlags(t table) {
	t.add(newDevice(&o.Device), "device", "", "auto (default) cpu cuda cuda:0,2 cuda:all")
	t.add(newValue(&o.Threads, "N", intIn(0, maxThreads)), "threads", "", "0 (default) is all cores")
	t.add(newValue(&o.Streams, "N", intIn(0, gpu.MaxStreams)), "streams", "", "streams of a GPU, to 8; 0 (default) chooses")
	t.add(newValue(&o.FramesInFlight, "N", intIn(0, maxFramesInFlight)), "frames-in-flight", "", "frames in memory, 0 (default) chooses")
	t.add(newValue(&o.MaxPixels, "N", parsePixels), "max-pixels", "", "refuse larger pictures (default 16384*16384)")
	t.add(newValue(&o.MaxErrorRate, "X", numberIn(0, 1)), "max-error-rate", "", "give up when more is damaged (default 0.66)")
	t.flag(&o.Stats, "stats", "", "measure PSNR and SSIM of output to input")
	t.add(oneOf(&o.Progress, progressNames), "progress", "", "auto (default) bar plain json none")
	t.flag(&o.Quiet, "quiet", "q", "say nothing but errors")
	t.flag(&o.Verbose, "verbose", "v", "say more")
	t.flag(&o.Version, "version", "", "print the version")
	t.flag(&o.Help, "help", "h", "print this help")
}
