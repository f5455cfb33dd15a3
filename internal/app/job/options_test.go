package job

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/decode"
	"vidfilter/denoise/noise"
	"vidfilter/enhance"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/filters"
	"vidfilter/internal/stages"
	"vidfilter/kernels"
	"vidfilter/repair"
)

// base are the arguments that every job has.
func base(more ...string) []string { return append([]string{"-i", "in.mp4", "-o", "out.mp4"}, more...) }

// parsed returns the options of arguments, which must be right.
func parsed(t *testing.T, args ...string) *Options {
	t.Helper()
	o, err := Parse(args, nil)
	e2e.Must(t, err)
	return o
}

func wantUsage(t *testing.T, err error, words ...string) {
	t.Helper()
	var usage *cli.UsageError
	if !errors.As(err, &usage) || contract.ExitCode(err) != contract.ExitUsage {
		t.Fatalf("error %v is no usage error", err)
	}
	if usage.Hint() == "" || strings.ContainsAny(usage.Error()+usage.Hint(), "\n") {
		t.Errorf("error %q, hint %q: want one line each", usage.Error(), usage.Hint())
	}
	for _, w := range words {
		if !strings.Contains(usage.Error()+" | "+usage.Hint(), w) {
			t.Errorf("error %q, hint %q do not say %q", usage.Error(), usage.Hint(), w)
		}
	}
}

