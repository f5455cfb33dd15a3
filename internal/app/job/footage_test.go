package job

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/denoise/noise"
	"vidfilter/interlace"
	"vidfilter/internal/cli"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
)

// TestFootages: --footage NAME gives the same job as its options.
func TestFootages(t *testing.T) {
	for _, f := range Footages {
		var args []string
		for _, c := range f.Options {
			args = append(args, "--"+c.Name+"="+c.Value)
		}
		want := parsed(t, base(args...)...)
		got := parsed(t, base("--footage", f.Name)...)
		if line := fmt.Sprintf("--footage %s: %s", f.Name, typed(f.Options)); got.FootageLine() != line {
			t.Errorf("%q, want %q", got.FootageLine(), line)
		}
		got.Footage, got.footageSet = "", nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%+v\nand its options are\n%+v", f.Name, got, want)
		}
	}
}

// but returns the options of a kind on the command line, without the named ones.
func but(kind string, names ...string) string {
	i := slices.IndexFunc(Footages, func(f Footage) bool { return f.Name == kind })
	rest := slices.DeleteFunc(slices.Clone(Footages[i].Options), func(c Choice) bool { return slices.Contains(names, c.Name) })
	return cmp.Or(typed(rest), "no option")
}

// TestFootageYields: the user's options win, and they drop options of the kind that conflict.
func TestFootageYields(t *testing.T) {
	for _, c := range []struct{ args, env, line string }{
		{"--footage tape --crop 704:576", "", "--footage tape: " + but("tape", "crop")},
		{"--crop 704:576 --deinterlace off --depth 8 --footage tape", "", "--footage tape: " + but("tape", "crop", "deinterlace", "depth")},
		{"--footage film --grain 0 --depth 8", "", "--footage film: " + but("film", "grain", "depth")},
		{"--footage tape --compare split --deinterlace off", "", "--footage tape: " + but("tape", "crop", "deinterlace")},
		{"--footage tape", "VIDFILTER_DEINTERLACE=bob", "--footage tape: " + but("tape", "deinterlace")},
		{"", "VIDFILTER_FOOTAGE=film", "--footage film: " + but("film")},
		{"--footage anime", "VIDFILTER_FOOTAGE=film", "--footage anime: " + but("anime")},
		{"--footage film -r 2", "", "--footage film: " + but("film", "grain") + "; not possible here: --grain 0.3"},
		{"--footage film", "VIDFILTER_RADIUS=2", "--footage film: " + but("film", "grain") + "; not possible here: --grain 0.3"},
		{"--crf 20", "", ""},
	} {
		o, err := Parse(base(strings.Fields(c.args)...), []string{c.env})
		if err != nil || o.FootageLine() != c.line {
			t.Errorf("%s %s: %q, %v; want %q", c.env, c.args, o.FootageLine(), err, c.line)
		}
	}
	pipe := []string{"-i", "-", "-o", "out.mp4", "--footage", "tape"}
	for _, args := range [][]string{pipe, base("--before", "hflip", "--footage", "tape")} {
		if o, err := Parse(args, nil); err != nil || !strings.Contains(o.FootageLine(), "; not possible here: --crop auto") {
			t.Errorf("%q, %v", o.FootageLine(), err)
		}
	}
	_, err := Parse(append(pipe, "--crop", "auto"), nil)
	wantUsage(t, err, "--crop auto reads the input twice")
	_, err = Parse(base("--footage", "tap"), nil)
	wantUsage(t, err, `did you mean "tape"?`)
}

