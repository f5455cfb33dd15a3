package job

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/denoise/noise"
	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/internal/machine"
	"vidfilter/internal/netfile"
	"vidfilter/kernels"
)

// Options are the options of one job. They are checked against each other and by the encoder,
// except for stream specifiers, which need the input.
type Options struct {
	Input, Output string // "-" is a pipe
	Beside        bool   // an output without a name is put beside the input
	InputFormat   string // FFmpeg's name of a demuxer; "" to detect it
	Format        string // as OutputFormat returns it

	Footage   string // one of FootageNames, or ""
	Filters   kernels.Selection
	NoiseFrom *NoiseFrom   // nil: not there
	Profile   *noise.Model // nil: none

	Device         filters.DeviceChoice
	HWAccel        string // of HWAccelNames
	Threads        int    // 0: all cores
	Streams        int    // of each GPU; 0: the program chooses
	FramesInFlight int    // 0: the program chooses
	Sharers        int    // jobs that share the machine, this one included; 0: it is alone
	SharersMemory  int64  // bytes that they may use together; 0: all
	Parts          int    // that are filtered side by side; 1: none, 0: the program chooses

	Codec      string  // by its common name; "" leaves it to Encoder
	openCodec  bool    // the source may choose another codec
	ownCodec   bool    // options name a codec, or are meant for one
	ownCRF     bool    // CRF is the user's
	Encoder    string  // FFmpeg's name
	CRF        float64 // used if Bitrate is 0; -1: the encoder chooses
	Bitrate    int64   // bits per second; 0: CRF is used
	Preset     string
	Tune       string
	GOP        int // maximum distance of key frames; 0: the encoder chooses
	X264Params spec.Params
	// EncoderParams are as typed; they are checked with the encoder.
	EncoderParams string
	params        spec.Params
	PixelFormat   string // "" keeps the input's
	Depth         string // of DepthNames
	FilmGrain     string // source, keep
	GrainTable    string // file for the removed grain, or ""

	NoAudio, NoSubs bool
	Map             []string // stream specifiers as typed, [-][0:]SPEC[?]; empty: all

	Part *decode.Range // nil: all
	Join string        // a list of parts; "" codes the video anew

	Start    time.Duration
	Duration time.Duration // 0: to the end
	Frames   int64         // 0: to the end

	FieldOrder   string // auto, progressive, tff, bff
	Compare      string // "", side, split
	Stats        bool
	MaxErrorRate float64 // 0 to 1
	MaxPixels    int64
	AllowNetwork bool
	Sandbox      string // of SandboxModes

	Overwrite, NoOverwrite bool
	Progress               string // auto, bar, plain, json, none
	Quiet, Verbose         bool

	patience time.Duration // with GPUs; 0: as long as gpu has

	live       bool     // options of live video
	footageSet []Choice // options set by Footage

	// FootageUnfit lists options of Footage that this job, or live video, does not support.
	FootageUnfit []Choice
}

func NewOptions() *Options {
	return &Options{
		Device:       filters.DeviceChoice{Kind: "auto"},
		HWAccel:      "auto",
		Encoder:      DefaultCodec.Name,
		CRF:          DefaultCodec.CRF,
		Preset:       DefaultCodec.Preset,
		FilmGrain:    "source",
		Depth:        "source",
		FieldOrder:   "auto",
		MaxErrorRate: 0.66,
		MaxPixels:    decode.DefaultMaxPixels(0),
		Progress:     "auto",
	}
}

// Parse reads arguments and environment; arguments win. With an error it returns the options
// read so far, which say how to report it.
func Parse(args, env []string) (*Options, error) {
	o := NewOptions()
	fs := o.Flags()
	err := cli.ParseArguments(fs, args, optionsHelp)
	switch {
	case err == nil && fs.NArg() > 0:
		err = cli.Usagef("files follow options: vidfilter -i in.mp4 -o out.mp4", "unexpected argument %q", fs.Arg(0))
	case err == nil:
		err = o.Complete(fs, env)
	}
	if err != nil && cli.WantsJSON(args, env) {
		o.Progress = "json"
	}
	return o, err
}

// Complete sets options from the environment where arguments do not, and checks them. Every
// error is a cli.UsageError.
func (o *Options) Complete(fs *pflag.FlagSet, env []string) error {
	if err := cli.ApplyEnvironment(fs, env); err != nil {
		return err
	}
	return o.Resolve(fs)
}