func TestDefaults(t *testing.T) {
	o := parsed(t, base()...)
	want := NewOptions()
	want.Input, want.Output, want.Format = "in.mp4", "out.mp4", "mp4"
	want.openCodec = true
	if !reflect.DeepEqual(o, want) {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
	if err := o.Filters.Validate(); err != nil {
		t.Error(err)
	}
}

// goodFlags has every flag with a value and its effect.
var goodFlags = []struct {
	flag, value string
	get         func(o *Options) any
	want        any
}{
	{"input", "x.mkv", func(o *Options) any { return o.Input }, "x.mkv"},
	{"output", "x.mkv", func(o *Options) any { return o.Output + o.Format }, "x.mkvmatroska"},
	{"input-format", "hls", func(o *Options) any { return o.InputFormat }, "hls"},
	{"format", "ts", func(o *Options) any { return o.Format }, "mpegts"},
	{"footage", "tape", func(o *Options) any { return o.Footage + stages.Crop.Of(o.Filters).Text + o.Depth }, "tapeautoauto"},
	{"filter", "recursive", func(o *Options) any { return o.Filters.Main() }, kernels.Recursive{SigmaS: 10, SigmaR: 20, Iterations: 2}},
	{"iterations", "3", func(o *Options) any { return o.Filters.Main().(kernels.Recursive).Iterations }, 3},
	{"filter", "denoise", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Strength }, 1.0},
	{"strength", "1.5", func(o *Options) any { return o.Filters.Main() }, kernels.Denoise{Strength: 1.5, Luma: 1, Chroma: 1}},
	{"quality", "best", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Quality }, kernels.Best},
	{"grain", "0.3", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Grain }, 0.3},
	{"luma", "0", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Luma }, 0.0},
	{"chroma", "2.5", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Chroma }, 2.5},
	{"luma-only", "true", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Chroma }, 0.0},
	{"temporal-only", "true", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).TemporalOnly }, true},
	{"spatial-only", "true", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).SpatialOnly }, true},
	{"noise", "7.5", func(o *Options) any { return o.Filters.Main().(kernels.Denoise).Noise }, 7.5},
	{"noise-from", "1:02.5,10,20,64,48", func(o *Options) any { return *o.NoiseFrom }, NoiseFrom{62500 * time.Millisecond, noise.Box{X: 10, Y: 20, Width: 64, Height: 48}}},
	{"noise-from", "12.5", func(o *Options) any { return o.NoiseFrom.String() }, "12.5"},
	{"noise-profile", string(noise.Flat(7).Profile()), func(o *Options) any { return *o.Filters.Main().(kernels.Denoise).Known }, noise.Flat(7)},
	{"noise", "auto", func(o *Options) any { return o.Filters.Chosen() }, kernels.DefaultFilter},
	{"radius", "0", func(o *Options) any { return o.Filters.Main().(kernels.Bilateral).Radius }, 0},
	{"radius", "15", func(o *Options) any { return o.Filters.Main().(kernels.Bilateral).SigmaS }, 8.0},
	{"sigma-s", "1.5", func(o *Options) any { return o.Filters.Main().(kernels.Bilateral).SigmaS }, 1.5},
	{"sigma-r", "1e1", func(o *Options) any { return o.Filters.Main().(kernels.Bilateral).SigmaR }, 10.0},
	{"range", "gaussian", func(o *Options) any { return o.Filters.Main().(kernels.Bilateral).Range }, kernels.Gaussian},
	{"border", "clamp", func(o *Options) any { return o.Filters.Main().(kernels.Bilateral).Border }, kernels.Clamp},
	{"device", "cpu", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cpu"}},
	{"device", "cuda", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cuda"}},
	{"device", "cuda:3", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cuda", Indexes: []int{3}}},
	{"device", "cuda:0,2", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cuda", Indexes: []int{0, 2}}},
	{"device", "cuda:all", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cuda", All: true}},
	{"device", "gpu", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cuda"}},
	{"device", "gpu:all", func(o *Options) any { return o.Device }, filters.DeviceChoice{Kind: "cuda", All: true}},
	{"threads", "4", func(o *Options) any { return o.Threads }, 4},
	{"hwaccel", "nvdec", func(o *Options) any { return o.HWAccel }, "nvdec"},
	{"streams", "3", func(o *Options) any { return o.Streams }, 3},
	{"frames-in-flight", "9", func(o *Options) any { return o.FramesInFlight }, 9},
	{"codec", "hevc", func(o *Options) any { return o.Encoder + " " + o.Preset }, "libx265 medium"},
	{"codec", "h265", func(o *Options) any { return o.Codec + " " + o.Encoder }, "hevc libx265"},
	{"codec", "x265", func(o *Options) any { return o.Codec }, "hevc"},
	{"codec", "libx265", func(o *Options) any { return o.Codec }, "hevc"},
	{"codec", "AVC", func(o *Options) any { return o.Codec + " " + o.Encoder }, "h264 libx264"},
	{"codec", "libx264", func(o *Options) any { return o.Codec }, "h264"},
	{"codec", "svt-av1", func(o *Options) any { return o.Codec }, "av1"},
	{"encoder-params", "ref=2", func(o *Options) any { return o.params.String() }, "ref=2"},
	{"encoder", "mjpeg", func(o *Options) any { return o.Encoder }, "mjpeg"},
	{"crf", "23.5", func(o *Options) any { return o.CRF }, 23.5},
	{"preset", "veryfast", func(o *Options) any { return o.Preset }, "veryfast"},
	{"tune", "film,fastdecode", func(o *Options) any { return o.Tune }, "film,fastdecode"},
	{"bitrate", "5M", func(o *Options) any { return o.Bitrate }, int64(5000000)},
	{"bitrate", "800k", func(o *Options) any { return o.Bitrate }, int64(800000)},
	{"bitrate", "2.5m", func(o *Options) any { return o.Bitrate }, int64(2500000)},
	{"gop", "250", func(o *Options) any { return o.GOP }, 250},
	{"x264-params", "aq-mode=3:bframes=2", func(o *Options) any { return o.X264Params.String() }, "aq-mode=3:bframes=2"},
	{"film-grain", "source", func(o *Options) any { return o.FilmGrain }, "source"},
	{"grain-table", "x.tbl", func(o *Options) any { return o.GrainTable }, "x.tbl"},
	{"pixel-format", "yuv444p", func(o *Options) any { return o.PixelFormat }, "yuv444p"},
	{"depth", "10", func(o *Options) any { return o.Depth }, "10"},
	{"no-audio", "true", func(o *Options) any { return o.NoAudio }, true},
	{"no-subs", "1", func(o *Options) any { return o.NoSubs }, true},
	{"map", "0:a:1,-s?", func(o *Options) any { return strings.Join(o.Map, " ") }, "0:a:1 -s?"},
	{"start", "1:30.5", func(o *Options) any { return o.Start }, 90500 * time.Millisecond},
	{"duration", "200ms", func(o *Options) any { return o.Duration }, 200 * time.Millisecond},
	{"frames", "100", func(o *Options) any { return o.Frames }, int64(100)},
	{"part", "-5:1000:25:-9:1004:31", func(o *Options) any { return *o.Part },
		decode.Range{Span: decode.Span{Start: -5, End: 1000, Frames: 25}, Around: decode.Span{Start: -9, End: 1004, Frames: 31}}},
	{"parts", "4", func(o *Options) any { return o.Parts }, 4},
	{"join", "parts.txt", func(o *Options) any { return o.Join }, "parts.txt"},
	{"before", "bwdif=1", func(o *Options) any { return stages.Before.Of(o.Filters).Text }, "bwdif=1"},
	{"crop", "auto", func(o *Options) any { return stages.Crop.Of(o.Filters).Text }, "auto"},
	{"deflicker", "true", func(o *Options) any { d, _ := kernels.OptionNamed("deflicker"); return d.Value(o.Filters) }, true},
	{"chroma-shift", "-4,-2", func(o *Options) any { return stages.ChromaShift.Of(o.Filters).Text }, "-4,-2"},
	{"deinterlace", "bob", func(o *Options) any { return stages.Deinterlace.Of(o.Filters).Number }, float64(enhance.DeinterlaceBob)},
	{"repair", "auto", func(o *Options) any { return kernels.Of[repair.Stage](o.Filters).Mode }, uint8(1)},
	{"sharpen", "0.5", func(o *Options) any { return stages.Sharpen.Of(o.Filters).Number }, 0.5},
	{"deband", "true", func(o *Options) any { return stages.Deband.Of(o.Filters).Number }, 1.0},
	{"scale", "1080p", func(o *Options) any { return stages.Scale.Of(o.Filters).Text }, "1080p"},
	{"fps", "25", func(o *Options) any { return stages.Rate.Of(o.Filters).Text }, "25"},
	{"after", "hflip", func(o *Options) any { return stages.After.Of(o.Filters).Text }, "hflip"},
	{"field-order", "tff", func(o *Options) any { return o.FieldOrder }, "tff"},
	{"compare", "split", func(o *Options) any { return o.Compare }, "split"},
	{"stats", "true", func(o *Options) any { return o.Stats }, true},
	{"max-error-rate", "0.1", func(o *Options) any { return o.MaxErrorRate }, 0.1},
	{"sharers", "3", func(o *Options) any { return o.Sharers }, 3},
	{"sharers-memory", "4000000000", func(o *Options) any { return o.SharersMemory }, int64(4e9)},
	{"max-pixels", "100M", func(o *Options) any { return o.MaxPixels }, int64(100000000)},
	{"max-pixels", "3840x2160", func(o *Options) any { return o.MaxPixels }, int64(3840 * 2160)},
	{"allow-network", "true", func(o *Options) any { return o.AllowNetwork }, true},
	{"overwrite", "true", func(o *Options) any { return o.Overwrite }, true},
	{"no-overwrite", "true", func(o *Options) any { return o.NoOverwrite }, true},
	{"progress", "json", func(o *Options) any { return o.Progress }, "json"},
	{"sandbox", "off", func(o *Options) any { return o.Sandbox }, "off"},
	{"quiet", "true", func(o *Options) any { return o.Quiet }, true},
	{"verbose", "true", func(o *Options) any { return o.Verbose }, true},
}

func TestEveryFlag(t *testing.T) {
	tested := map[string]bool{"help": true, "version": true}
	for _, o := range kernels.Options() {
		tested[o.Name] = true // by TestFilterOptions
	}
	for _, test := range goodFlags {
		tested[test.flag] = true
		var args, rest []string
		if test.flag != "input" {
			rest = append(rest, "-i", "in.mp4")
		}
		if test.flag != "output" {
			rest = append(rest, "-o", "out.mp4")
		}
		args = append(rest, "--"+test.flag+"="+test.value)
		env := []string{cli.EnvName(test.flag) + "=" + test.value}
		for name, in := range map[string][2][]string{"argument": {args}, "environment": {rest, env}} {
			o, err := Parse(in[0], in[1])
			if err != nil {
				t.Errorf("--%s %s as %s: %v", test.flag, test.value, name, err)
			} else if got := test.get(o); !reflect.DeepEqual(got, test.want) {
				t.Errorf("--%s %s as %s gives %v, want %v", test.flag, test.value, name, got, test.want)
			}
		}
	}
	NewOptions().Flags().VisitAll(func(f *pflag.Flag) {
		if !tested[f.Name] {
			t.Errorf("--%s has no row in goodFlags", f.Name)
		}
	})
}

// TestFilterOptions sets each option of the table to the end of its range, in each filter that has
// it.
func TestFilterOptions(t *testing.T) {
	for _, opt := range kernels.Options() {
		if opt.Kind == kernels.Text { // which goodFlags has
			continue
		}
		for _, filter := range opt.Filters() {
			d, _ := opt.In(filter)
			want, text := d.Max, fmt.Sprint(d.Max)
			if opt.Kind == kernels.Name {
				text = opt.Names[int(d.Max)]
			}
			rest, env := base("--filter", filter.String()), []string{cli.EnvName(opt.Name) + "=" + text}
			if opt.Name == "filter" {
				rest = base()
			}
			for source, in := range map[string][2][]string{"argument": {append(rest[:len(rest):len(rest)], "--"+opt.Name+"="+text)}, "environment": {rest, env}} {
				if o, err := Parse(in[0], in[1]); err != nil || opt.Get(o.Filters) != want {
					t.Errorf("--%s %s of %s as %s: %+v, %v", opt.Name, text, filter, source, o.Filters.Main(), err)
				}
			}
			for _, bad := range []string{"-1", "x", "nan", "1e300", ""} {
				_, err := Parse(append(rest[:len(rest):len(rest)], "--"+opt.Name+"="+bad), nil)
				wantUsage(t, err, "--"+opt.Name)
			}
		}
	}
}

func TestShortFlags(t *testing.T) {
	o, err := Parse([]string{"-ia.mp4", "-o", "b.mkv", "-r1", "-yq"}, nil)
	if err != nil || o.Input != "a.mp4" || kernels.Of[kernels.Bilateral](o.Filters).Radius != 1 || !o.Overwrite || !o.Quiet {
		t.Errorf("%+v, %v", o, err)
	}
	o, err = Parse(base("-nv", "--map", "v", "--map=-s"), nil)
	if err != nil || !o.NoOverwrite || !o.Verbose || len(o.Map) != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// badValues has for each flag the values that it refuses, as an argument and in the environment.
var badValues = map[string][]string{
	"radius":           {"16", "-1", "1.5", "x", "24", "25", "30", "50", "60", "23.976", "29.97", "30000/1001", "ntsc", " 1", "0x1", "99999999999999999999"},
	"sigma-s":          {"0", "-1", "nan", "inf", "x", "1_0", "0x1p3"},
	"sigma-r":          {"0", "-2", "NaN", "+Inf", "1e999"},
	"strength":         {"0", "0.4", "2.1", "x", "auto"},
	"quality":          {"Best", "better"},
	"grain":            {"-0.1", "1.1", "x"},
	"luma-only":        {"maybe", "2"},
	"luma":             {"-1", "4.5", "x"},
	"chroma":           {"-0.1", "5", "nan"},
	"temporal-only":    {"maybe"},
	"spatial-only":     {"2"},
	"noise":            {"-1", "101", "Auto", "x"},
	"noise-from":       {"x", "-1", "1,2,3", "1,0,0,31,64", "1,0,0,64,x", "1,-1,0,64,64", "1,0,0,64,64,1"},
	"noise-profile":    {"no such file", "/dev/zero", "/", "{}", "[]", "{\"vidfilter_noise\": 2}", "{\"vidfilter_noise\": 1}"},
	"filter":           {"recusive", "Recursive", "gaussian"},
	"iterations":       {"0", "4", "-1", "1.5", "x"},
	"range":            {"gausian", "Gaussian"},
	"border":           {"mirror", "skip"},
	"device":           {"gpux", "gpu:x", "cuda:", "cuda:-1", "cuda:x", "cuda:256", "cpu:0", "cuda:0,", "cuda:0,0", "cuda:all,0"},
	"threads":          {"-1", "x", "1.5", "100000"},
	"hwaccel":          {"cuda"},
	"parts":            {"-1", "65", "x"},
	"streams":          {"-1", "9", "x"},
	"frames-in-flight": {"-1", "x"},
	"crf":              {"-1", "52", "x", "nan"},
	"bitrate":          {"0", "-5M", "5", "x", "M", "5Mi", "1e30", "9G"},
	"gop":              {"-1", "0", "x"},
	"encoder":          {"nope", "aac", "h264", "ffv1", "rawvideo"},
	"x264-params":      {"crf", "crf=abc", "foo=bar", "stats=x", "crf=20:dump_yuv=x", "zones=0,9,stats=x", "level=99", "a b=1", "crf=2:"},
	"pixel-format":     {"nope", "rgb24"},
	"depth":            {"9", "x", "Auto", "0"},
	"preset":           {"fats", "Medium"},
	"tune":             {"movie", "film,movie"},
	"map":              {"1:0", "x", "0:", "a:", "a,,s", "--a", "0:a:0:1"},
	"start":            {"-1", "x", "1:60", "60:00", "1:2:3:4", "1h", ".", "s", "1e3", "999999999999999"},
	"duration":         {"0", "-1", "0ms", "x"},
	"frames":           {"0", "-1", "x", "1.5"},
	"part":             {"x", "1:2", "5:5:1", "6:5:1", "0:5:0", "0:5:-1", "0:5:1:2", "0.5:5:1", "0:99999999999999999999:1"},
	"before":           {"nosuch", "movie=a"},
	"crop":             {"1920", "8:8"},
	"deflicker":        {"2"},
	"chroma-shift":     {"4", "99,0"},
	"deinterlace":      {"yadif"},
	"repair":           {"on", "1"},
	"sharpen":          {"2", "-1"},
	"deband":           {"maybe"},
	"scale":            {"big", "0"},
	"fps":              {"fast", "0"},
	"after":            {"nosuch", "bwdif=9"},
	"field-order":      {"top", "TFF"},
	"compare":          {"both"},
	"max-error-rate":   {"-0.1", "1.1", "66%", "x"},
	"sharers":          {"0", "-1", "x"},
	"max-pixels":       {"0", "-1", "x", "100M*", "*", "1e9*1e9", "4k*x"},
	"progress":         {"fancy"},
	"sandbox":          {"no"},
	"format":           {"avi"},
	"codec":            {"vp9", "h266", "hevc_nvenc"},
	"film-grain":       {"Keep", "off"},
	"encoder-params":   {"crf", "foo=bar", "stats=x"},
	"stats":            {"maybe"},
	"overwrite":        {"yes please"},
	"output":           {"out", "out.avi", "-", "http://x/y.mp4"},
}

// ofEncoder are flags that the encoder judges.
var ofEncoder = []string{"encoder", "x264-params", "pixel-format"}

func TestBadValues(t *testing.T) {
	for flag, values := range badValues {
		for _, v := range values {
			args, name := base(), cli.EnvName(flag)
			if flag == "output" {
				args, name = args[:2], ""
			}
			_, err := Parse(append(args[:len(args):len(args)], "--"+flag+"="+v), nil)
			wantUsage(t, err)
			if slices.Contains(ofEncoder, flag) {
				name = "" // it is the encoder that refuses them
			}
			_, err = Parse(args, []string{cli.EnvName(flag) + "=" + v})
			wantUsage(t, err, name)
		}
	}
	for _, flag := range []string{"input", "output", "encoder", "pixel-format", "crf", "map", "progress", "radius"} {
		_, err := Parse([]string{"--" + flag + "="}, nil)
		wantUsage(t, err, flag)
	}
}

func TestUsageErrors(t *testing.T) {
	tests := []struct {
		args  string
		words []string
	}{
		{"", []string{"no input", "help options"}},
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
		{"-i a -o b.mp4 --part 0:5:1", []string{"--part lacks the frames around it", "segments"}},
		{"-i a -o b.mkv --part 0:5:1 -r 1", []string{"--part", "MP4"}},
		{"-i a -o b.mp4 --part 0:5:1 --join c", []string{"--part", "--join"}},
		{"-i - -o b.mp4 --part 0:5:1", []string{"--part", "file"}},
		{"-i a -o b.png --join c", []string{"--join", "video"}},
		{"-i a --format null --join c", []string{"--join", "video"}},
		{"-i a -o b.mp4 --stats --compare side", []string{"--compare"}},
		{"-i a -o -", []string{"--format"}},
		{"-i a -o b", []string{"no ending", ".mkv", "--format"}},
		{"-i a -o b.xyz", []string{".xyz", ".mkv", "--format"}},
		{"-i a -o b.mp4 -r 25", []string{"frame rate", "0 to 15"}},
		{"-i a -o b.mp4 --raduis 2", []string{"did you mean --radius"}},
		{"-i a -o b.mp4 --border refect", []string{`did you mean "reflect"`, "clamp"}},
		{"-i a -o b.mp4 -crf 20", []string{"did you mean --crf"}},
		{"-i a -o b.mp4 -radius 2", []string{"did you mean --radius"}},
		{"-ss 10 -i a -o b.mp4", []string{"--start"}},
		{"-i a -t 10 -o b.mp4", []string{"--duration"}},
		{"-i a -c:v libx265 -o b.mp4", []string{"--encoder"}},
		{"-i a -an -o b.mp4", []string{"--no-audio"}},
		{"-i a -o b.mp4 -b:v=5M", []string{"--bitrate"}},
		{"-i a -o b.mp4 -z", []string{"-z", "help options"}},
		{"-i a -o b.mp4 --=x", []string{"help options"}},
		{"-i a -o b.mp4 --filter recursive -r 3", []string{"-r/--radius is an option of the bilateral filter", "--sigma-s"}},
		{"-i a -o b.mp4 --filter recursive --border clamp", []string{"--border", "--iterations"}},
		{"-i a -o b.mp4 --range gaussian --filter=recursive", []string{"--range"}},
		{"-i a -o b.mp4 --filter bilateral --iterations 2", []string{"--iterations is an option of the recursive filter", "the bilateral filter has --radius"}},
		{"-i a -o b.mp4 -r 2 --strength 2", []string{"-r/--radius is an option of the bilateral filter, --strength of the denoise filter", "one of the two"}},
		{"-i a -o b.mp4 -r 2 --iterations 2", []string{"-r/--radius is an option of the bilateral filter, --iterations of the recursive filter"}},
		{"-i a -o b.mp4 --filter denoise -r 2", []string{"not of the denoise filter", "the denoise filter has --strength"}},
		{"-i a -o b.mp4 --filter recursive --sigma-s 20000", []string{"sigma-s 20000", "0.01 to 10000"}},
		{"-i a -o b.mp4 --sigma-r 1e308", []string{`--sigma-r "1e308"`, "at most 1e+09"}},
		{"-i a -o b.mp4 --filter recusive", []string{`did you mean "recursive"`}},
		{"-i a -o b.mp4 -vf x", []string{"unknown option -vf", "--before or --after"}},
		{"-i a -o b.mp4 --size 2", []string{"unknown option --size", "use --scale"}},
		{"-i a -o b.mp4 --crf 99", []string{"must be 0 to 51 for libx264"}},
		{"-i a -o b%03d.png", []string{`"b%03d.png": png holds one picture`, "ffmpeg -i"}},
		{"-i a.avi", []string{"-o FILE is missing", `-o "a.clean.mkv"`}},
		{"-i - -o /dev/", []string{`"/dev/" is a folder`, "name a file in it"}},
		{"-i a -o /dev/stdout", []string{"-o /dev/stdout needs --format"}},
		{"-i a -o /dev/fd/63", []string{"-o /dev/fd/63 needs --format"}},
		{"-i a -o b.mp4 --encoder ffv1", []string{"mp4 cannot hold the video of the encoder ffv1", ".mov or .mkv"}},
		{"-i a -o b.ts --encoder ffv1", []string{"mpegts cannot hold", ".mov or .mkv"}},
		{"-i a -o b.mkv --film-grain keep", []string{"--film-grain keep is for AV1: libx264 has no film grain", "--codec av1"}},
		{"-i a -o b.mkv --codec av1 --film-grain keep -r 2", []string{"--film-grain keep is of what the denoiser removes"}},
		{"-i a -o b.mkv --codec av1 --film-grain keep --compare split", []string{"--film-grain keep and --compare exclude"}},
		{"-i a -o b.mkv --grain-table c --filter recursive", []string{"--grain-table is of what the denoiser removes"}},
		{"-i a -o b.mkv --grain-table ./b.mkv", []string{"the same file"}},
		{"-i a -o b.mkv --grain-table -", []string{"--grain-table writes a file"}},
		{"-i a -o b.mkv --encoder aac", []string{"not for video", "ffv1"}},
		{"-i a -o b.mkv --encoder libx266", []string{`no encoder "libx266"`, "did you mean libx26"}},
		{"-i a -o b.mkv --encoder x264", []string{`no encoder "x264"`, "libx264"}},
		{"-i a -o b.mkv --encoder nvenc", []string{`no encoder "nvenc"`, "--codec hevc --hwaccel nvenc"}},
		{"-i a -o b.mkv --noise-from 1 --noise 3", []string{"--noise and --noise-from exclude each other"}},
		{"-i a -o b.mkv --noise-from 1 -r 3", []string{"--noise-from is an option of the denoise filter"}},
		{"-i - -o b.mkv --noise-from 1", []string{"--noise-from reads the input twice"}},
		{"-i a -o b.mkv --noise-from 1 --part 0:1:1:0:2:2", []string{"a part may lack the time"}},
		{"-i a -o b.mkv --temporal-only --spatial-only", []string{"--temporal-only and --spatial-only exclude each other"}},
		{"-i a -o b.mkv --luma-only --chroma 0.5", []string{"--chroma and --luma-only exclude each other"}},
		{"-i a -o b.mkv --encoder libx265 --codec hevc", []string{"--codec and --encoder exclude each other"}},
		{"-i a -o b.mkv --codec av1 --crf 64", []string{"--crf", "1 to 63"}},
		{"-i a -o b.mkv --codec av1 --crf 0", []string{"--crf", "1 to 63 for libsvtav1", "SVT-AV1"}},
		{"-i a -o b.mkv --codec hevc --preset 5", []string{"--preset", "ultrafast"}},
		{"-i a -o b.mov --codec prores --gop 5", []string{"--gop", "key frame"}},
		{"-i a -o b.mov --codec dnxhd --bitrate 5M", []string{"--bitrate"}},
		{"-i a -o b.webm --codec h264", []string{"webm cannot hold the video of the encoder libx264", ".mkv", "--codec"}},
		{"-i a -o b.mkv --codec ffv1 --encoder-params coder=x", []string{"rice, range_def"}},
		{"-i a -o b.mkv --encoder mjpeg --encoder-params q=1", []string{"no option --encoder-params"}},
		{"-i a -o b.mkv --encoder h264", []string{`no encoder "h264"`, "its encoder is libx264"}},
		{"-i a -o b.mkv --encoder ffv1 --preset slow", []string{"the encoder ffv1 has no option --preset"}},
		{"-i a -o b.mkv --encoder ffv1 --x264-params crf=20", []string{"the encoder ffv1 has no option --x264-params"}},
		{"-i a -o b.mp4 --preset nonsense", []string{"--preset", "veryfast"}},
		{"-i a -o b.mp4 --x264-params crf", []string{`x264 parameter "crf" needs a value`, "crf=VALUE"}},
		{"-i a -o b.mp4 --x264-params bframe=3", []string{`unknown x264 parameter "bframe"`, `did you mean "bframes"?`}},
		{"-i a -o b.mp4 --x264-params stats=x", []string{`x264 parameter "stats" writes a file; vidfilter does not allow it`}},
		{"-i a -o b.mp4 --x264-params level=99", []string{"libx264 does not take these options: invalid level_idc: 99"}},
		{"-i a -o b.mp4 --part 0:5:1 --input-format hls", []string{"--input-format hls", "names others", "--part"}},
		{"-i a -o b.mp4 --join c --input-format CONCAT", []string{"--input-format CONCAT", "--join"}},
		{"-i a -o b.mp4 --part 0:5:1 --x264-params stats=x", []string{`"stats" writes a file`}},
	}
	for _, test := range tests {
		t.Run(test.args, func(t *testing.T) {
			_, err := Parse(strings.Fields(test.args), nil)
			wantUsage(t, err, test.words...)
		})
	}
}

// TestEnvironmentOfBothFilters: variables for the other filter are ignored.
func TestEnvironmentOfBothFilters(t *testing.T) {
	env := []string{"VIDFILTER_RADIUS=5", "VIDFILTER_ITERATIONS=3", "VIDFILTER_BORDER=clamp"}
	for _, name := range kernels.FilterNames() {
		o, err := Parse(base("--filter", name), env)
		if err != nil || o.Filters.Chosen().Name != name || kernels.Of[kernels.Bilateral](o.Filters).Radius != 5 || kernels.Of[kernels.Recursive](o.Filters).Iterations != 3 {
			t.Errorf("%s: %+v, %v", name, o.Filters, err)
		}
	}
}

func TestArgumentsWinOverEnvironment(t *testing.T) {
	tests := []struct {
		name      string
		args, env string
		check     func(o *Options) bool
	}{
		{"value", "--crf 20", "VIDFILTER_CRF=30", func(o *Options) bool { return o.CRF == 20 }},
		{"bad value unseen", "--crf 20", "VIDFILTER_CRF=x", func(o *Options) bool { return o.CRF == 20 }},
		{"-n over overwrite", "-n", "VIDFILTER_OVERWRITE=1", func(o *Options) bool { return o.NoOverwrite && !o.Overwrite }},
		{"-y over no-overwrite", "-y", "VIDFILTER_NO_OVERWRITE=1", func(o *Options) bool { return o.Overwrite && !o.NoOverwrite }},
		{"-v over quiet", "-v", "VIDFILTER_QUIET=1", func(o *Options) bool { return o.Verbose && !o.Quiet }},
		{"-q over verbose", "-q", "VIDFILTER_VERBOSE=1", func(o *Options) bool { return o.Quiet && !o.Verbose }},
		{"off is no rival", "--quiet=0", "VIDFILTER_VERBOSE=1", func(o *Options) bool { return !o.Quiet && o.Verbose }},
		{"bitrate over crf", "--bitrate 5M", "VIDFILTER_CRF=20", func(o *Options) bool { return o.Bitrate == 5e6 && o.CRF == 18 }},
		{"off", "--no-audio=false", "VIDFILTER_NO_AUDIO=1", func(o *Options) bool { return !o.NoAudio }},
		{"list", "--map a", "VIDFILTER_MAP=v,s", func(o *Options) bool { return strings.Join(o.Map, ",") == "a" }},
		{"empty", "", "VIDFILTER_CRF=", func(o *Options) bool { return o.CRF == 18 }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o, err := Parse(base(strings.Fields(test.args)...), []string{test.env})
			if err != nil || !test.check(o) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	_, err := Parse(base(), []string{"VIDFILTER_OVERWRITE=1", "VIDFILTER_NO_OVERWRITE=1"})
	wantUsage(t, err)
}

func TestFilesFromEnvironment(t *testing.T) {
	o, err := Parse(nil, []string{"VIDFILTER_INPUT=a.mp4", "VIDFILTER_OUTPUT=b.mp4"})
	if err != nil || o.Input != "a.mp4" || o.Output != "b.mp4" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOtherEncodersHaveOtherPresets(t *testing.T) {
	_, err := Parse(base("--encoder", "h264_qsv", "--preset", "p4", "--tune", "hq"), nil)
	wantUsage(t, err, `this build has no encoder "h264_qsv"`) // no error about its preset
}

// NVENC's encoders are chosen by name, or by --hwaccel and codec.
func TestNVENCOptions(t *testing.T) {
	for args, want := range map[string]string{
		"--encoder hevc_nvenc --preset p4 --tune hq": "hevc_nvenc p4 20",
		"--hwaccel nvenc": "h264_nvenc medium 18",
		"--hwaccel auto,nvenc --codec av1 --preset slow":    "av1_nvenc slow 24",
		"--hwaccel nvdec,nvenc --codec hevc --crf 30":       "hevc_nvenc medium 30",
		"--hwaccel auto --codec hevc":                       "libx265 medium 20",
		"--hwaccel nvenc --encoder-params spatial-aq=1":     "h264_nvenc medium 18",
		"--hwaccel nvenc --pixel-format yuv444p":            "h264_nvenc medium 18",
		"--encoder av1_nvenc --pixel-format p010le --gop 9": "av1_nvenc medium 24",
	} {
		o, err := Parse(base(strings.Fields(args)...), nil)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if got := fmt.Sprintf("%s %s %g", o.Encoder, o.Preset, o.CRF); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
	for args, want := range map[string][]string{
		"--hwaccel nvenc --encoder libx265":                         {"the encoder libx265 works on the CPU", "--encoder hevc_nvenc"},
		"--hwaccel nvenc --codec prores":                            {"NVENC does not encode what the encoder prores_ks does", "--codec h264, hevc or av1"},
		"--hwaccel nvenc --format png":                              {"NVENC encodes video", "leave nvenc out"},
		"--hwaccel nvenc --format webm --codec hevc":                {"webm cannot hold the video of the encoder hevc_nvenc"},
		"--hwaccel nvenc --preset placebo":                          {"placebo", "p7"},
		"--hwaccel nvenc --tune film":                               {"film", "hq"},
		"--hwaccel nvenc --codec av1 --tune lossless":               {"lossless", "hq, ll, ull"},
		"--hwaccel nvenc --crf 0":                                   {"must be 1 to 51", "--tune lossless"},
		"--hwaccel nvenc --codec hevc --crf 52":                     {"must be 1 to 51"},
		"--hwaccel nvenc --codec av1 --crf 0":                       {"must be 1 to 63"},
		"--hwaccel nvenc --tune lossless --crf 20":                  {"--tune lossless has no quality", "leave --crf"},
		"--hwaccel nvenc --tune lossless --bitrate 5M":              {"--tune lossless has no quality", "leave --crf"},
		"--hwaccel nvenc --tune lossless --encoder-params qp=5":     {"--tune lossless has no quality"},
		"--hwaccel nvenc --encoder-params qp=20 --crf 20":           {"qp keeps the quantiser constant", "give one of them"},
		"--hwaccel nvenc --encoder-params qp=20:rc=vbr":             {"excludes rc=vbr"},
		"--hwaccel nvenc --encoder-params rc=constqp":               {"rc=constqp needs a quantiser", "qp=20"},
		"--hwaccel nvenc --encoder-params rc=constqp --bitrate 5M":  {"rc=constqp keeps the quantiser constant", "leave rc out"},
		"--hwaccel nvenc --encoder-params rc=cbr":                   {"rc=cbr needs a bit rate", "--bitrate 5M"},
		"--hwaccel nvenc --encoder-params cq=30 --bitrate 5M":       {"--bitrate and the parameter cq exclude each other"},
		"--hwaccel nvenc --encoder-params cq=30 --crf 30":           {"--crf and the parameter cq are the same"},
		"--hwaccel nvenc --encoder-params bf=3 --gop 4":             {"--gop 4 is too short for bf=3", "--gop 5"},
		"--hwaccel nvenc --encoder-params gpu=1":                    {"no parameter \"gpu\"", "spatial-aq"},
		"--hwaccel nvenc --encoder-params rc-lookahead=x":           {"the encoder h264_nvenc does not take"},
		"--hwaccel nvenc --codec hevc --encoder-params coder=cabac": {"hevc_nvenc has no parameter \"coder\"", "known are"},
		"--hwaccel nvenc --codec hevc --encoder-params tile-rows=1": {"hevc_nvenc has no parameter \"tile-rows\""},
		"--hwaccel nvenc --codec av1 --encoder-params profile=main": {"av1_nvenc has no parameter \"profile\""},
		"--hwaccel nvenc --codec av1 --encoder-params tier=high":    {"does not take \"high\"", "0, 1"},
		"--hwaccel nvenc --codec hevc --encoder-params level=x":     {"the encoder hevc_nvenc does not take these options: Un"},
		"--hwaccel nvenc --codec hevc --x264-params ref=2":          {"the encoder hevc_nvenc has no option --x264-params"},
		"--hwaccel nvenc --pixel-format yuv422p":                    {"the encoder h264_nvenc does not take yuv422p"},
		"--hwaccel nvenc --codec av1 --film-grain keep":             {"AV1 that the CPU encodes"},
		"--hwaccel nvenc,nvdec":                                     {"nvdec,nvenc"},
	} {
		_, err := Parse(base(strings.Fields(args)...), nil)
		wantUsage(t, err, want...)
	}
}

func TestNullNeedsNoName(t *testing.T) {
	o, err := Parse([]string{"-i", "a.mp4", "--format", "null"}, nil)
	if err != nil || o.Output != "-" || o.Format != "null" {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestWantsJSON(t *testing.T) {
	for args, want := range map[string]bool{
		"--bad --progress json": true, "--bad --progress=json": true, "--bad": false, "--bad --progress plain": false, "--progress": false,
	} {
		o, err := Parse(strings.Fields(args), nil)
		if err == nil || (o.Progress == "json") != want {
			t.Errorf("%s: progress %s, error %v", args, o.Progress, err)
		}
	}
	if o, _ := Parse([]string{"--bad"}, []string{"VIDFILTER_PROGRESS=json"}); o.Progress != "json" {
		t.Error("the environment is not seen")
	}
}

// Each attribute of an option fits the option.
func TestAttributes(t *testing.T) {
	o := NewOptions()
	fs := o.Flags()
	good := map[string]string{}
	for _, row := range goodFlags {
		good[row.flag] = row.value
	}
	fs.VisitAll(func(f *pflag.Flag) {
		for _, name := range cli.Excludes().Args(f) {
			if name == f.Name || fs.Lookup(name) == nil {
				t.Errorf("--%s excludes --%s, which is no other option", f.Name, name)
			}
		}
		// Another machine lacks the file. A noise profile itself is the value there.
		if f.Value.Type() == "FILE" && cli.WhyNotInBatch(f) == "" && f.Name != "noise-profile" {
			t.Errorf("--%s names a file, and jobs of a batch can have it", f.Name)
		}
		for _, a := range []cli.Attribute{oneFilter.because(""), oneEncoder.because(""), oneProcess.because(""), changes("")} {
			args := a.Args(f)
			if args == nil {
				continue
			}
			values := args[1:]
			if len(values) == 0 {
				values = []string{good[f.Name]}
			}
			for name := range o.set(a) {
				if name == f.Name {
					t.Errorf("--%s is set by default", name)
				}
			}
			for _, v := range values {
				own := NewOptions()
				e2e.Must(t, own.Flags().Set(f.Name, v))
				found := false
				for name, arg := range own.set(a) {
					found = found || name == f.Name && arg == args[0]
				}
				if !found {
					t.Errorf("--%s %s does not %s", f.Name, v, args[0])
				}
			}
		}
	})
}

// Options about running do not change the result, except for these.
func TestNeutral(t *testing.T) {
	var deciding []string
	NewOptions().Flags().VisitAll(func(f *pflag.Flag) {
		if cli.GroupOf(f) == "Running" && !cli.Neutral.On(f) && cli.WhyNotInBatch(f) == "" {
			deciding = append(deciding, f.Name)
		}
	})
	if want := []string{"hwaccel", "max-error-rate"}; !slices.Equal(deciding, want) {
		t.Errorf("options about running that change the result: %v, want %v", deciding, want)
	}
}

// Parts of a batch are refused for the same reasons that keep a video whole.
func TestWhole(t *testing.T) {
	for args, why := range map[string]string{
		"-o b.mkv":                                             "",
		"-o b.mkv --radius 3 --crf 20":                         "",
		"-o b.mkv --codec hevc":                                "",
		"-o b.mkv --codec av1":                                 "",
		"-o b.mkv --encoder libx264":                           "",
		"-o b.mkv --codec av1 --film-grain source":             "",
		"-o b.mkv --codec av1 --film-grain keep":               "--film-grain keep measures",
		"-o b.mkv --grain-table c":                             "--grain-table is",
		"-o b.mkv --encoder ffv1":                              "ffv1",
		"-o b.mov --codec prores":                              "prores",
		"-o b.mkv --hwaccel nvenc":                             "nvenc",
		"-o b.mkv --start 1":                                   "takes a piece",
		"-o b.mkv --duration 10":                               "takes a piece",
		"-o b.mkv --frames 9":                                  "takes a piece",
		"-o b.mkv --compare side":                              "--compare",
		"-o b.mkv --stats":                                     "--stats",
		"-o b.mkv --bitrate 5M":                                "--bitrate",
		"-o b.mkv --x264-params vbv-maxrate=9:vbv-bufsize=9":   "vbv-maxrate",
		"-o b.mkv --codec hevc --encoder-params zones=0,9,q=9": "zones",
	} {
		o, err := Parse(append([]string{"-i", "a.mp4"}, strings.Fields(args)...), nil)
		if err != nil {
			t.Errorf("%s: %v", args, err)
			continue
		}
		if got := o.Whole(); (got == "") != (why == "") || !strings.Contains(got, why) {
			t.Errorf("%s: %q, want %q", args, got, why)
		}
		if why == "" {
			continue
		}
		part := strings.Fields(strings.NewReplacer("b.mkv", "b.mp4", "b.mov", "b.mp4").Replace(args))
		for _, option := range []string{"--part", "--join"} {
			_, err = Parse(slices.Concat([]string{"-i", "a.mp4", option, "0:9:9"}, part), nil)
			wantUsage(t, err, option, why)
		}
	}
}

func TestOutputInFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	e2e.Must(t, os.MkdirAll("out/x.mp4", 0o700))
	for _, c := range []struct{ args, want string }{
		{"-i in/a.mp4 -o out", "out/a.mp4"}, {"-i in/a.MOV -o out/", "out/a.MOV"}, {"-i in/a.b.avi -o .", "a.b.mkv"}, {"-i a -o none/", "none/a.mkv"},
		{"-i a.mkv -o out --format mp4", "out/a.mp4"}, {"-i a.webm -o out", "out/a.mkv"}, {"-i a.png -o out", "out/a.png"}, {"-i in%02d.png -o out/", "out/in%02d.png"},
		{"-i a.mkv -o out/x.mp4", "out/x.mp4"}, // which is refused as a folder: a name was meant
		{"-i /dev/stdin -o b.mkv", "b.mkv"}, {"-i a -o /proc/self/fd/1 --format mkv", "-"}, {"-i a -o /dev/fd/7 --format mkv", "/dev/fd/7"},
	} {
		o, err := Parse(strings.Fields(c.args), nil)
		if err != nil || o.Output != c.want || strings.Contains(c.args, "/dev/stdin") && o.Input != "-" {
			t.Errorf("%s: from %q to %q, %v; want %q", c.args, o.Input, o.Output, err, c.want)
		}
	}
}
