package job

import (
	"math"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/formats"
	"vidfilter/gpu"
	"vidfilter/internal/cli"
)

// optionsHelp lists all options of a job.
const optionsHelp = "vidfilter help options"

// Groups are the titles of flags in help, in order.
var Groups = []string{"Files", "Filter", "Encoder", "Streams and time", "Running"}

// Names that flags take. Those of the kernels are in package kernels.
var (
	DeviceNames     = []string{"auto", "cpu", "cuda", "cuda:all"}
	HWAccelNames    = []string{"auto", "nvdec", "nvenc", "auto,nvenc", "nvdec,nvenc", "none"}
	CompareNames    = []string{"side", "split"}
	FilmGrainNames  = []string{"source", "keep"}
	DepthNames      = []string{"source", "auto", "8", "10", "12", "16"}
	ProgressNames   = []string{"auto", "bar", "plain", "json", "none"}
	DefaultCodec    = encode.CodecOf(encode.DefaultEncoder)
	shownInputKinds = decode.CommonFormats()
)

// Flags returns flags that set o. Parsing, environment, help and completion use this one list.
func (o *Options) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	o.fileFlags(cli.NewTable(fs, Groups[0]))
	o.filterFlags(cli.NewTable(fs, Groups[1]))
	o.encoderFlags(cli.NewTable(fs, Groups[2]))
	o.streamFlags(cli.NewTable(fs, Groups[3]))
	o.runFlags(cli.NewTable(fs, Groups[4]))
	return fs
}

func (o *Options) fileFlags(t cli.Table) {
	t.Add(cli.Once(cli.String(&o.Input, "FILE")), "input", "i", "video or picture to read; - is stdin")
	t.Add(cli.Once(cli.String(&o.Output, "FILE")), "output", "o", "file to write; - is stdout and needs --format")
	t.Add(cli.Names(cli.String(&o.InputFormat, "NAME"), shownInputKinds), "input-format", "", "input format (default detected)")
	t.Add(cli.Names(cli.NewValue(&o.Format, "NAME", namedFormat), formats.Names()), "format", "", "mp4 mov mkv ts webm mxf null png jpg bmp tif ppm")
	t.Flag(&o.Overwrite, "overwrite", "y", "replace an existing output")
	t.Flag(&o.NoOverwrite, "no-overwrite", "n", "never replace an existing output, never ask")
	t.Flag(&o.AllowNetwork, "allow-network", "", "allow network addresses as input")
}

func (o *Options) encoderFlags(t cli.Table) {
	t.Add(newCodec(&o.Codec), "codec", "", "h264 (default) hevc av1 ffv1 prores dnxhd")
	t.Add(cli.String(&o.Encoder, "NAME"), "encoder", "", "FFmpeg's name; deep: libx265 (default libx264)")
	t.Add(cli.NewValue(&o.CRF, "X", ParseCRF), "crf", "", "constant quality, 0 to 51 (default 18)")
	t.Add(cli.Names(cli.String(&o.Preset, "NAME"), DefaultCodec.Presets), "preset", "", "encoding speed (default medium)")
	t.Add(cli.Names(cli.String(&o.Tune, "NAME"), DefaultCodec.Tunes), "tune", "", "film animation grain ...")
	t.Add(cli.NewValue(&o.Bitrate, "RATE", parseBitrate), "bitrate", "", "bits per second, as 5M or 800k; replaces --crf")
	t.Add(cli.NewValue(&o.GOP, "N", parseGOP), "gop", "", "maximum distance between key frames")
	t.Add(cli.String(&o.EncoderParams, "K=V:..."), "encoder-params", "", "further options, by the encoder's names")
	t.Add(cli.NewValue(&o.X264Params, "K=V:...", parseX264), "x264-params", "", "the same for x264").Hidden = true
	t.Add(cli.OneOf(&o.FilmGrain, FilmGrainNames), "film-grain", "", "for AV1: source (default) keep")
	t.Add(cli.String(&o.GrainTable, "FILE"), "grain-table", "", "write a film grain table of what is removed")
	t.Add(cli.String(&o.PixelFormat, "NAME"), "pixel-format", "", "pixel format in FFmpeg (default the input's)")
	t.Add(cli.OneOf(&o.Depth, DepthNames), "depth", "", "bits of a sample: source (default) auto 8 10 12 16")
}

func (o *Options) streamFlags(t cli.Table) {
	t.Flag(&o.NoAudio, "no-audio", "", "drop audio")
	t.Flag(&o.NoSubs, "no-subs", "", "drop subtitles")
	t.Add(cli.NewSpecs(&o.Map), "map", "", "streams to keep, as in ffmpeg; repeatable")
	t.Add(cli.NewValue(&o.Start, "TIME", cli.ParseTime), "start", "", "start time: 90, 1:30.5, 200ms")
	t.Add(cli.NewValue(&o.Duration, "TIME", cli.ParseLength), "duration", "", "length to filter")
	t.Add(cli.NewValue(&o.Frames, "N", cli.Int64In(1, math.MaxInt64)), "frames", "", "stop after N frames")
	t.Add(cli.NewValue(&o.Part, "A:B:N:...", parsePart), "part", "", "frames with these timestamps only").Hidden = true
	t.Add(cli.Once(cli.String(&o.Join, "FILE")), "join", "", "join the parts listed in FILE").Hidden = true
}

func (o *Options) runFlags(t cli.Table) {
	t.Add(NewDevice(&o.Device), "device", "", "auto (default) cpu cuda cuda:0,2 cuda:all")
	t.Add(cli.OneOf(&o.HWAccel, HWAccelNames), "hwaccel", "", "auto (default) nvdec none nvenc (experimental)")
	t.Add(cli.NewValue(&o.Threads, "N", cli.IntIn(0, MaxThreads)), "threads", "", "CPU threads; 0 (default) uses all cores")
	t.Add(cli.NewValue(&o.Parts, "N", cli.IntIn(0, MaxParts)), "parts", "", "parts filtered side by side; 0 (default) chooses")
	t.Add(cli.NewValue(&o.Streams, "N", cli.IntIn(0, gpu.MaxStreams)), "streams", "", "CUDA streams per GPU, up to 8; 0 (default) chooses")
	t.Add(cli.NewValue(&o.FramesInFlight, "N", cli.IntIn(0, maxFramesInFlight)), "frames-in-flight", "", "frames in memory; 0 (default) chooses")
	t.Add(cli.NewValue(&o.Sharers, "N", cli.IntIn(1, math.MaxInt32)), "sharers", "", "jobs that share the memory and threads of the machine (default 1)").Hidden = true
	t.Add(cli.NewValue(&o.MaxPixels, "N", cli.ParsePixels), "max-pixels", "", "refuse larger pictures (default by memory)")
	t.Add(cli.NewValue(&o.MaxErrorRate, "X", cli.NumberIn(0, 1)), "max-error-rate", "", "fail if more is damaged (default 0.66)")
	SandboxFlag(t, &o.Sandbox)
	t.Flag(&o.Stats, "stats", "", "print PSNR and SSIM of output against input")
	t.Add(cli.OneOf(&o.Progress, ProgressNames), "progress", "", "auto (default) bar plain json none")
	t.Flag(&o.Quiet, "quiet", "q", "print errors only")
	t.Flag(&o.Verbose, "verbose", "v", "print more")
}