// Resolve checks options against each other and derives defaults. fs has the flags that were
// given.
func (o *Options) Resolve(fs *pflag.FlagSet) error {
	machine.Share(max(1, o.Sharers))
	machine.UseMemory(o.SharersMemory)
	if err := o.CheckFilter(fs); err != nil {
		return err
	}
	if err := o.nameInFolder(); err != nil {
		return err
	}
	if named, ok := video.CodecNamed(o.Codec); ok {
		o.Encoder = named.Name
	} else if !fs.Changed("encoder") {
		format, _ := OutputFormat(o.Output, o.Format) // checkFiles tells what is wrong with it
		o.Encoder = video.DefaultFor(formats.Of(format)).Name
	}
	if err := o.chooseNVENC(fs.Changed("encoder")); err != nil {
		return err
	}
	codec := video.CodecOf(o.Encoder)
	if !fs.Changed("preset") {
		o.Preset = codec.Preset
	}
	if o.ownCRF = fs.Changed("crf"); !o.ownCRF {
		o.CRF = codec.CRF
	}
	o.openCodec = o.leavesCodec(fs)
	o.ownCodec = given(fs, namesCodec) || given(fs, ofCodec) || o.usesNVENC()
	for _, check := range []func() error{
		o.checkFiles,
		o.checkStats,
		o.checkStages,
		func() error { return o.checkGrain(codec) },
		func() error { return o.checkNames(fs, codec) },
		func() error { return o.checkCodec(fs, codec) },
		o.checkPart,
		o.checkDepth,
		o.checkEncoder,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	if !fs.Changed("max-pixels") {
		o.MaxPixels = decode.DefaultMaxPixels(o.filterMemory())
	}
	return nil
}

// filterMemory returns the bytes per pixel that filters keep.
func (o *Options) filterMemory() (sum int) {
	for _, s := range o.filters() {
		if k, ok := s.(kernels.Keeper); ok {
			sum += k.PixelMemory()
		}
	}
	if o.deepens() {
		const deeper = 100 // measured
		sum += deeper
	}
	return sum
}

func (o *Options) checkFiles() (err error) {
	if o.Input == "" {
		return cli.Usagef("vidfilter -i in.mp4 -o out.mp4; for all options: "+optionsHelp, "no input: -i FILE is missing")
	}
	if o.Output == "" && o.Format == "null" {
		o.Output = "-" // there is no output, so no name is needed
	}
	if o.Output == "" && o.Beside && o.inputName() != "" && !netfile.IsWeb(o.Input) {
		o.Output = CleanName(o.Input, o.Format)
	}
	if o.Output == "" {
		return cli.Usagef(o.outputHint(), "no output: -o FILE is missing")
	}
	if err := o.checkAddress(); err != nil {
		return err
	}
	if o.Format, err = OutputFormat(o.Output, o.Format); err != nil {
		return err
	}
	if f := formats.Of(o.Format); f.Family == formats.Picture && ofMany.MatchString(o.Output) && !isPicture(o.Input) {
		return cli.Usagef("write a video, and take pictures from it: ffmpeg -i out.mkv "+filepath.Base(o.Output),
			"the output %q: %s holds one picture, and files are not numbered", o.Output, f.Names[0])
	}
	if n, ok := target.Descriptor(o.Input); ok && n == 0 {
		o.Input = "-"
	}
	if n, ok := target.Descriptor(o.Output); ok && n == 1 {
		o.Output = "-"
	}
	return nil
}

// checkAddress refuses an output at an address that cannot be written.
func (o *Options) checkAddress() error {
	switch {
	case netfile.IsStored(o.Output) && netfile.Base(o.Output) == "":
		return cli.Usagef("as in s3://bucket/folder/file.mp4", "the output %q names no file in a bucket", o.Output)
	case netfile.IsStored(o.Output) && o.Stats:
		return cli.Usagef("write to a file, and copy it: vidfilter compare reads both later", "--stats reads the output again, and %s is in a store", o.Output)
	case !netfile.IsStored(o.Output) && strings.Contains(o.Output, "://"):
		return cli.Usagef("write to a file, to s3://BUCKET/KEY, or to a pipe with -o -", "the output %q is a network address", netfile.Shown(o.Output))
	}
	return nil
}

// ofMany matches ffmpeg's names of many files.
var ofMany = regexp.MustCompile(`%0?[0-9]*d`)

func isPicture(name string) bool {
	f, ok := formats.ByEnding(path.Ext(name))
	return ok && f.Family == formats.Picture
}

// outputHint suggests a name for the output.
func (o *Options) outputHint() string {
	base := o.inputName()
	if base == "" {
		base = "out.mp4"
	}
	return fmt.Sprintf("for example -o %q; -o - writes to a pipe", CleanName(base, o.Format))
}

// CleanName names an output beside an input: in.clean.mp4 for in.mp4. format is a value of
// --format, or "".
func CleanName(input, format string) string {
	ending := path.Ext(filepath.Base(input))
	return strings.TrimSuffix(input, ending) + ".clean" + formats.OutputEnding(ending, format)
}

// inputName returns the name of the input's file, or "".
func (o *Options) inputName() string {
	_, open := target.Descriptor(o.Input)
	if netfile.Fetches(o.Input) {
		return netfile.Base(o.Input)
	}
	if o.Input == "" || open || strings.Contains(o.Input, "://") {
		return ""
	}
	return filepath.Base(o.Input)
}

// nameInFolder gives an output that is a folder the input's name there.
func (o *Options) nameInFolder() error {
	ending := path.Ext(o.Output)
	_, file := formats.ByEnding(ending)
	st, err := os.Stat(o.Output)
	isFolder := strings.HasSuffix(o.Output, "/") || !file && err == nil && st.IsDir()
	if o.Output == "" || o.Output == "-" || o.Format == formats.Null || !isFolder {
		return nil
	}
	name := o.inputName()
	if name == "" {
		return cli.Usagef("name a file in it", "the output %q is a folder, and the input has no name to take", o.Output)
	}
	ending = path.Ext(name)
	name = strings.TrimSuffix(name, ending) + formats.OutputEnding(ending, o.Format)
	if netfile.IsStored(o.Output) {
		o.Output = netfile.Join(o.Output, name)
		return nil
	}
	o.Output = filepath.Join(o.Output, name)
	return nil
}

// checkStats: statistics come from reading both files again.
func (o *Options) checkStats() error {
	switch {
	case !o.Stats:
		return nil
	case o.Input == "-":
		return cli.Usagef("save the input to a file first", "--stats reads the input twice, and a pipe can be read once")
	case o.Output == "-" || o.Format == "null":
		return cli.Usagef("write to a file", "--stats reads the output again, and there is no file to read")
	}
	return nil
}

// checkCodec checks what a codec has, and its range of quality.
func (o *Options) checkCodec(fs *pflag.FlagSet, codec video.Codec) (err error) {
	q := codec.Quality
	for _, name := range []string{"bitrate", "gop"} {
		if why := codec.Lacks(name); why != "" && fs.Changed(name) {
			return cli.Usagef("leave it out", "the encoder %s has no option --%s: %s", codec.Name, name, why)
		}
	}
	switch {
	case !fs.Changed("crf") || codec.CRF < 0: // the encoder refuses what it does not have
	case o.CRF < q.Min || o.CRF > q.Max:
		return cli.BadValue(cli.Source(fs, "crf"), fs.Lookup("crf").Value.String(),
			cli.Usagef(q.About, "must be %g to %g for %s", q.Min, q.Max, codec.Name))
	case q.Whole && o.CRF != math.Trunc(o.CRF):
		return cli.BadValue(cli.Source(fs, "crf"), fs.Lookup("crf").Value.String(),
			cli.Usagef(q.About, "must be a whole number for %s", codec.Name))
	}
	if o.params, err = codec.ParseParams(o.EncoderParams); err != nil {
		return cli.BadValue(cli.Source(fs, "encoder-params"), o.EncoderParams, err)
	}
	return nil
}

// checkNames checks presets and tunes of a codec whose names are known.
func (o *Options) checkNames(fs *pflag.FlagSet, codec video.Codec) error {
	if codec.Presets != nil {
		if err := cli.CheckName(cli.Source(fs, "preset"), codec.Presets, o.Preset); err != nil {
			return err
		}
	}
	if codec.Tunes == nil {
		return nil
	}
	for _, t := range splitTune(o.Tune) {
		if err := cli.CheckName(cli.Source(fs, "tune"), codec.Tunes, t); err != nil {
			return err
		}
	}
	return nil
}

// checkEncoder lets the encoder and the container judge their options.
func (o *Options) checkEncoder() error {
	err := video.Check(o.encodeOptions(nil))
	if errors.Is(err, video.ErrOption) {
		return cli.BadOption(err)
	}
	return err
}
