package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/gpu"
	"vidfilter/internal/text"
)

// command is one word that may stand in the place of the main job.
type command struct {
	name, args, text string
	run              func(args []string, s stdio) error
}

func commands() []command {
	return []command{
		{"info", "FILE... [--json]", "say what is in the files", func(a []string, s stdio) error { return runInfo(a, s.out) }},
		{"devices", "[--compile]", "list what can filter", runDevices},
		{"compare", "A B", "PSNR and SSIM of two videos", func(a []string, s stdio) error { return runCompare(a, s.out) }},
		{"live", "[-i INPUT]", "filter a webcam; live --help", runLive},
		{"batch", "FILES... -o DIR", "filter many files; batch --help", runBatch},
		{"jobs", "DIR", "what a batch does; jobs --help", runJobs},
		{"serve", "--state DIR", "queue for many machines; serve --help", runServe},
		{"worker", "--server URL", "filter for others; worker --help", runWorker},
		{"segments", "[options]", "where to cut a video; segments --help", runSegments},
		{"cut", "[options]", "copy what a part needs; cut --help", runCut},
		{"bench", "[options]", "measure the filter; bench --help", runBench},
		{"lab", "[options]", "the papers' experiments; lab --help", runLab},
		{"completion", "bash|zsh|fish", "print a completion script", func(a []string, s stdio) error { return runCompletion(a, s.out) }},
		{"version", "", "print the version", func(a []string, s stdio) error { return noArguments(a, s, printVersion) }},
		{"help", "", "print this help", func(_ []string, s stdio) error { return printHelp(s.out) }},
	}
}

func runCommand(name string, args []string, s stdio) int {
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == name })
	switch {
	case i < 0:
		return report(unknownCommand(name, all), s)
	case ownFlags()[name] != nil: // has a help of its own
	case slices.Contains(args, "--help") || slices.Contains(args, "-h"):
		return report(printHelp(s.out), s)
	}
	return report(all[i].run(args, s), s)
}

// ownFlags returns the flag sets of the commands that have one.
func ownFlags() map[string]*pflag.FlagSet {
	return map[string]*pflag.FlagSet{
		"live":     newLiveOptions().flags(),
		"batch":    newBatchOptions().flags(),
		"jobs":     new(jobsOptions).flags(),
		"serve":    new(serveOptions).flags(),
		"worker":   new(workerOptions).flags(),
		"bench":    new(benchOptions).flags(),
		"lab":      new(labOptions).flags(),
		"segments": new(segmentOptions).segmentsFlags(),
		"cut":      new(segmentOptions).cutFlags(),
	}
}

func unknownCommand(name string, all []command) error {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	if near := text.Closest(name, names); near != "" {
		return usagef(fmt.Sprintf("did you mean %q?", near), "unknown command %q", name)
	}
	return usagef("files go behind flags: vidfilter -i in.mp4 -o out.mp4", "unknown command %q", name)
}

func noArguments(args []string, s stdio, print func(io.Writer) error) error {
	if len(args) > 0 {
		return usagef("this command takes no arguments", "unexpected argument %q", args[0])
	}
	return print(s.out)
}

// report prints the error of a command, if there is one, and returns the exit code.
func report(err error, s stdio) int {
	if err != nil {
		printError(s.err, err)
	}
	return exitCode(err)
}

// runDevices lists the devices, or has the GPUs' drivers compile all kernels and keep them: what starts later need not wait for that.
func runDevices(args []string, s stdio) error {
	if len(args) == 1 && args[0] == "--compile" {
		return compileKernels(s.out)
	}
	return noArguments(args, s, printDevices)
}

func compileKernels(w io.Writer) error {
	b, err := gpu.Open(gpu.Options{All: true})
	if err != nil {
		return err
	}
	defer b.Close()
	start := time.Now()
	n, err := b.CompileAll(context.Background())
	if err == nil {
		_, err = fmt.Fprintf(w, "%d kernels are ready, after %v\n", n, time.Since(start).Round(time.Millisecond))
	}
	return err
}

func printDevices(w io.Writer) error {
	if _, err := fmt.Fprintln(w, cpuDescription()); err != nil {
		return err
	}
	devices, err := gpu.Devices()
	if err != nil {
		_, err = fmt.Fprintf(w, "no GPU: %s\n", withHint(err))
		return err
	}
	for _, d := range devices {
		if _, err := fmt.Fprintln(w, describeGPU(d)); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "driver: CUDA %s\n", gpu.DriverVersion())
	return err
}

// describeGPU returns a line such as "cuda:0 (NVIDIA H200, compute capability 9.0, 139 GB free of 151 GB)".
func describeGPU(d gpu.Device) string {
	if err := d.Usable(); err != nil {
		return withHint(err)
	}
	what := fmt.Sprintf("%s (%s, compute capability %d.%d, ", d, d.Name, d.Compute/10, d.Compute%10)
	free, err := d.Free()
	if err != nil {
		return fmt.Sprintf("%s%s): cannot be used: %s", what, text.Size(d.Total), withHint(err))
	}
	return fmt.Sprintf("%s%s free of %s)", what, text.Size(free), text.Size(d.Total))
}

// withHint puts an error and what to do about it on one line.
func withHint(err error) string {
	if h := hintOf(err); h != "" {
		return fmt.Sprintf("%v (%s)", err, h)
	}
	return err.Error()
}

// version is set by the linker for a release: -ldflags "-X main.version=1.2.3".
var version = ""

func printVersion(w io.Writer) error {
	_, err := fmt.Fprintf(w, "vidfilter %s (%s, %s/%s)\n", versionName(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func versionName() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
