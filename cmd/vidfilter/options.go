package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/kernels"
)

// options are the choices of one job, checked against each other. What needs the input or the FFmpeg build
// to be judged (names of encoders and pixel formats, stream specifiers) is not.
type options struct {
	Input, Output string // "-" is a pipe
	InputFormat   string // FFmpeg's name of a demuxer; "" to detect it
	Format        string // one of what outputFormat returns

	Params kernels.Params

	Device         device
	Threads        int // 0: all cores
	Streams        int // of each GPU; 0: the program chooses
	FramesInFlight int // 0: the program chooses

	Encoder     string
	CRF         float64 // in force when Bitrate is 0; -1: the encoder chooses
	Bitrate     int64   // bits a second; 0 when CRF is in force
	Preset      string
	Tune        string
	GOP         int // frames from one key frame to the next at most; 0: the encoder chooses
	X264Params  string
	PixelFormat string // "" keeps the input's

	NoAudio, NoSubs bool
	Map             []string // stream specifiers as typed, [-][0:]SPEC[?]; empty: everything

	Part *decode.Range // nil: all of it
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

	Overwrite, NoOverwrite bool
	Progress               string // auto, bar, plain, json, none
	Quiet, Verbose         bool
	Help, Version          bool
}

// device is where --device wants the filter to run.
type device struct {
	Kind    string // auto, cpu, cuda
	Indexes []int  // for cuda: the GPUs to share the work; nil: the first that can do it
	All     bool   // for cuda: all that can do it
}

func defaultOptions() *options {
	return &options{
		Params:       kernels.Params{Radius: 3},
		Device:       device{Kind: "auto"},
		Encoder:      "libx264",
		CRF:          18,
		Preset:       "medium",
		FieldOrder:   "auto",
		MaxErrorRate: 0.66,
		MaxPixels:    16384 * 16384,
		Progress:     "auto",
	}
}

// parseOptions reads the arguments and the environment; the arguments win. Every error is a usageError.
// The options are returned also with an error, as far as they were understood, so that it can be reported
// in the form that was asked for.
func parseOptions(args, env []string) (*options, error) {
	o := defaultOptions()
	fs := o.flags()
	if err := o.parse(fs, args, env); err != nil {
		if wantsJSON(args, env) {
			o.Progress = "json"
		}
		return o, err
	}
	if o.Help || o.Version {
		return o, nil
	}
	return o, o.resolve(fs)
}

// resolve checks the options against each other and fills in what follows from others.
func (o *options) resolve(fs *pflag.FlagSet) error {
	if err := o.checkKernel(fs); err != nil {
		return err
	}
	if err := o.checkFilter(fs); err != nil {
		return err
	}
	if err := o.checkKernelDoes(); err != nil {
		return err
	}
	if o.Encoder != "libx264" { // what we choose for x264 others may not even know
		if !fs.Changed("preset") {
			o.Preset = ""
		}
		if !fs.Changed("crf") {
			o.CRF = -1
		}
	}
	for _, check := range []func() error{
		func() error { return o.checkExclusive(fs) },
		o.checkFiles,
		o.checkStats,
		func() error { return o.checkPart(fs) },
		func() error { return o.checkX264(fs) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// ofOneFilter are the flags that only one filter has.
var ofOneFilter = map[string]kernels.Filter{
	"radius": kernels.Bilateral, "range": kernels.Bilateral, "distance": kernels.Bilateral, "border": kernels.Bilateral,
	"iterations": kernels.Recursive,
}

// checkFilter fills in the defaults of the filter, and refuses arguments that mean nothing to it. In the environment each filter may
// have its own.
func (o *options) checkFilter(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		of, some := ofOneFilter[f.Name]
		if !some || of == o.Params.Filter || f.Annotations[sourceKey] != nil || err != nil {
			return
		}
		hint := "of the recursive filter one sets --sigma-s, --sigma-r and --iterations"
		switch {
		case of == kernels.Recursive && o.Params.Kernel == "":
			hint = "add --filter recursive"
		case of == kernels.Recursive:
			hint = "leave it out, or choose another kernel: " + kernelList
		}
		err = usagef(hint, "%s is an option of the %s filter, and this is the %s one", flagName(f), of, o.Params.Filter)
	})
	if err != nil {
		return err
	}
	o.Params = o.Params.WithDefaults()
	if err := o.Params.Validate(); err != nil {
		return usagef("what each option takes: vidfilter --help", "%v", err)
	}
	return nil
}

func (o *options) checkExclusive(fs *pflag.FlagSet) error {
	switch {
	case o.Overwrite && o.NoOverwrite:
		return usagef("give one of them", "-y (--overwrite) and -n (--no-overwrite) exclude each other")
	case o.Quiet && o.Verbose:
		return usagef("give one of them", "--quiet and --verbose exclude each other")
	case fs.Changed("crf") && fs.Changed("bitrate"):
		return usagef("--crf keeps the quality constant, --bitrate the size: give one of them",
			"--crf and --bitrate exclude each other")
	}
	return nil
}

func (o *options) checkFiles() (err error) {
	if o.Input == "" {
		return usagef("vidfilter -i in.mp4 -o out.mp4; all options: vidfilter --help", "no input: -i FILE is missing")
	}
	if o.Output == "" && o.Format == "null" {
		o.Output = "-" // nothing is written, so no name is needed
	}
	if o.Output == "" {
		return usagef("vidfilter -i in.mp4 -o out.mp4; -o - writes to a pipe", "no output: -o FILE is missing")
	}
	if strings.Contains(o.Output, "://") {
		return usagef("write to a file, or to a pipe with -o -", "the output %q is a network address", o.Output)
	}
	o.Format, err = outputFormat(o.Output, o.Format)
	return err
}

// checkStats: the statistics come from reading both files again.
func (o *options) checkStats() error {
	switch {
	case !o.Stats:
		return nil
	case o.Input == "-":
		return usagef("save the input to a file first", "--stats reads the input twice, and a pipe can be read once")
	case o.Output == "-" || o.Format == "null":
		return usagef("write to a file", "--stats reads the output again, and there is no file to read")
	case o.Compare != "":
		return usagef("give one of them", "--stats and --compare exclude each other: the pictures differ in kind")
	}
	return nil
}

// checkX264 knows the names of the default encoder only; others have their own.
func (o *options) checkX264(fs *pflag.FlagSet) error {
	if o.Encoder != "libx264" {
		return nil
	}
	if err := checkName(source(fs, "preset"), x264Presets, o.Preset); err != nil {
		return err
	}
	for _, t := range splitTune(o.Tune) {
		if err := checkName(source(fs, "tune"), x264Tunes, t); err != nil {
			return err
		}
	}
	return nil
}