// TestFootageLive: live video gets the options that it supports.
func TestFootageLive(t *testing.T) {
	for kind, want := range map[string][]string{
		"tape": {"no option; not for live pictures: --deinterlace auto --crop auto"}, "film": {" --grain 0.3; not for live pictures: ", "--depth auto"},
	} {
		o, fs := NewOptions(), cli.NewFlagSet()
		o.PictureFlags(cli.NewTable(fs, "Filter"), kernels.Place.Live)
		e2e.Must(t, fs.Parse([]string{"--footage", kind}))
		e2e.Must(t, o.CheckFilter(fs))
		for _, part := range want {
			if !strings.Contains(o.FootageLine(), part) {
				t.Errorf("%q lacks %q", o.FootageLine(), part)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the table of docs/enhance.md")

// TestFootageDocs compares the table in docs/enhance.md with Footages.
func TestFootageDocs(t *testing.T) {
	const file = "../../../docs/enhance.md"
	page, table := string(e2e.Read(t, file)), "| `--footage` | footage | options |\n| --- | --- | --- |\n"
	for _, f := range Footages {
		table += fmt.Sprintf("| `%s` | %s | `%s` |\n", f.Name, f.Of, typed(f.Options))
	}
	old := regexp.MustCompile("(?m)^\\| `--footage` \\|.*\n(\\|.*\n)*").FindString(page)
	if *update {
		e2e.Must(t, os.WriteFile(file, []byte(strings.Replace(page, old, table, 1)), 0o666))
	} else if old != table {
		t.Errorf("go test -run FootageDocs ./internal/app/job -args -update: the table is\n%s, not\n%s", old, table)
	}
}

func TestAdvise(t *testing.T) {
	grain := noise.Scene{Frames: 9, Grain: 1.8, Bright: []noise.AtLevel{{Sigma: 1}, {Sigma: 2}, {Sigma: 1}}}
	flat := noise.Scene{Frames: 9, Grain: 0.9, Bright: []noise.AtLevel{{Sigma: 2}, {Sigma: 2}, {Sigma: 2}}}
	for _, c := range []struct {
		codec, size, rate, chroma, fields string
		scene                             *noise.Scene
		want                              string
	}{
		{"dvvideo", "720x576", "25", "4:2:0", "top field first", nil, "--footage tape"},
		{"dvvideo", "720x480", "29.97", "4:1:1", "bottom field first", nil, "--footage tape"},
		{"ffv1", "720x486", "29.97", "4:2:2", "top field first in 3, progressive in 1 of 4 pictures", nil, "--footage tape"},
		{"mpeg2video", "720x608", "25", "4:2:2", "top field first", nil, "--footage tape"},
		{"mpeg2video", "720x576", "25", "4:2:0", "top field first", nil, "--deinterlace"},
		{"mpeg2video", "1440x1080", "25", "4:2:0", "top field first", nil, "--deinterlace"},
		{"ffv1", "1920x1080", "25", "4:2:2", "top field first", nil, "--deinterlace"},
		{"dvvideo", "720x576", "25", "4:2:0", "progressive", nil, ""},
		{"ffv1", "720x576", "25", "4:2:2", "", nil, ""},
		{"ffv1", "2048x1536", "18", "4:4:4", "progressive", nil, "--footage film"},
		{"prores", "1440x1080", "16", "4:2:2", "progressive", nil, "--footage film"},
		{"h264", "640x360", "18", "4:2:0", "progressive", nil, ""},
		{"ffv1", "2048x1536", "24", "none", "progressive", &grain, "--footage film"},
		{"ffv1", "2048x1536", "23.976", "none", "progressive", &grain, "--footage film"},
		{"ffv1", "2048x1536", "24", "none", "progressive", &flat, ""},
		{"ffv1", "2048x1536", "24", "none", "progressive", nil, ""},
		{"ffv1", "2048x1536", "25", "none", "progressive", &grain, ""},
		{"prores", "2048x1536", "24", "4:2:2", "progressive", &grain, ""},
		{"h264", "1920x1080", "24", "4:2:0", "progressive", &grain, ""},
	} {
		s := decode.StreamInfo{Role: "filtered", Codec: c.codec, Properties: map[string]string{"chroma": c.chroma, "field_order": c.fields}}
		fmt.Sscanf(c.size+" "+c.rate, "%dx%d %g", &s.Width, &s.Height, &s.Rate)
		var seen *noise.Summary
		if c.scene != nil {
			seen = &noise.Summary{Frames: c.scene.Frames, Scenes: []noise.Scene{*c.scene}}
		}
		got := Advise(decode.Info{Streams: []decode.StreamInfo{{Role: "copied"}, s}}, seen, interlace.Found{})
		if len(got) > 1 || len(got) == 1 != (c.want != "") || c.want != "" && (got[0].Option != c.want || got[0].Reason == "") {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	for want, found := range map[string]interlace.Found{
		"--before fieldmatch,decimate": {Telecine: true}, "--deinterlace": {Content: interlace.TopFirst}, "": {Content: interlace.Progressive},
	} {
		s := decode.StreamInfo{Role: "filtered", Properties: map[string]string{"field_order": "top field first"}}
		if got := Advise(decode.Info{Streams: []decode.StreamInfo{s}}, nil, found); len(got) > 1 || len(got) == 1 != (want != "") || want != "" && got[0].Option != want {
			t.Errorf("%+v: %v, want %s", found, got, want)
		}
	}
	if got := Advise(decode.Info{}, nil, interlace.Found{}); got != nil {
		t.Errorf("without a video: %v", got)
	}
}
