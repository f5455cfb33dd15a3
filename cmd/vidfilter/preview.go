package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/encode/target"
	"vidfilter/internal/app/job"
	"vidfilter/internal/app/preview"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/kernels"
)

const previewGroup = "Preview"

type previewOptions struct {
	page      string // file to write; "" for one beside the input
	frames    int
	vary      string // NAME=VALUE,VALUE...; "" for the default
	result    string // finished file to show, or ""
	overwrite bool
	noOpen    bool
	quiet     bool
	sandbox   string
}

func (a *app) newPreviewCommand(s terminal.Stdio) *cobra.Command {
	o := previewOptions{frames: 6}
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, previewGroup)
	t.Add(cli.Once(cli.String(&o.page, "FILE")), "output", "o", "page to write (default NAME.preview.html beside the video)")
	t.Add(cli.NewValue(&o.frames, "N", cli.IntIn(1, 30)), "samples", "", "frames to show (default 6)")
	t.Add(cli.String(&o.vary, "NAME=A,B"), "vary", "", "values of an option to compare (default strength=0.7,1,1.4)")
	t.Add(cli.String(&o.result, "FILE"), "result", "", "compare with a finished result of these options instead")
	t.Flag(&o.overwrite, "overwrite", "y", "replace an existing page")
	t.Flag(&o.noOpen, "no-open", "", "do not open the page")
	t.Flag(&o.quiet, "quiet", "q", "print errors only")
	job.SandboxFlag(t, &o.sandbox)
	job.NewOptions().Flags().VisitAll(func(f *pflag.Flag) {
		if fs.Lookup(f.Name) == nil && cli.WhyNotInBatch(f) == "" {
			fs.AddFlag(f)
		}
	})
	return withFlags(&cobra.Command{
		Use:   "preview FILE [options]",
		Short: "Compare settings on a few frames",
		Long: withExits("Filter a few frames of a video and write a page that compares them with the\n"+
			"original. Filter and encoder options apply: see vidfilter help options.",
			contract.ExitInput, contract.ExitOutput, contract.ExitDevice),
		Example: "  vidfilter preview in.mkv\n  vidfilter preview in.mkv --vary quality=fast,good,best\n  vidfilter preview tape.dv --footage tape --vary chroma=1,1.5\n  vidfilter preview in.mkv --result out.mkv",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.page == "" {
				o.page = strings.TrimSuffix(args[0], filepath.Ext(args[0])) + ".preview.html"
			}
			if !a.guards(cmd) {
				return o.run(cmd.Flags(), args[0], s)
			}
			a.code, err = a.runChild(&child{about: args[0]})
			if err == nil && a.code == 0 && !o.noOpen {
				openPage(o.page)
			}
			return err
		},
	}, fs, takes(1, "vidfilter preview in.mkv", "preview takes one video"))
}

// openPage shows a page in the user's browser, if this is a desktop.
func openPage(name string) {
	if os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "" {
		_ = exec.Command("xdg-open", name).Start()
	}
}

// run writes the page.
func (o *previewOptions) run(fs *pflag.FlagSet, file string, s terminal.Stdio) (err error) {
	before, jobs, labels, err := o.jobs(fs, file, s.Env)
	if err != nil {
		return err
	}
	given, clean, inputs := cli.Given(fs, previewGroup), job.CleanName(file, ""), []string{file}
	var sizes string
	if o.result != "" {
		clean, inputs = o.result, append(inputs, o.result)
		if sizes, err = sizesOf(file, o.result); err != nil {
			return err
		}
	}
	to, err := target.Prepare(o.page, job.ReplaceIf(o.overwrite), inputs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Discard()) }()
	before.Quiet = o.quiet
	u := before.OpenUI(s)
	also := sandbox.Policy{Write: []string{to.Path()}}
	if err := before.EnterSandbox(u, also, inputs...); err != nil {
		return err
	}
	p, err := job.PreviewOf(context.Background(), before, jobs, o.frames, u)
	if err != nil {
		return err
	}
	if was, is := p.Samples[0].Before.Bounds(), p.Samples[0].After[0].Bounds(); was != is && o.result != "" {
		return cli.Usagef("give the options that made the result, such as --scale or --crop", "the video is %dx%d, and %s is %dx%d", was.Dx(), was.Dy(), o.result, is.Dx(), is.Dy())
	}
	page := preview.Page{Title: text.OneLine(filepath.Base(file)), Facts: []string{lengthOf(p)}}
	if p.HDR != "" {
		page.Facts = append(page.Facts, "The video is HDR ("+p.HDR+"). This page shows it mapped to SDR by the curve of BT.2390; the job keeps HDR.")
	}
	for i, label := range labels {
		v := preview.Variant{Label: label, Command: commandOf(file, clean, given, label)}
		if e := p.Jobs[i]; e.Time > 0 {
			v.Facts = []string{fmt.Sprintf("The whole video takes about %s and becomes about %s, by these samples.", text.Clock(e.Time.Seconds()), text.Size(e.Bytes))}
		}
		if sizes != "" {
			v.Label, v.Facts = "the result", []string{sizes}
		}
		page.Variants = append(page.Variants, v)
	}
	for _, m := range p.Samples {
		page.Samples = append(page.Samples, sampleOf(m))
	}
	if err := to.Open(); err != nil {
		return err
	}
	if err := job.WriteTarget(to, func(w io.Writer) error { return preview.Write(w, page) }); err != nil {
		return err
	}
	u.Info("wrote " + o.page)
	return nil
}

