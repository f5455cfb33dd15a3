package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/encode"
)

// segmentOptions are the choices of vidfilter segments and vidfilter cut.
type segmentOptions struct {
	options                  // those that decide which video it is
	length     time.Duration // of a part, at least
	Help       bool
	name, does string
}

const partLength = time.Minute

// segmentsFlags and cutFlags return the flag sets that write into o: what parsing, help and completions are made from.
func (o *segmentOptions) segmentsFlags() *pflag.FlagSet {
	o.name, o.does, o.length = "segments", "where a video can be cut, as JSON", partLength
	fs, t := o.inputFlags()
	t.add(newValue(&o.length, "TIME", parseLength), "length", "", "of a part, at least (default 60)")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

func (o *segmentOptions) cutFlags() *pflag.FlagSet {
	o.name, o.does = "cut", "copy what a part needs, for --part"
	fs, t := o.inputFlags()
	t.add(once(str(&o.Output, "FILE")), "output", "o", "what to write")
	t.add(newValue(&o.Part, "A:B:N", parsePart), "part", "", "the part, as vidfilter segments lists it")
	t.flag(&o.Overwrite, "overwrite", "y", "replace an existing output")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

func (o *segmentOptions) inputFlags() (*pflag.FlagSet, table) {
	fs := pflag.NewFlagSet("vidfilter "+o.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	t.add(once(str(&o.Input, "FILE")), "input", "i", "the video to read")
	t.add(names(str(&o.InputFormat, "NAME"), shownInputKinds), "input-format", "", "the input's format, if not to be detected")
	t.add(&list{p: &o.Map}, "map", "", "as in the job, whose video it is to be")
	t.add(newValue(&o.MaxPixels, "N", parsePixels), "max-pixels", "", "refuse larger pictures (default 16384*16384)")
	t.flag(&o.AllowNetwork, "allow-network", "", "let -i be a network address")
	return fs, t
}

// parse reads the arguments. It returns false when there was only help to give.
func (o *segmentOptions) parse(fs *pflag.FlagSet, args []string, out io.Writer) (bool, error) {
	o.MaxPixels = defaultOptions().MaxPixels
	if err := foreignFlag(fs, args); err != nil {
		return false, err
	}
	if err := fs.Parse(args); err != nil {
		return false, flagError(fs, err)
	}
	if o.Help {
		_, err := io.WriteString(out, "usage: vidfilter "+o.name+" [options]    "+o.does+"\n"+groupHelp(fs, "Options"))
		return false, err
	}
	if err := swallowedFlag(fs); err != nil {
		return false, err
	}
	switch {
	case fs.NArg() > 0:
		return false, usagef("files go behind flags: vidfilter "+o.name+" -i FILE", "unexpected argument %q", fs.Arg(0))
	case o.Input == "":
		return false, usagef("vidfilter "+o.name+" -i FILE", "no input: -i FILE is missing")
	}
	return true, nil
}

func (o *segmentOptions) decodeOptions() decode.Options {
	return decode.Options{Format: o.InputFormat, AllowNetwork: o.AllowNetwork, MaxPixels: o.MaxPixels, Maps: o.Map, Threads: 1, Part: o.Part}
}

// runSegments prints how a file can be cut.
func runSegments(args []string, s stdio) error {
	o := new(segmentOptions)
	if ok, err := o.parse(o.segmentsFlags(), args, s.out); !ok {
		return err
	}
	cuts, err := decode.Scan(context.Background(), o.Input, o.decodeOptions(), o.length)
	if err != nil {
		return err
	}
	return printJSON(s.out, cuts)
}

// runCut copies what a part needs.
func runCut(args []string, s stdio) error {
	o := new(segmentOptions)
	if ok, err := o.parse(o.cutFlags(), args, s.out); !ok {
		return err
	}
	switch {
	case o.Output == "" || o.Output == "-":
		return usagef("vidfilter cut -i FILE -o OUT.mov --part A:B:N", "no output: -o FILE is missing")
	case o.Part == nil:
		return usagef("vidfilter segments lists parts", "no part: --part A:B:N is missing")
	case o.Input == "-":
		return usagef("save the input to a file first", "cut reads the input twice, and a pipe can be read once")
	}
	u := newUI(&o.options, s)
	_, err := interruptible(&o.options, u, func(ctx context.Context, _ *options, u *ui, stop <-chan struct{}) (result, error) {
		return result{}, cutOut(ctx, o, u, stop)
	})
	return err
}

// cutOut makes MOV or, of what only MP4 has a name for, MP4: both are read alike.
func cutOut(ctx context.Context, o *segmentOptions, u *ui, stop <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-stop:
			cancel(interruption{})
		case <-done:
		}
	}()
	cut, err := decode.OpenCut(ctx, o.Input, o.decodeOptions())
	if err != nil {
		return whyCancelled(ctx, err)
	}
	defer cut.Close()
	policy := encode.Refuse
	if o.Overwrite {
		policy = encode.Replace
	}
	target, err := encode.OpenTarget(o.Output, policy, o.Input)
	if err != nil {
		return err
	}
	defer target.Discard()
	if target.Direct() {
		return usagef("name a file", "cut writes to a file")
	}
	u.onAbandon(target.Abandon)
	err = writeCut(ctx, cut, target.Path(), "mov")
	var cannot *encode.CutError
	if errors.As(err, &cannot) {
		err = writeCut(ctx, cut, target.Path(), "mp4")
	}
	if err == nil {
		err = cut.Check(ctx, target.Path())
	}
	if err != nil {
		return whyCancelled(ctx, err)
	}
	return target.Commit()
}

// whyCancelled lets an interruption be the reason of what fails by it.
func whyCancelled(ctx context.Context, err error) error {
	var cause interruption
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	return err
}

func writeCut(ctx context.Context, cut *decode.Cut, path, format string) error {
	in := cut.Input()
	out, err := encode.Create("file:"+path, encode.Template{
		Context: in.Context(), Video: in.Video(), FrameRate: in.FrameRate(), Part: true,
		Tag: func(int64) (key, value string) { return decode.CutTag, cut.Tag() },
	}, encode.Options{Format: format})
	if err != nil {
		return err
	}
	defer out.Close()
	if err := out.BeginCopy(cut.First()); err != nil {
		return err
	}
	if err := cut.Copy(ctx, out.WriteVideo); err != nil {
		return err
	}
	return out.Finish(ctx)
}
