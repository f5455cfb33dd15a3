package main

import (
	"errors"
	"strings"
	"testing"

	"vidfilter/internal/cli"
	"vidfilter/kernels"
)

// parseRender reads the options of vidfilter lab with -i and -o.
func parseRender(args string) (*renderOptions, error) {
	o := newLabOptions()
	fs := o.flags()
	err := cli.ParseArguments(fs, strings.Fields(args), "")
	if err == nil {
		err = o.resolveRender(fs)
	}
	return &o.render, err
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
	for args, want := range map[string]kernels.Planned{
		"thesis_1_naive_b16":         kernels.Bilateral{Radius: 3, SigmaS: 2, SigmaR: 20, Range: kernels.Gaussian},
		"cpu_akers_threads -r 5":     kernels.Bilateral{Radius: 5, SigmaS: 3, SigmaR: 20},
		"recursive_a":                kernels.Recursive{SigmaS: 10, SigmaR: 20, Iterations: 2},
		"recursive_a --iterations 1": kernels.Recursive{SigmaS: 10, SigmaR: 20, Iterations: 1},
		"tile_gaussian_r5":           kernels.Bilateral{Radius: 5, SigmaS: 3, SigmaR: 20, Range: kernels.Gaussian},
		"cpu_pair --sigma-r 7":       kernels.Bilateral{Radius: 3, SigmaS: 2, SigmaR: 7, Range: kernels.Gaussian},
	} {
		o, err := parseRender("-i a -o b.mp4 --kernel " + args)
		if err != nil || o.Params != want {
			t.Errorf("%s: %+v, %v", args, o.Params, err)
		}
	}
}

// TestRenderRefuses: an unsupported option is an error that lists the supported ones.
func TestRenderRefuses(t *testing.T) {
	for _, test := range []struct {
		args  string
		words []string
	}{
		{"thesis_1_naive_b16 --device cpu", []string{"runs on a GPU", "leave --device out"}},
		{"thesis_1_naive_b16 --threads 2", []string{"runs on a GPU", "leave --threads out"}},
		{"paper -r 0", []string{"not radius 0", "radius 1 to 15", "lab --list"}},
		{"tile_gaussian_r5 -r 4", []string{"not radius 4", "radius 5, gaussian"}},
		{"thesis_1_naive_b16 --iterations 1", []string{"--iterations is an option of the recursive filter", "choose another system"}},
		{"recursive_a -r 3", []string{"-r/--radius", "the recursive filter"}},
		{"cpu_naive --device cuda", []string{"runs on the CPU", "leave --device out"}},
		{"cpu_naive --device cuda:1", []string{"runs on the CPU"}},
		{"cpu_sequential --threads 2", []string{"program with 1 thread", "leave --threads out"}},
		{"tensor_lorentzian_r5 --sigma-r 2", []string{"sigma-r 4 to 400", "sigma-r 2"}},
		{"thesis_1_naive_b61", []string{"no variant has such a name", `did you mean "thesis_1_naive_b16"?`}},
		{"cpu_*", []string{"no system has this name"}},
	} {
		_, err := parseRender("-i a -o b.mp4 --kernel " + test.args)
		wantUsage(t, err, test.words...)
	}
	for args, word := range map[string]string{"-i a -o b.mp4": "--kernel NAME is missing", "-i a --kernel cpu_naive": "give both",
		"-i a -o no.foo --kernel cpu_naive": "out.png"} {
		_, err := parseRender(args)
		wantUsage(t, err, word)
	}
}