// jobs returns the video without the filter, and the jobs to compare, with the options in which
// they differ.
func (o *previewOptions) jobs(fs *pflag.FlagSet, file string, env []string) (before *job.Options, all []*job.Options, labels []string, err error) {
	if file == "-" || o.result == "-" {
		return nil, nil, nil, cli.Usagef("save the input to a file first", "preview reads the input more than once, and a pipe can be read once")
	}
	given := append(cli.Given(fs, previewGroup), "--input="+file, "--output="+job.CleanName(file, ""))
	name, values, ok := strings.Cut(o.vary, "=")
	labels = strings.Split(values, ",")
	var plain *job.Options
	if o.vary == "" {
		if plain, err = job.Parse(given, env); err != nil {
			return nil, nil, nil, err
		}
	}
	if o.result != "" {
		if o.vary != "" {
			return nil, nil, nil, cli.Usagef("leave one out", "--vary filters the video, and --result shows a finished file")
		}
		done, err := job.Parse([]string{"--input=" + o.result, "--output=" + job.CleanName(o.result, "")}, nil)
		if err != nil {
			return nil, nil, nil, err
		}
		plain.Device.Kind = "cpu" // which only decodes
		return plain.Unfiltered(), []*job.Options{done.Unfiltered()}, []string{""}, nil
	}
	if o.vary == "" {
		name, labels = "strength", []string{"0.7", "1", "1.4"}
		if _, denoises := plain.Filters.Main().(kernels.Denoise); !denoises || fs.Changed(name) {
			return plain.Unfiltered(), []*job.Options{plain}, []string{""}, nil
		}
	} else if !ok || name == "" || slices.Contains(labels, "") {
		return nil, nil, nil, cli.Usagef("as --vary strength=0.7,1,1.4", "--vary %q: not a name and values", o.vary)
	}
	for i, v := range labels {
		labels[i] = "--" + name + "=" + v
		j, err := job.Parse(append(slices.Clone(given), labels[i]), env)
		if err != nil {
			return nil, nil, nil, err
		}
		all = append(all, j)
	}
	return all[0].Unfiltered(), all, labels, nil
}

// sizesOf compares two files.
func sizesOf(file, result string) (string, error) {
	var sizes [2]string
	for i, name := range []string{file, result} {
		st, err := os.Stat(name)
		if err != nil {
			return "", err
		}
		sizes[i] = text.Size(st.Size())
	}
	return sizes[0] + " became " + sizes[1] + ".", nil
}

// commandOf returns the command that does a job on the whole video.
func commandOf(file, output string, given []string, label string) string {
	args := append([]string{"vidfilter", "-i", file, "-o", output}, given...)
	if label != "" {
		args = append(args, label)
	}
	for i, a := range args {
		args[i] = text.ShellQuote(a)
	}
	return strings.Join(args, " ")
}

func lengthOf(p *job.Preview) string {
	size := p.Samples[0].Before.Bounds()
	return fmt.Sprintf("%dx%d, %s, %s", size.Dx(), size.Dy(), text.Count(p.Frames, "frame"), text.Clock(p.Length.Seconds()))
}

func sampleOf(m job.PreviewSample) preview.Sample {
	at := m.At.Seconds()
	s := preview.Sample{Label: fmt.Sprintf("%s.%d", text.Clock(math.Floor(at)), int(10*at)%10), Before: m.Before, After: m.After}
	if m.Why != "" {
		s.Label += ", " + m.Why
	}
	if n := m.Noise; n != nil {
		s.Facts = []string{fmt.Sprintf("Noise here: %.1f in luma, %.1f in chroma, in 8-bit levels.", n.Luma, n.Chroma)}
	}
	return s
}
