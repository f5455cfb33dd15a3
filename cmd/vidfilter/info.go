package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"vidfilter/decode"
	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/encode/target"
	"vidfilter/interlace"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

func newInfoCommand(s terminal.Stdio) *cobra.Command {
	var o infoOptions
	var mode string
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Flag(&o.json, "json", "", "print JSON")
	t.Flag(&o.noise, "noise", "", "measure the noise of the picture, scene by scene; reads the whole file")
	t.Add(cli.String(&o.save, "FILE"), "save", "", "write the noise of the whole file to FILE, for --noise-profile")
	t.Flag(&o.overwrite, "overwrite", "y", "replace an existing FILE")
	job.SandboxFlag(t, &mode)
	return withFlags(&cobra.Command{
		Use: "info FILE... [options]", Short: "Print streams and metadata of files",
		Long:    withExits("Print the format, streams, chapters and metadata of files.", contract.ExitInput, contract.ExitOutput),
		Example: "  vidfilter info in.mp4\n  vidfilter info --json *.mkv\n  vidfilter info --noise in.mp4\n  vidfilter info --noise --save reel.json in.mp4",
		RunE: func(_ *cobra.Command, files []string) error {
			warnWithoutSandbox(mode, s)
			return runInfo(files, o, s.Out)
		},
	}, fs, func(args []string) error {
		switch {
		case len(args) == 0:
			return cli.Usagef("vidfilter info [--json] [--noise] FILE...", "info needs a file")
		case o.save != "" && !o.noise:
			return cli.Usagef("add --noise", "--save writes the noise that --noise measures")
		case o.save != "" && len(args) > 1:
			return cli.Usagef("name one file", "--save is of one file, and there are %d", len(args))
		case o.save == "-":
			return cli.Usagef("name a file", "--save writes a file")
		}
		return nil
	})
}

type infoOptions struct {
	json, noise bool
	save        string // file for the noise, or ""
	overwrite   bool
}

// fileInfo is a file as info prints it.
type fileInfo struct {
	decode.Info
	Noise  *noise.Summary `json:"noise,omitempty"`
	Advice []job.Advice   `json:"advice,omitempty"`
	model  noise.Model
}

