package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

func newInfoCommand(s cli.Stdio) *cobra.Command {
	var asJSON bool
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	cli.NewTable(fs, "Options").Flag(&asJSON, "json", "", "print JSON")
	return withFlags(&cobra.Command{
		Use: "info FILE... [options]", Short: "Print what files hold",
		Long:    withExits("Print the format, streams, chapters and metadata of files.", contract.ExitInput, contract.ExitOutput),
		Example: "  vidfilter info in.mp4\n  vidfilter info --json *.mkv",
		RunE:    func(_ *cobra.Command, files []string) error { return runInfo(files, asJSON, s.Out) },
	}, fs, func(args []string) error {
		if len(args) == 0 {
			return cli.Usagef("vidfilter info [--json] FILE...", "info needs a file")
		}
		return nil
	})
}

// runInfo describes each file, also after one that cannot be read.
func runInfo(files []string, asJSON bool, stdout io.Writer) error {
	var first error
	for _, path := range files {
		info, err := inspect(path)
		if err == nil {
			if asJSON {
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

func inspect(path string) (decode.Info, error) {
	cpu, err := kernels.NewCPU(1, "")
	if err != nil {
		return decode.Info{}, err
	}
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	in, err := decode.Open(context.Background(), path, pool, decode.Options{})
	if err != nil {
		return decode.Info{}, err
	}
	defer in.Close()
	if f, err := in.Next(context.Background()); err == nil { // some properties need a picture
		f.Release()
	}
	return in.Describe(), nil
}

func printInfo(w io.Writer, info decode.Info) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", text.OneLine(info.Path), info.Format)
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
	_, err := io.WriteString(w, b.String())
	return err
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
		for _, c := range []struct{ name, value string }{{"matrix", s.Matrix}, {"range", s.Range}, {"fields", s.Fields}, {"aspect", s.Aspect}} {
			if c.value != "" && c.value != "unknown" && c.value != "progressive" {
				add("%s %s", c.name, c.value)
			}
		}
		if s.Rotation != 0 {
			add("turned by %g degrees", s.Rotation)
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
	if s.Language != "" {
		add("%s", s.Language)
	}
	return strings.Join(d, ", ")
}
