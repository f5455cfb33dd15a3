package job

import (
	"math"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
)

// optionsHelp lists all options of a job.
const optionsHelp = "vidfilter help options"

// Groups are the titles of flags in help, in order.
var Groups = []string{"Files", "Filter", "Encoder", "Streams and time", "Running"}

// Names that flags take. The kernels' names are in package kernels.
var (
	HWAccelNames    = []string{"auto", "nvdec", "nvenc", "auto,nvenc", "nvdec,nvenc", "none"}
	CompareNames    = []string{"side", "split"}
	FilmGrainNames  = []string{"source", "keep"}
	DepthNames      = []string{"source", "auto", "8", "10", "12", "16"}
	ProgressNames   = []string{"auto", "bar", "plain", "json", "none"}
	DefaultCodec    = video.CodecOf(spec.DefaultEncoder)
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
	t.Add(cli.Once(cli.String(&o.Input, "FILE")), "input", "i", "video or picture to read, or its address; - is stdin", cli.Basic, cli.NotInBatch("the sources of a batch are its arguments, or input: in a job file"))
	t.Add(cli.Once(cli.String(&o.Output, "FILE")), "output", "o", "file to write; - is stdout and needs --format", cli.Basic, cli.NotInBatch("a batch has a root, and a name for each output: -o FOLDER, --name TEMPLATE, or output: and name: in a job file"))
	t.Add(cli.Names(cli.String(&o.InputFormat, "NAME"), shownInputKinds), "input-format", "", "input format (default detected)")
	t.Add(cli.Names(cli.NewValue(&o.Format, "NAME", namedFormat), formats.Names()), "format", "", strings.Join(formats.Names(), " "))
	t.Flag(&o.Overwrite, "overwrite", "y", "replace an existing output", cli.Basic, cli.NotInBatch("give it for the whole batch: vidfilter batch -y"))
	t.Flag(&o.NoOverwrite, "no-overwrite", "n", "never replace an existing output, never ask", cli.Excludes("overwrite"), cli.NotInBatch("a batch never replaces files of others, unless -y is given"))
	t.Flag(&o.AllowNetwork, "allow-network", "", "allow http, rtmp, udp and the like as input", cli.NotInBatch("a batch fetches sources at s3://, https:// and http:// without it"))
}

func (o *Options) encoderFlags(t cli.Table) {
	t.Add(newCodec(&o.Codec), "codec", "", "h264 (default) hevc av1 ffv1 prores dnxhd", namesCodec)
	t.Add(cli.String(&o.Encoder, "NAME"), "encoder", "", "FFmpeg's name; deep: libx265 (default libx264)", namesCodec, cli.Excludes("codec"))
	t.Add(cli.NewValue(&o.CRF, "X", ParseCRF), "crf", "", "constant quality, 0 to 51 (default 18)", cli.Basic, ofCodec)
	t.Add(cli.Names(cli.String(&o.Preset, "NAME"), DefaultCodec.Presets), "preset", "", "encoding speed (default medium)", cli.Basic, ofCodec)
	t.Add(cli.Names(cli.String(&o.Tune, "NAME"), DefaultCodec.Tunes), "tune", "", "film animation grain ...", ofCodec)
	t.Add(cli.NewValue(&o.Bitrate, "RATE", parseBitrate), "bitrate", "", "bits per second, as 5M or 800k; replaces --crf", ofCodec, cli.Excludes("crf"), oneEncoder.because("is the mean of a whole stream"))
	t.Add(cli.NewValue(&o.GOP, "N", parseGOP), "gop", "", "maximum distance between key frames", ofCodec)
	t.Add(cli.String(&o.EncoderParams, "K=V:..."), "encoder-params", "", "further options, by the encoder's names", namesCodec)
	t.Add(cli.NewValue(&o.X264Params, "K=V:...", parseX264), "x264-params", "", "the same for x264", namesCodec).Hidden = true
	t.Add(cli.OneOf(&o.FilmGrain, FilmGrainNames), "film-grain", "", "for AV1: source (default) keep", oneFilter.because("keep measures grain from picture to picture", "keep"))
	t.Add(cli.String(&o.GrainTable, "FILE"), "grain-table", "", "write a film grain table of the removed noise", oneFilter.because("is of a whole video"), cli.NotInBatch("a table is of one video: use vidfilter -i FILE"))
	t.Add(cli.String(&o.PixelFormat, "NAME"), "pixel-format", "", "pixel format in FFmpeg (default the input's)", namesCodec)
	t.Add(cli.OneOf(&o.Depth, DepthNames), "depth", "", "bits of a sample: source (default) auto 8 10 12 16")
}