// runInfo describes each file, also after one that cannot be read.
func runInfo(files []string, o infoOptions, stdout io.Writer) (err error) {
	var also sandbox.Policy
	var saved *target.File
	if o.save != "" {
		if saved, err = target.Prepare(o.save, job.ReplaceIf(o.overwrite), files); err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, saved.Discard()) }()
		also.Write = append(also.Write, saved.Path())
	}
	if err := job.EnterSandbox(also, decode.Options{}, files...); err != nil {
		return err
	}
	var first error
	for _, path := range files {
		info, err := inspect(context.Background(), path, o.noise)
		if err == nil && saved != nil {
			err = saveNoise(saved, info.model)
		}
		if err == nil {
			if o.json {
				err = text.JSON(stdout, info)
			} else {
				err = printInfo(stdout, info)
			}
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// saveNoise writes a noise profile.
func saveNoise(to *target.File, m noise.Model) error {
	if err := to.Open(); err != nil {
		return err
	}
	return job.WriteTarget(to, func(w io.Writer) error {
		_, err := w.Write(m.Profile())
		return err
	})
}

func inspect(ctx context.Context, path string, measure bool) (info fileInfo, err error) {
	pool := pipeline.NewPool(kernels.Host{}, 1)
	defer pool.Close()
	in, err := decode.Open(ctx, path, pool, decode.Options{Layouts: denoise.Takes, MaxPixels: decode.DefaultMaxPixels(0)})
	if err != nil {
		return info, err
	}
	defer in.Close()
	var fields interlace.Judge
	if measure {
		info.Noise, info.model, err = survey(ctx, in, &fields)
	} else if f, err := in.Next(ctx); err == nil { // some properties need a picture
		f.Release()
	}
	info.Info = in.Describe()
	info.Advice = job.Advise(info.Info, info.Noise, fields.Find())
	return info, err
}

// survey measures the noise and judges the fields of all frames.
func survey(ctx context.Context, in *decode.Input, fields *interlace.Judge) (*noise.Summary, noise.Model, error) {
	var s noise.Survey
	var last *pipeline.Frame // which the next one is compared with
	defer func() {
		if last != nil {
			last.Release()
		}
	}()
	for n := 0; ; n++ {
		f, err := in.Next(ctx)
		if err == io.EOF {
			sum := s.Summary()
			return &sum, s.Model(), nil
		}
		if err != nil {
			return nil, noise.Model{}, err
		}
		denoise.Observe(&s, f)
		job.JudgeFields(fields, f, n)
		if last != nil {
			last.Release()
		}
		last = f
	}
}

// printNoise describes the noise of each scene in a line.
func printNoise(w io.Writer, sum *noise.Summary) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	half := ""
	if slices.ContainsFunc(sum.Scenes, func(s noise.Scene) bool { return s.Half != nil }) {
		half = "at half size\t"
	}
	fmt.Fprintf(t, "  noise\tframes\tluma\tchroma\tdark\tmiddle\tbright\tgrain\t%s\n", half)
	for i, s := range sum.Scenes {
		last := s.First + s.Frames - 1
		if s.Clean {
			fmt.Fprintf(t, "  scene %d\t%d-%d\t%.1f\t%.1f\tclean\t\n", i+1, s.First, last, s.Luma, s.Chroma)
			continue
		}
		fmt.Fprintf(t, "  scene %d\t%d-%d\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f px\t", i+1, s.First, last, s.Luma, s.Chroma,
			s.Bright[0].Sigma, s.Bright[len(s.Bright)/2].Sigma, s.Bright[len(s.Bright)-1].Sigma, s.Grain)
		if s.Half != nil {
			fmt.Fprintf(t, "%.1f, %.1f\t", s.Half.Luma, s.Half.Chroma)
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

func printInfo(w io.Writer, info fileInfo) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", text.OneLine(string(info.Path)), info.Format)
	if info.Duration > 0 {
		fmt.Fprintf(&b, ", %s", text.Seconds(info.Duration))
	}
	if info.Start != 0 {
		fmt.Fprintf(&b, ", starts at %.3f s", info.Start)
	}
	if info.BitRate > 0 {
		fmt.Fprintf(&b, ", %d kb/s", info.BitRate/1000)
	}
	b.WriteString("\n")
	for _, k := range slices.Sorted(maps.Keys(info.Metadata)) {
		fmt.Fprintf(&b, "  %s: %s\n", text.OneLine(k), text.OneLine(info.Metadata[k]))
	}
	for i, c := range info.Chapters {
		fmt.Fprintf(&b, "  chapter %d: %s to %s  %s\n", i+1, text.Seconds(c.Start), text.Seconds(c.End), text.OneLine(c.Title))
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range info.Streams {
		fmt.Fprintf(t, "  %d\t%s\t%s\t%s\t%s\n", s.Index, s.Kind, s.Codec, s.Role, text.OneLine(streamDetails(s)))
	}
	t.Flush()
	for _, s := range info.Streams {
		if s.Width > 0 && !s.Cover {
			printProperties(&b, s)
		}
	}
	if info.Noise != nil {
		printNoise(&b, info.Noise)
	}
	for _, a := range info.Advice {
		fmt.Fprintf(&b, "  advice: %s (%s)\n", a.Option, a.Reason)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// printProperties lists the properties of a video that its line lacks.
func printProperties(w io.Writer, s decode.StreamInfo) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "  stream %d:\n", s.Index)
	for _, l := range s.Lines() {
		if l.Name != "codec" && l.Name != "size" && l.Name != "pixel format" {
			fmt.Fprintf(t, "    %s\t%s\n", l.Name, text.OneLine(l.Value))
		}
	}
	t.Flush()
}

func streamDetails(s decode.StreamInfo) string {
	var d []string
	add := func(format string, args ...any) { d = append(d, fmt.Sprintf(format, args...)) }
	if s.Width > 0 {
		add("%dx%d", s.Width, s.Height)
		add("%s", s.PixFmt)
		if s.Cover {
			add("cover art")
		} else if s.Rate > 0 {
			add("%.6g fps", s.Rate)
		}
		if s.Role == "filtered" {
			add("filtered %s", s.Path)
			if len(s.NotKept) > 0 {
				add("not kept: %s", strings.Join(s.NotKept, ", "))
			}
		}
	}
	if s.Sample > 0 {
		add("%d Hz, %d channels", s.Sample, s.Channels)
	}
	for _, v := range []string{s.Language, s.Properties["disposition"], s.Properties["title"]} {
		if v != "" && s.Width == 0 {
			add("%s", v)
		}
	}
	return strings.Join(d, ", ")
}
