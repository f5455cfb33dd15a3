package main

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"vidfilter/decode"
	"vidfilter/kernels"
	"vidfilter/live"
)

// base are the arguments that every job has.
func base(more ...string) []string { return append([]string{"-i", "in.mp4", "-o", "out.mp4"}, more...) }

func wantUsage(t *testing.T, err error, words ...string) {
	t.Helper()
	var usage *usageError
	if !errors.As(err, &usage) || exitCode(err) != exitUsage {
		t.Fatalf("error %v is no usage error", err)
	}
	if usage.hint == "" || strings.ContainsAny(usage.msg+usage.hint, "\n") {
		t.Errorf("error %q, hint %q: want one line each", usage.msg, usage.hint)
	}
	for _, w := range words {
		if !strings.Contains(usage.msg+" | "+usage.hint, w) {
			t.Errorf("error %q, hint %q do not say %q", usage.msg, usage.hint, w)
		}
	}
}

func TestDefaults(t *testing.T) {
	o, err := parseOptions(base(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := defaultOptions()
	want.Input, want.Output, want.Format = "in.mp4", "out.mp4", "mp4"
	want.Params = kernels.DefaultParams(3)
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
	if err := o.Params.Validate(); err != nil {
		t.Error(err)
	}
}

// goodFlags has every flag with a value and what it does; the last value of a row is what must be there.
var goodFlags = []struct {
	flag, value string
	get         func(o *options) any
	want        any
}{
	{"input", "x.mkv", func(o *options) any { return o.Input }, "x.mkv"},
	{"output", "x.mkv", func(o *options) any { return o.Output + o.Format }, "x.mkvmatroska"},
	{"input-format", "hls", func(o *options) any { return o.InputFormat }, "hls"},
	{"format", "ts", func(o *options) any { return o.Format }, "mpegts"},
	{"filter", "recursive", func(o *options) any { return o.Params }, kernels.Params{Filter: kernels.Recursive, Radius: 3, SigmaS: 10, SigmaR: 20, Iterations: 2}},
	{"iterations", "3", func(o *options) any { return o.Params.Iterations }, 3},
	{"radius", "0", func(o *options) any { return o.Params.Radius }, 0},
	{"radius", "15", func(o *options) any { return o.Params.SigmaS }, 8.0},
	{"sigma-s", "1.5", func(o *options) any { return o.Params.SigmaS }, 1.5},
	{"sigma-r", "1e1", func(o *options) any { return o.Params.SigmaR }, 10.0},
	{"range", "gaussian", func(o *options) any { return o.Params.Range }, kernels.Gaussian},
	{"distance", "lab", func(o *options) any { return o.Params.Distance }, kernels.Lab},
	{"border", "skip", func(o *options) any { return o.Params.Border }, kernels.Skip},
	{"kernel", "thesis_1_naive_b16", func(o *options) any { return o.Params }, kernels.Params{
		Radius: 3, SigmaS: 2, SigmaR: 20, Range: kernels.Gaussian, Distance: kernels.Channel, Border: kernels.Skip, Kernel: "thesis_1_naive_b16"}},
	{"kernel", "cpu_akers_threads", func(o *options) any { return o.Params }, kernels.Params{
		Radius: 3, SigmaS: 2, SigmaR: 20, Border: kernels.Zero, Kernel: "cpu_akers_threads"}},
	{"kernel", "recursive_a", func(o *options) any { return o.Params }, kernels.Params{
		Filter: kernels.Recursive, Radius: 3, SigmaS: 10, SigmaR: 20, Iterations: 2, Kernel: "recursive_a"}},
	{"kernel", "tile_gaussian_r5", func(o *options) any { return o.Params }, kernels.Params{
		Radius: 5, SigmaS: 3, SigmaR: 20, Range: kernels.Gaussian, Kernel: "tile_gaussian_r5"}},
	{"device", "cpu", func(o *options) any { return o.Device }, device{Kind: "cpu"}},
	{"device", "cuda", func(o *options) any { return o.Device }, device{Kind: "cuda"}},
	{"device", "cuda:3", func(o *options) any { return o.Device }, device{Kind: "cuda", Indexes: []int{3}}},
	{"device", "cuda:0,2", func(o *options) any { return o.Device }, device{Kind: "cuda", Indexes: []int{0, 2}}},
	{"device", "cuda:all", func(o *options) any { return o.Device }, device{Kind: "cuda", All: true}},
	{"threads", "4", func(o *options) any { return o.Threads }, 4},
	{"streams", "3", func(o *options) any { return o.Streams }, 3},
	{"frames-in-flight", "9", func(o *options) any { return o.FramesInFlight }, 9},
	{"encoder", "mpeg4", func(o *options) any { return o.Encoder }, "mpeg4"},
	{"crf", "23.5", func(o *options) any { return o.CRF }, 23.5},
	{"preset", "veryfast", func(o *options) any { return o.Preset }, "veryfast"},
	{"tune", "film,fastdecode", func(o *options) any { return o.Tune }, "film,fastdecode"},
	{"bitrate", "5M", func(o *options) any { return o.Bitrate }, int64(5000000)},
	{"bitrate", "800k", func(o *options) any { return o.Bitrate }, int64(800000)},
	{"bitrate", "2.5m", func(o *options) any { return o.Bitrate }, int64(2500000)},
	{"gop", "250", func(o *options) any { return o.GOP }, 250},
	{"x264-params", "aq-mode=3:bframes=2", func(o *options) any { return o.X264Params }, "aq-mode=3:bframes=2"},
	{"pixel-format", "yuv444p", func(o *options) any { return o.PixelFormat }, "yuv444p"},
	{"no-audio", "true", func(o *options) any { return o.NoAudio }, true},
	{"no-subs", "1", func(o *options) any { return o.NoSubs }, true},
	{"map", "0:a:1,-s?", func(o *options) any { return strings.Join(o.Map, " ") }, "0:a:1 -s?"},
	{"start", "1:30.5", func(o *options) any { return o.Start }, 90500 * time.Millisecond},
	{"duration", "200ms", func(o *options) any { return o.Duration }, 200 * time.Millisecond},
	{"frames", "100", func(o *options) any { return o.Frames }, int64(100)},
	{"part", "-5:1000:25", func(o *options) any { return *o.Part }, decode.Range{Start: -5, End: 1000, Frames: 25}},
	{"join", "parts.txt", func(o *options) any { return o.Join }, "parts.txt"},
	{"field-order", "tff", func(o *options) any { return o.FieldOrder }, "tff"},
	{"compare", "split", func(o *options) any { return o.Compare }, "split"},
	{"stats", "true", func(o *options) any { return o.Stats }, true},
	{"max-error-rate", "0.1", func(o *options) any { return o.MaxErrorRate }, 0.1},
	{"max-pixels", "100M", func(o *options) any { return o.MaxPixels }, int64(100000000)},
	{"max-pixels", "3840x2160", func(o *options) any { return o.MaxPixels }, int64(3840 * 2160)},
	{"allow-network", "true", func(o *options) any { return o.AllowNetwork }, true},
	{"overwrite", "true", func(o *options) any { return o.Overwrite }, true},
	{"no-overwrite", "true", func(o *options) any { return o.NoOverwrite }, true},
	{"progress", "json", func(o *options) any { return o.Progress }, "json"},
	{"quiet", "true", func(o *options) any { return o.Quiet }, true},
	{"verbose", "true", func(o *options) any { return o.Verbose }, true},
}

func TestEveryFlag(t *testing.T) {
	tested := map[string]bool{"help": true, "version": true}
	for _, test := range goodFlags {
		tested[test.flag] = true
		var args, rest []string
		if test.flag != "input" {
			rest = append(rest, "-i", "in.mp4")
		}
		if test.flag != "output" {
			rest = append(rest, "-o", "out.mp4")
		}
		if test.flag == "iterations" {
			rest = append(rest, "--filter", "recursive")
		}
		args = append(rest, "--"+test.flag+"="+test.value)
		env := []string{envName(test.flag) + "=" + test.value}
		for name, in := range map[string][2][]string{"argument": {args}, "environment": {rest, env}} {
			o, err := parseOptions(in[0], in[1])
			if err != nil {
				t.Errorf("--%s %s as %s: %v", test.flag, test.value, name, err)
			} else if got := test.get(o); !reflect.DeepEqual(got, test.want) {
				t.Errorf("--%s %s as %s gives %v, want %v", test.flag, test.value, name, got, test.want)
			}
		}
	}
	for _, name := range longNames(defaultOptions().flags()) {
		if !tested[name] {
			t.Errorf("--%s has no row in goodFlags", name)
		}
	}
}

func TestShortFlags(t *testing.T) {
	o, err := parseOptions([]string{"-ia.mp4", "-o", "b.mkv", "-r1", "-yq"}, nil)
	if err != nil || o.Input != "a.mp4" || o.Params.Radius != 1 || !o.Overwrite || !o.Quiet {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = parseOptions(base("-nv", "--map", "v", "--map=-s"), nil)
	if err != nil || !o.NoOverwrite || !o.Verbose || len(o.Map) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// badValues has for each flag the values that it refuses, as an argument and in the environment.
var badValues = map[string][]string{
	"radius":           {"16", "-1", "1.5", "x", "24", "25", "30", "50", "60", "23.976", "29.97", "30000/1001", "ntsc", " 1", "0x1", "99999999999999999999"},
	"sigma-s":          {"0", "-1", "nan", "inf", "x", "1_0", "0x1p3"},
	"sigma-r":          {"0", "-2", "NaN", "+Inf", "1e999"},
	"filter":           {"recusive", "Recursive", "gaussian"},
	"iterations":       {"0", "4", "-1", "1.5", "x"},
	"range":            {"gausian", "Gaussian"},
	"distance":         {"rbg", "hsv"},
	"border":           {"mirror"},
	"kernel":           {"none", "thesis_1"},
	"device":           {"gpu", "cuda:", "cuda:-1", "cuda:x", "cuda:256", "cpu:0", "cuda:0,", "cuda:0,0", "cuda:all,0"},
	"threads":          {"-1", "x", "1.5", "100000"},
	"streams":          {"-1", "9", "x"},
	"frames-in-flight": {"-1", "x"},
	"crf":              {"-1", "52", "x", "nan"},
	"bitrate":          {"0", "-5M", "5", "x", "M", "5Mi", "1e30", "9G"},
	"gop":              {"-1", "x"},
	"preset":           {"fats", "Medium"},
	"tune":             {"movie", "film,movie"},
	"map":              {"1:0", "x", "0:", "a:", "a,,s", "--a", "0:a:0:1"},
	"start":            {"-1", "x", "1:60", "60:00", "1:2:3:4", "1h", ".", "s", "1e3", "999999999999999"},
	"duration":         {"0", "-1", "0ms", "x"},
	"frames":           {"0", "-1", "x", "1.5"},
	"part":             {"x", "1:2", "5:5:1", "6:5:1", "0:5:0", "0:5:-1", "0:5:1:2", "0.5:5:1", "0:99999999999999999999:1"},
	"field-order":      {"top", "TFF"},
	"compare":          {"both"},
	"max-error-rate":   {"-0.1", "1.1", "66%", "x"},
	"max-pixels":       {"0", "-1", "x", "100M*", "*", "1e9*1e9", "4k*x"},
	"progress":         {"fancy"},
	"format":           {"avi", "webm"},
	"stats":            {"maybe"},
	"overwrite":        {"yes please"},
	"output":           {"out", "out.avi", "out.webm", "-", "http://x/y.mp4", "dir/"},
}

func TestBadValues(t *testing.T) {
	for flag, values := range badValues {
		for _, v := range values {
			args, name := base(), envName(flag)
			if flag == "output" {
				args, name = args[:2], ""
			}
			_, err := parseOptions(append(args[:len(args):len(args)], "--"+flag+"="+v), nil)
			wantUsage(t, err)
			_, err = parseOptions(args, []string{envName(flag) + "=" + v})
			wantUsage(t, err, name)
		}
	}
	for _, flag := range []string{"input", "output", "encoder", "pixel-format", "crf", "map", "progress", "radius"} {
		_, err := parseOptions([]string{"--" + flag + "="}, nil)
		wantUsage(t, err, flag)
	}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args  string
		words []string
	}{
		{"", []string{"no input", "--help"}},
		{"-o out.mp4", []string{"no input"}},
		{"-i in.mp4", []string{"no output", "-o -"}},
		{"-i in.mp4 -o out.mp4 more.mp4", []string{"unexpected argument", "more.mp4"}},
		{"-i in.mp4 -o out.mp4 -- -x", []string{"unexpected argument"}},
		{"-i a -i b -o out.mp4", []string{"already given"}},
		{"-i a -o out.mp4 -o b.mp4", []string{"already given"}},
		{"-i -o out.mp4", []string{"-i/--input", `"-o"`}},
		{"-i in.mp4 -o", []string{"-o/--output", "needs a value"}},
		{"-i a -o b.mp4 -y -n", []string{"exclude"}},
		{"-i a -o b.mp4 -q -v", []string{"exclude"}},
		{"-i a -o b.mp4 --crf 18 --bitrate 5M", []string{"--crf", "--bitrate"}},
		{"-i - -o b.mp4 --stats", []string{"--stats", "file"}},
		{"-i a -o - --format ts --stats", []string{"--stats", "file"}},
		{"-i a --format null --stats", []string{"--stats"}},
		{"-i a -o b.mkv --part 0:5:1", []string{"--part", "MP4"}},
		{"-i a -o b.mp4 --part 0:5:1 --join c", []string{"--part", "--join"}},
		{"-i a -o b.mp4 --part 0:5:1 --start 1", []string{"--part", "--start"}},
		{"-i a -o b.mp4 --part 0:5:1 --compare side", []string{"--part", "--compare"}},
		{"-i a -o b.mp4 --part 0:5:1 --stats", []string{"--part", "--stats"}},
		{"-i a -o b.mp4 --part 0:5:1 --encoder mpeg4", []string{"--part", "libx264"}},
		{"-i - -o b.mp4 --part 0:5:1", []string{"--part", "file"}},
		{"-i a -o b.mp4 --join c --frames 5", []string{"--join", "--frames"}},
		{"-i a -o b.mp4 --join c --duration 5", []string{"--join", "--duration"}},
		{"-i a -o b.png --join c", []string{"--join", "video"}},
		{"-i a --format null --join c", []string{"--join", "video"}},
		{"-i a -o b.mp4 --stats --compare side", []string{"--compare"}},
		{"-i a -o -", []string{"--format"}},
		{"-i a -o b", []string{"no ending", ".mkv", "--format"}},
		{"-i a -o b.xyz", []string{".xyz", ".mkv", "--format"}},
		{"-i a -o b.mp4 -r 25", []string{"frame rate", "0 to 15"}},
		{"-i a -o b.mp4 -r 30000/1001", []string{"frame rate"}},
		{"-i a -o b.mp4 --raduis 2", []string{"did you mean --radius"}},
		{"-i a -o b.mp4 --distance rbg", []string{`did you mean "rgb"`, "luma"}},
		{"-i a -o b.mp4 -crf 20", []string{"did you mean --crf"}},
		{"-i a -o b.mp4 -radius 2", []string{"did you mean --radius"}},
		{"-ss 10 -i a -o b.mp4", []string{"--start"}},
		{"-i a -t 10 -o b.mp4", []string{"--duration"}},
		{"-i a -c:v libx265 -o b.mp4", []string{"--encoder"}},
		{"-i a -an -o b.mp4", []string{"--no-audio"}},
		{"-i a -o b.mp4 -b:v=5M", []string{"--bitrate"}},
		{"-i a -o b.mp4 -z", []string{"-z", "--help"}},
		{"-i a -o b.mp4 --=x", []string{"--help"}},
		{"-i a -o b.mp4 --filter recursive -r 3", []string{"-r/--radius is an option of the bilateral filter", "--sigma-s"}},
		{"-i a -o b.mp4 --filter recursive --border skip", []string{"--border", "--iterations"}},
		{"-i a -o b.mp4 --range gaussian --filter=recursive", []string{"--range"}},
		{"-i a -o b.mp4 --distance=lab --filter=recursive", []string{"--distance"}},
		{"-i a -o b.mp4 --iterations 2", []string{"--iterations is an option of the recursive filter", "add --filter recursive"}},
		{"-i a -o b.mp4 --filter recursive --sigma-s 20000", []string{"sigma-s 20000", "0.01 to 10000"}},
		{"-i a -o b.mp4 --filter recusive", []string{`did you mean "recursive"`}},
		{"-i a -o b.mp4 -vf x", []string{"--filter"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --device cpu", []string{"for GPUs", "--device"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --range lorentzian", []string{"--range lorentzian", "gaussian, channel, border skip", "lab --list"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --distance rgb", []string{"--distance rgb"}},
		{"-i a -o b.mp4 --kernel paper -r 0", []string{"-r/--radius 0", "radius 1 to 15"}},
		{"-i a -o b.mp4 --kernel tile_gaussian_r5 -r 4", []string{"-r/--radius 4", "radius 5, gaussian, rgb, any border"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --filter recursive", []string{"--filter recursive", "gaussian, channel, border skip", "leave --filter out"}},
		{"-i a -o b.mp4 --kernel thesis_1_naive_b16 --iterations 1", []string{"--iterations", "bilateral one", "choose another kernel"}},
		{"-i a -o b.mp4 --kernel recursive_a -r 3", []string{"-r/--radius", "recursive one", "--sigma-s"}},
		{"-i a -o b.mp4 --kernel recursive_a --filter bilateral", []string{"--filter bilateral", "the recursive filter", "leave --filter out"}},
		{"-i a -o b.mp4 --kernel recursive_a --border clamp", []string{"--border clamp", "the recursive filter"}},
		{"-i a -o b.mp4 --kernel cpu_naive --device cuda", []string{"for the CPU", "leave --device out, or --kernel"}},
		{"-i a -o b.mp4 --kernel cpu_naive --device cuda:1", []string{"for the CPU"}},
		{"-i a -o b.mp4 --kernel cpu_naive --range lorentzian", []string{"--range lorentzian", "gaussian, channel, border skip"}},
		{"-i a -o b.mp4 --kernel cpu_akers --border reflect", []string{"--border reflect", "lorentzian, rgb, border zero"}},
		{"-i a -o b.mp4 --kernel cpu_naive --filter recursive", []string{"--filter recursive", "leave --filter out"}},
		{"-i a -o b.mp4 --kernel cpu_sequential --threads 2", []string{"program of 1 thread", "leave --threads out"}},
		{"-i a -o b.mp4 --kernel tensor_lorentzian_r5 --sigma-r 2", []string{"sigma-r 4 to 400", "sigma-r 2"}},
		{"-i a -o b.mp4 --stats=maybe", []string{"--stats", "maybe"}},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			_, err := parseOptions(strings.Fields(test.args), nil)
			wantUsage(t, err, test.words...)
		})
	}
}

// TestEnvironmentOfBothFilters: what the environment says of the other filter is no mistake.
func TestEnvironmentOfBothFilters(t *testing.T) {
	env := []string{"VIDFILTER_RADIUS=5", "VIDFILTER_ITERATIONS=3", "VIDFILTER_BORDER=clamp"}
	for _, name := range kernels.FilterNames() {
		o, err := parseOptions(base("--filter", name), env)
		if err != nil || o.Params.Filter.String() != name || o.Params.Radius != 5 || o.Params.Iterations != 3 {
			t.Errorf("%s: %+v, %v", name, o.Params, err)
		}
	}
}

// TestEnvironmentOfKernels: nor is what it says of jobs without a kernel, but for a device that the kernel is not for.
func TestEnvironmentOfKernels(t *testing.T) {
	for _, kernel := range []string{"thesis_1_naive_b16", "cpu_sequential"} {
		env := []string{"VIDFILTER_FILTER=recursive", "VIDFILTER_ITERATIONS=3", "VIDFILTER_BORDER=clamp", "VIDFILTER_THREADS=2", "VIDFILTER_RADIUS=5"}
		o, err := parseOptions(base("--kernel", kernel), env)
		if err != nil || o.Params.Filter != kernels.Bilateral || o.Params.Border != kernels.Skip || o.Params.Radius != 5 {
			t.Errorf("%s: %+v, %v", kernel, o.Params, err)
		}
		if want := map[string]int{"cpu_sequential": 1, "thesis_1_naive_b16": 2}[kernel]; o.Threads != want {
			t.Errorf("%s: %d threads, want %d", kernel, o.Threads, want)
		}
	}
	o, err := parseOptions(base("--kernel", "recursive_a", "--sigma-s", "20"), []string{"VIDFILTER_FILTER=bilateral", "VIDFILTER_RADIUS=5", "VIDFILTER_ITERATIONS=1"})
	if err != nil || o.Params.Filter != kernels.Recursive || o.Params.SigmaS != 20 || o.Params.Iterations != 1 {
		t.Errorf("recursive_a: %+v, %v", o.Params, err)
	}
	_, err = parseOptions(base("--kernel", "paper"), []string{"VIDFILTER_DEVICE=cpu"})
	wantUsage(t, err, "the kernel paper is for GPUs, and VIDFILTER_DEVICE is cpu", "leave VIDFILTER_DEVICE out")
	_, err = parseOptions(base("--kernel", "cpu_naive"), []string{"VIDFILTER_DEVICE=cuda"})
	wantUsage(t, err, "for the CPU, and VIDFILTER_DEVICE is cuda")
}

// TestLiveCommand: the command does to a file what is set on the page.
func TestLiveCommand(t *testing.T) {
	o := newLiveOptions()
	for _, args := range []string{
		"-r 3", "-r 5 --sigma-s 1.5 --sigma-r 12 --range gaussian --distance lab --border clamp --field-order tff",
		"--filter recursive --iterations 2", "--filter recursive --iterations 3 --sigma-s 50 --sigma-r 50 --field-order bff",
	} {
		job, err := parseOptions(base(strings.Fields(args)...), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.liveCommand(live.FilterOf(job.Params, job.FieldOrder)); got != "vidfilter -i in.mp4 -o out.mp4 "+args {
			t.Errorf("%s gives %s", args, got)
		}
	}
}

func TestArgumentsWinOverEnvironment(t *testing.T) {
	tests := []struct {
		name      string
		args, env string
		check     func(o *options) bool
	}{
		{"value", "--crf 20", "VIDFILTER_CRF=30", func(o *options) bool { return o.CRF == 20 }},
		{"bad value unseen", "--crf 20", "VIDFILTER_CRF=x", func(o *options) bool { return o.CRF == 20 }},
		{"-n over overwrite", "-n", "VIDFILTER_OVERWRITE=1", func(o *options) bool { return o.NoOverwrite && !o.Overwrite }},
		{"-y over no-overwrite", "-y", "VIDFILTER_NO_OVERWRITE=1", func(o *options) bool { return o.Overwrite && !o.NoOverwrite }},
		{"-v over quiet", "-v", "VIDFILTER_QUIET=1", func(o *options) bool { return o.Verbose && !o.Quiet }},
		{"-q over verbose", "-q", "VIDFILTER_VERBOSE=1", func(o *options) bool { return o.Quiet && !o.Verbose }},
		{"off is no rival", "--quiet=0", "VIDFILTER_VERBOSE=1", func(o *options) bool { return !o.Quiet && o.Verbose }},
		{"bitrate over crf", "--bitrate 5M", "VIDFILTER_CRF=20", func(o *options) bool { return o.Bitrate == 5e6 && o.CRF == 18 }},
		{"off", "--no-audio=false", "VIDFILTER_NO_AUDIO=1", func(o *options) bool { return !o.NoAudio }},
		{"list", "--map a", "VIDFILTER_MAP=v,s", func(o *options) bool { return strings.Join(o.Map, ",") == "a" }},
		{"empty", "", "VIDFILTER_CRF=", func(o *options) bool { return o.CRF == 18 }},
		{"version is for packagers", "", "VIDFILTER_VERSION=1.2", func(o *options) bool { return !o.Version }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o, err := parseOptions(base(strings.Fields(test.args)...), []string{test.env})
			if err != nil || !test.check(o) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	_, err := parseOptions(base(), []string{"VIDFILTER_OVERWRITE=1", "VIDFILTER_NO_OVERWRITE=1"})
	wantUsage(t, err)
}

func TestFilesFromEnvironment(t *testing.T) {
	o, err := parseOptions(nil, []string{"VIDFILTER_INPUT=a.mp4", "VIDFILTER_OUTPUT=b.mp4"})
	if err != nil || o.Input != "a.mp4" || o.Output != "b.mp4" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestMisspelledEnvironment(t *testing.T) {
	names, meant := misspelled([]string{"VIDFILTER_CFR=1", "VIDFILTER_CRF=1", "VIDFILTER_MAX_PIXLES=1", "VIDFILTER_VERSION=2", "VIDFILTER_ENTIRELY_ELSE=1", "HOME=/"})
	if strings.Join(names, " ") != "VIDFILTER_CFR VIDFILTER_MAX_PIXLES" || strings.Join(meant, " ") != "VIDFILTER_CRF VIDFILTER_MAX_PIXELS" {
		t.Errorf("%q mean %q", names, meant)
	}
}

func TestOtherEncodersHaveOtherPresets(t *testing.T) {
	if _, err := parseOptions(base("--encoder", "h264_nvenc", "--preset", "p4", "--tune", "hq"), nil); err != nil {
		t.Error(err)
	}
}

func TestNullNeedsNoName(t *testing.T) {
	o, err := parseOptions([]string{"-i", "a.mp4", "--format", "null"}, nil)
	if err != nil || o.Output != "-" || o.Format != "null" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"--bad --progress json": true, "--bad --progress=json": true, "--bad": false, "--bad --progress plain": false, "--progress": false,
	} {
		o, err := parseOptions(strings.Fields(args), nil)
		if err == nil || (o.Progress == "json") != want {
			t.Errorf("%s: progress %s, error %v", args, o.Progress, err)
		}
	}
	if o, _ := parseOptions([]string{"--bad"}, []string{"VIDFILTER_PROGRESS=json"}); o.Progress != "json" {
		t.Error("the environment is not seen")
	}
}