func (o *Options) streamFlags(t cli.Table) {
	t.Flag(&o.NoAudio, "no-audio", "", "drop audio")
	t.Flag(&o.NoSubs, "no-subs", "", "drop subtitles")
	t.Add(cli.NewSpecs(&o.Map), "map", "", "streams to keep, as in ffmpeg; repeatable")
	piece := oneFilter.because("takes a piece of the input")
	t.Add(cli.NewValue(&o.Start, "TIME", cli.ParseTime), "start", "", "start time: 90, 1:30.5, 200ms", cli.Basic, piece)
	t.Add(cli.NewValue(&o.Duration, "TIME", cli.ParseLength), "duration", "", "length to filter", piece)
	t.Add(cli.NewValue(&o.Frames, "N", cli.Int64In(1, math.MaxInt64)), "frames", "", "stop after N frames", piece)
	t.Add(cli.NewValue(&o.Part, "A:B:N:...", parsePart), "part", "", "frames with these timestamps only", cli.NotInBatch("a batch cuts videos into parts itself")).Hidden = true
	t.Add(cli.Once(cli.String(&o.Join, "FILE")), "join", "", "join the parts listed in FILE", cli.NotInBatch("a batch joins parts itself")).Hidden = true
}

func (o *Options) runFlags(t cli.Table) {
	t.Add(filters.NewDevice(&o.Device), "device", "", "auto (default) cpu cuda cuda:0,2 cuda:all", cli.Basic, cli.Neutral)
	t.Add(cli.OneOf(&o.HWAccel, HWAccelNames), "hwaccel", "", "auto (default) nvdec none nvenc (experimental)")
	t.Add(cli.NewValue(&o.Threads, "N", cli.IntIn(0, filters.MaxThreads)), "threads", "", "CPU threads; 0 (default) uses all cores", cli.Neutral)
	t.Add(cli.NewValue(&o.Parts, "N", cli.IntIn(0, MaxParts)), "parts", "", "parts filtered side by side; 0 (default) chooses", cli.NotInBatch("a batch cuts videos into parts itself"))
	t.Add(cli.NewValue(&o.Streams, "N", cli.IntIn(0, gpu.MaxStreams)), "streams", "", "CUDA streams per GPU, up to 8; 0 (default) chooses", cli.Neutral)
	t.Add(cli.NewValue(&o.FramesInFlight, "N", cli.IntIn(0, maxFramesInFlight)), "frames-in-flight", "", "frames in memory; 0 (default) chooses", cli.Neutral)
	t.Add(cli.NewValue(&o.Sharers, "N", cli.IntIn(1, math.MaxInt32)), "sharers", "", "jobs that share the memory and threads of the machine (default 1)", cli.NotInBatch("a batch divides the machine among its jobs: vidfilter batch --jobs N")).Hidden = true
	t.Add(cli.NewValue(&o.SharersMemory, "BYTES", cli.Int64In(1, math.MaxInt64)), "sharers-memory", "", "memory of these jobs together (default all)", cli.NotInBatch("a worker limits the memory of its jobs: vidfilter worker --memory SIZE")).Hidden = true
	t.Add(cli.NewValue(&o.MaxPixels, "N", cli.ParsePixels), "max-pixels", "", "refuse larger pictures (default by memory)", cli.Neutral)
	t.Add(cli.NewValue(&o.MaxErrorRate, "X", cli.NumberIn(0, 1)), "max-error-rate", "", "fail if more is damaged (default 0.66)")
	SandboxFlag(t, &o.Sandbox)
	t.Flag(&o.Stats, "stats", "", "print PSNR and SSIM of output against input", cli.Neutral, cli.Excludes("compare"), oneProcess.because("compares the whole video"))
	t.Add(cli.OneOf(&o.Progress, ProgressNames), "progress", "", "auto (default) bar plain json none", cli.NotInBatch("a batch reads the progress of its jobs itself"))
	t.Flag(&o.Quiet, "quiet", "q", "print errors only", cli.NotInBatch("give it for the whole batch: vidfilter batch -q"))
	t.Flag(&o.Verbose, "verbose", "v", "print more", cli.Excludes("quiet"), cli.NotInBatch("give it for the whole batch: vidfilter batch -v"))
}
