package main

import (
	"errors"
	"strings"
	"testing"

	"vidfilter/internal/cli"
	"vidfilter/internal/job"
	"vidfilter/kernels"
)

// parseRender reads the options of vidfilter lab with -i and -o.
func parseRender(args string, env ...string) (*job.Options, error) {
	o := newLabOptions()
	fs := o.flags()
	err := cli.ParseArguments(fs, strings.Fields(args), "")
	if err == nil {
		err = o.completeJob(fs, env)
	}
	return o.job, err
}

func wantUsage(t *testing.T, err error, words ...string) {
	t.Helper()
	var usage *cli.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("error %v is no usage error", err)
	}
	for _, w := range words {
		if !strings.Contains(usage.Error()+" | "+usage.Hint(), w) {
			t.Errorf("error %q, hint %q do not say %q", usage.Error(), usage.Hint(), w)
		}
	}
}

// TestRenderOptions: a system brings its own filter options.
func TestRenderOptions(t *testing.T) {
	for name, want := range map[string]kernels.Params{
		"thesis_1_naive_b16": {Radius: 3, SigmaS: 2, SigmaR: 20, Range: kernels.Gaussian, Distance: kernels.Channel, Border: kernels.Skip},
		"cpu_akers_threads":  {Radius: 3, SigmaS: 2, SigmaR: 20, Border: kernels.Zero},
		"recursive_a":        {Filter: kernels.Recursive, Radius: 3, SigmaS: 10, SigmaR: 20, Iterations: 2},
		"tile_gaussian_r5":   {Radius: 5, SigmaS: 3, SigmaR: 20, Range: kernels.Gaussian},
	} {
		o, err := parseRender("-i a -o b.mp4 --kernel " + name)
		if err != nil || o.Params != want || o.System.Name() != name {
			t.Errorf("%s: %+v, %v", name, o.Params, err)
		}
	}
}

// TestRenderRefuses: an unsupported option is an error that lists the supported ones.
func TestRenderRefuses(t *testing.T) {
	for _, test := range []struct {
		args  string
		words []string
	}{
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --device cpu", []string{"runs on a GPU", "--device"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --range lorentzian", []string{"--range lorentzian", "gaussian, channel, border skip", "lab --list"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --distance rgb", []string{"--distance rgb"}},
		{"-i a -o b.mp4 --kernel paper -r 0", []string{"-r/--radius 0", "radius 1 to 15"}},
		{"-i a -o b.mp4 --kernel tile_gaussian_r5 -r 4", []string{"-r/--radius 4", "radius 5, gaussian, rgb, any border"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --filter recursive", []string{"--filter recursive", "gaussian, channel, border skip", "leave --filter out"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --iterations 1", []string{"--iterations", "not of the bilateral filter", "choose another system"}},
		{"-i a -o b.mp4 --kernel recursive_a -r 3", []string{"-r/--radius", "not of the recursive filter", "--sigma-s"}},
		{"-i a -o b.mp4 --kernel recursive_a --filter bilateral", []string{"--filter bilateral", "the recursive filter", "leave --filter out"}},
		{"-i a -o b.mp4 --kernel recursive_a --border clamp", []string{"--border clamp", "the recursive filter"}},
		{"-i a -o b.mp4 --kernel cpu_naive --device cuda", []string{"runs on the CPU", "leave --device out"}},
		{"-i a -o b.mp4 --kernel cpu_naive --device cuda:1", []string{"runs on the CPU"}},
		{"-i a -o b.mp4 --kernel cpu_naive --range lorentzian", []string{"--range lorentzian", "gaussian, channel, border skip"}},
		{"-i a -o b.mp4 --kernel cpu_akers --border reflect", []string{"--border reflect", "lorentzian, rgb, border zero"}},
		{"-i a -o b.mp4 --kernel cpu_naive --filter recursive", []string{"--filter recursive", "leave --filter out"}},
		{"-i a -o b.mp4 --kernel cpu_sequential --threads 2", []string{"program with 1 thread", "leave --threads out"}},
		{"-i a -o b.mp4 --kernel tensor_lorentzian_r5 --sigma-r 2", []string{"sigma-r 4 to 400", "sigma-r 2"}},
	} {
		_, err := parseRender(test.args)
		wantUsage(t, err, test.words...)
	}
}

// TestRenderEnvironment: the environment may hold options for other jobs, except for a device that
// the system does not support.
func TestRenderEnvironment(t *testing.T) {
	for _, name := range []string{"thesis_1_naive_b16", "cpu_sequential"} {
		o, err := parseRender("-i a -o b.mp4 --kernel "+name,
			"VIDFILTER_FILTER=recursive", "VIDFILTER_ITERATIONS=3", "VIDFILTER_BORDER=clamp", "VIDFILTER_THREADS=2", "VIDFILTER_RADIUS=5")
		if err != nil || o.Params.Filter != kernels.Bilateral || o.Params.Border != kernels.Skip || o.Params.Radius != 5 {
			t.Errorf("%s: %+v, %v", name, o.Params, err)
		}
		if want := map[string]int{"cpu_sequential": 1, "thesis_1_naive_b16": 2}[name]; o.Threads != want {
			t.Errorf("%s: %d threads, want %d", name, o.Threads, want)
		}
	}
	o, err := parseRender("-i a -o b.mp4 --kernel recursive_a --sigma-s 20", "VIDFILTER_FILTER=bilateral", "VIDFILTER_RADIUS=5", "VIDFILTER_ITERATIONS=1")
	if err != nil || o.Params.Filter != kernels.Recursive || o.Params.SigmaS != 20 || o.Params.Iterations != 1 {
		t.Errorf("recursive_a: %+v, %v", o.Params, err)
	}
	_, err = parseRender("-i a -o b.mp4 --kernel paper", "VIDFILTER_DEVICE=cpu")
	wantUsage(t, err, "paper runs on a GPU, and VIDFILTER_DEVICE is cpu", "leave VIDFILTER_DEVICE out")
	_, err = parseRender("-i a -o b.mp4 --kernel cpu_naive", "VIDFILTER_DEVICE=cuda")
	wantUsage(t, err, "runs on the CPU, and VIDFILTER_DEVICE is cuda")
}
