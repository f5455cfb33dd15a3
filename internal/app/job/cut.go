package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/target"
	"vidfilter/internal/cli"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/stages"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// SegmentOptions are the options of vidfilter segments and vidfilter cut.
type SegmentOptions struct {
	Options               // those that select the video; of segments, all
	length  time.Duration // minimum of a part
}

const partLength = time.Minute

func NewSegmentOptions() *SegmentOptions {
	return &SegmentOptions{Options: *NewOptions(), length: partLength}
}

// SegmentsFlags has every option of a job, since the filter decides how much a part needs.
func (o *SegmentOptions) SegmentsFlags() *pflag.FlagSet {
	fs := o.jobFlags("input")
	cli.NewTable(fs, "Options").Add(cli.NewValue(&o.length, "TIME", cli.ParseLength), "length", "", "minimum length of a part (default 60)")
	return fs
}

// CutFlags has every option of a job, since a batch passes them all.
func (o *SegmentOptions) CutFlags() *pflag.FlagSet { return o.jobFlags("input", "output", "part") }

// jobFlags returns the options of a job, of which help lists some.
func (o *SegmentOptions) jobFlags(listed ...string) *pflag.FlagSet {
	fs := o.Flags()
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !slices.Contains(listed, f.Name) })
	return fs
}

func (o *SegmentOptions) decodeOptions() decode.Options {
	return decode.Options{Format: o.InputFormat, AllowNetwork: o.AllowNetwork, MaxPixels: o.MaxPixels, Maps: o.Map, Threads: 1, Part: o.Part}
}

// SegmentsOf lists the parts into which a file can be cut for a job with the same options.
func SegmentsOf(o *SegmentOptions, fs *pflag.FlagSet, env []string) (any, error) {
	if err := cli.ApplyEnvironment(fs, env); err != nil {
		return nil, err
	}
	if o.Input == "" {
		return nil, cli.Usagef("vidfilter segments -i FILE", "no input: -i FILE is missing")
	}
	check := o.CheckFilter
	if o.Output != "" { // as a batch names it, so that the encoder is known
		check = o.Resolve
	}
	if err := check(fs); err != nil {
		return nil, err
	}
	if err := EnterSandbox(sandbox.Policy{}, o.decodeOptions(), o.Input); err != nil {
		return nil, err
	}
	ctx := context.Background()
	var found struct {
		*decode.Cuts
		Noise       string  `json:"noise,omitempty"`        // for --noise-profile of the parts
		Crop        *string `json:"crop,omitempty"`         // for --crop of the parts, empty for the whole picture
		ChromaShift *string `json:"chroma_shift,omitempty"` // for --chroma-shift of the parts, empty for no shift
		Order       string  `json:"field_order,omitempty"`  // for --field-order of the parts
		Quality     string  `json:"quality,omitempty"`      // for --quality of the parts
	}
	var err error
	if found.Cuts, err = decode.Scan(ctx, o.Input, o.decodeOptions(), o.length, o.window()); err != nil {
		return found, err
	}
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	if err := o.measureNoise(ctx, pool, func(string) {}); err != nil {
		return nil, err
	}
	if o.NoiseFrom != nil {
		found.Noise = compact(*kernels.Of[kernels.Denoise](o.Filters).Known)
	}
	asked := o.automatics()
	if err := o.survey(ctx, pool, func(string) {}); err != nil {
		return found, err
	}
	for _, a := range asked {
		to := map[*stages.Choice]**string{stages.Crop: &found.Crop, stages.ChromaShift: &found.ChromaShift}[a.kind]
		*to = new(a.kind.Of(o.Filters).Text)
	}
	if o.looksAtFields() {
		if err := o.measureFields(ctx, pool, func(string) {}); err != nil {
			return found, err
		}
		found.Order = o.FieldOrder
	}
	if o.Output != "" && len(found.Parts) > 1 {
		if found.Quality, err = o.partsQuality(ctx, pool); err != nil {
			return found, err
		}
	}
	if whole := o.undivided(); whole != "" && found.Whole == "" {
		found.Parts, found.Whole = []decode.Range{}, whole
	}
	return found, nil
}

// CutPart copies the packets that a part needs.
func CutPart(o *SegmentOptions, s terminal.Stdio) error {
	switch {
	case o.Input == "":
		return cli.Usagef("vidfilter cut -i FILE", "no input: -i FILE is missing")
	case o.Output == "" || o.Output == "-":
		return cli.Usagef("vidfilter cut -i FILE -o OUT.mov --part A:B:N", "no output: -o FILE is missing")
	case o.Part == nil:
		return cli.Usagef("vidfilter segments lists parts", "no part: --part A:B:N is missing")
	case o.Input == "-":
		return cli.Usagef("save the input to a file first", "cut reads the input twice, and a pipe can be read once")
	}
	u := o.OpenUI(s)
	_, err := terminal.Interruptible(u, func(ctx context.Context, stop <-chan struct{}) (terminal.Result, error) {
		return terminal.Result{}, cutOut(ctx, o, u, stop)
	})
	return err
}

// cutOut writes MOV, or MP4 for a codec without a MOV tag. Both are read alike.
func cutOut(ctx context.Context, o *SegmentOptions, u *terminal.UI, stop <-chan struct{}) error {
	ctx, unwatch := untilStop(ctx, stop)
	defer unwatch()
	out, err := target.Prepare(o.Output, ReplaceIf(o.Overwrite), []string{o.Input})
	if err != nil {
		return err
	}
	defer func() {
		if err := out.Discard(); err != nil {
			u.Warn(err.Error())
		}
	}()
	if out.Direct() {
		return cli.Usagef("name a file", "cut writes to a file")
	}
	also := sandbox.Policy{Write: []string{out.Path()}}
	if err := EnterSandbox(also, o.decodeOptions(), o.Input); err != nil {
		return err
	}
	cut, err := decode.OpenCut(ctx, o.Input, o.decodeOptions())
	if err != nil {
		return terminal.WhyCancelled(ctx, err)
	}
	defer cut.Close()
	if err := out.Open(); err != nil {
		return err
	}
	u.OnAbandon(out.Abandon)
	err = writeCut(ctx, cut, out.Path(), "mov")
	if errors.Is(err, encode.ErrCut) {
		err = writeCut(ctx, cut, out.Path(), "mp4")
	}
	if err == nil {
		err = cut.Check(ctx, out.Path())
	}
	if err != nil {
		return terminal.WhyCancelled(ctx, err)
	}
	return out.Commit()
}

func writeCut(ctx context.Context, cut *decode.Cut, path, format string) error {
	in := cut.Input()
	out, err := encode.Create("file:"+path, encode.Template{
		Context: in.Context(), Video: in.Video(), Part: true,
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
