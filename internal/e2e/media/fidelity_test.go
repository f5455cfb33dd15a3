package media

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
)

// report runs the program and returns its result and its last object.
func report(t *testing.T, in, ending, args string) (out string, done contract.Done) {
	t.Helper()
	out = output(ending)
	list := append([]string{"-i", in, "-o", out, "--progress", "json", "--threads", "1", "-r", "0"}, e2e.Fields(args)...)
	said, err := exec.Command(e2e.Program, list...).CombinedOutput()
	lines := bytes.Split(bytes.TrimSpace(said), []byte("\n"))
	if e := json.Unmarshal(lines[len(lines)-1], &done); e != nil || done.Type != contract.TypeDone || done.ExitCode != 0 && err == nil {
		t.Fatalf("%v %s: %v, %v: %s", filepath.Base(in), args, err, e, said)
	}
	return out, done
}

// kinds are the colours of the matrix: primaries, transfer, matrix, and HDR metadata.
var kinds = []struct{ name, primaries, transfer, matrix, scale, x265 string }{
	{"709", "bt709", "bt709", "bt709", "bt709", ""},
	{"ntsc", "smpte170m", "smpte170m", "smpte170m", "smpte170m", ""},
	{"pal", "bt470bg", "gamma28", "bt470bg", "bt470", ""},
	{"2020", "bt2020", "bt2020-10", "bt2020nc", "bt2020", ""},
	{"hlg", "bt2020", "arib-std-b67", "bt2020nc", "bt2020", ""},
	{"hdr10", "bt2020", "smpte2084", "bt2020nc", "bt2020",
		":master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400"},
}

// targets are all codecs in all their containers, with options that are fast.
var targets = func() (list [][2]string) {
	for _, c := range []struct{ codec, endings string }{
		{"h264 --preset ultrafast", "mp4 mov mkv ts"}, {"hevc --preset ultrafast", "mp4 mov mkv ts"}, {"av1 --preset 13", "mp4 mkv webm"},
		{"ffv1", "mkv mov"}, {"prores", "mov mkv mxf"}, {"dnxhd", "mov mkv mxf"},
	} {
		for ending := range strings.FieldsSeq(c.endings) {
			list = append(list, [2]string{"--codec " + c.codec, ending})
		}
	}
	return list
}()

// bases are files of every depth, subsampling, range and kind of colour. DNxHR is the codec that
// needs the largest pictures.
func bases(t *testing.T) (list []func(t *testing.T) string) {
	t.Helper()
	for _, pixels := range []string{"yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "yuv444p10le"} {
		for _, scale := range [][2]string{{"tv", "limited"}, {"pc", "full"}} {
			for _, k := range kinds {
				coding := "-c:v ffv1 "
				if k.x265 != "" {
					coding = "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1" + k.x265 + " "
				}
				name := fmt.Sprintf("matrix-%s-%s-%s.mkv", pixels, scale[0], k.name)
				args := fmt.Sprintf("-f lavfi -i testsrc2=s=256x128:r=25:d=0.16 -vf scale=out_range=%s:out_color_matrix=%s -pix_fmt %s "+
					"-color_range %s -color_primaries %s -color_trc %s -colorspace %s %s", scale[1], k.scale, pixels, scale[0], k.primaries, k.transfer, k.matrix, coding)
				list = append(list, func(t *testing.T) string { return clip(t, name, args) })
			}
		}
	}
	for _, pixels := range []string{"gray", "gray10le", "yuva420p", "yuva444p10le", "gbrp10le", "gbrap12le"} {
		list = append(list, func(t *testing.T) string {
			return clip(t, "matrix-"+pixels+".mkv", "-f lavfi -i testsrc2=s=256x128:r=25:d=0.16,format=rgba,colorchannelmixer=aa=0.5 -c:v ffv1 -pix_fmt "+pixels)
		})
	}
	for _, pixels := range []string{"yuv420p10le", "yuv422p10le", "yuv444p10le"} {
		list = append(list, func(t *testing.T) string {
			return withUnits(t, "matrix-dynamic-"+pixels, pixels, func(n int) []units.Unit {
				return []units.Unit{{Kind: units.MasteringDisplay, Payload: unitstest.Mastering()},
					{Kind: units.HDR10Plus, Payload: unitstest.HDR10Plus(n)}, {Kind: units.Captions, Payload: unitstest.Captions(n)}}
			})
		})
	}
	return append(list, func(t *testing.T) string {
		return withUnits(t, "matrix-dolby", "yuv420p10le", func(n int) []units.Unit {
			return []units.Unit{{Kind: units.DolbyVision, Payload: unitstest.RPU(8, n)}}
		})
	})
}

// withUnits makes a plain stream of HEVC with PQ, whose nth picture has units.
func withUnits(t *testing.T, name, pixels string, list func(n int) []units.Unit) string {
	t.Helper()
	data, err := os.ReadFile(clip(t, name+"-bare.hevc", "-f lavfi -i testsrc2=s=256x128:r=25:d=0.16 -pix_fmt "+pixels+" -c:v libx265 -preset ultrafast "+
		"-x265-params aud=1:bframes=0:log-level=none:pools=1:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"))
	e2e.Must(t, err)
	var out []byte
	delimiter := []byte("\x00\x00\x00\x01\x46\x01")
	for n, picture := range bytes.Split(data, delimiter)[1:] {
		au, err := units.StreamOf("hevc", nil).Insert(append(bytes.Clone(delimiter), picture...), list(n))
		e2e.Must(t, err)
		out = append(out, au...)
	}
	return put(t, name+".hevc", out)
}

// A job keeps every property or names its loss: files of every depth, subsampling, range and kind
// of colour into all codecs and containers, and the outputs once more into others.
func TestFidelityMatrix(t *testing.T) {
	e2e.Note(t)
	e2e.NeedsFFmpeg(t)
	const each = 3 // targets of a base
	inputs := 0
	for i, base := range bases(t) {
		if testing.Short() && i%9 != 0 {
			continue
		}
		inputs += 1 + each
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			src := base(t)
			for j := range each {
				first, second := targets[(i*7+j*5)%len(targets)], targets[(i*3+j*11+4)%len(targets)]
				out := faithful(t, src, first)
				faithful(t, out, second)
				os.Remove(out)
			}
		})
	}
	if inputs < 300 && !testing.Short() {
		t.Errorf("only %d inputs", inputs)
	}
}

// faithful runs a job that must name every loss.
func faithful(t *testing.T, src string, target [2]string) string {
	t.Helper()
	what := filepath.Base(src) + " " + target[0] + " to " + target[1]
	out, done := report(t, src, target[1], target[0])
	if done.ExitCode != 0 || !done.Verified {
		t.Fatalf("%s: exit code %d: %s %v %v", what, done.ExitCode, done.Error, done.Differences, done.Warnings)
	}
	lost := 0
	for _, d := range done.Differences {
		if d.Lost {
			lost++
		}
	}
	if lost > 0 && len(done.Warnings) == 0 {
		t.Errorf("%s: no warning names %v", what, done.Differences)
	}
	if len(contract.Losses(done.Differences)) > 0 {
		t.Errorf("%s: %v", what, contract.Losses(done.Differences))
	}
	return out
}

// A file with everything that HDR10 has comes through; differences are in the report.
func TestFidelityReport(t *testing.T) {
	e2e.Start(t, true)
	k := kinds[5]
	src := clip(t, "report-hdr10.mkv", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2 -pix_fmt yuv420p10le -color_primaries "+k.primaries+" -color_trc "+k.transfer+
		" -colorspace "+k.matrix+" -color_range tv -c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:chromaloc=2"+k.x265+" -metadata title=Film")
	_, done := report(t, src, "mp4", "--codec hevc --preset ultrafast")
	if done.ExitCode != 0 || !done.Verified || len(done.Warnings) > 0 || len(done.Differences) > 0 {
		t.Errorf("%+v", done)
	}
	for _, args := range []string{"--frames 1", "--frames 2", "--start 0.1"} { // the decoder holds pictures back
		if _, done := report(t, src, "ts", "--codec hevc --preset veryfast "+args); done.ExitCode != 0 || len(contract.Losses(done.Differences)) > 0 {
			t.Errorf("%s: %+v", args, done)
		}
	}
	_, done = report(t, src, "ts", "--codec h264 --preset ultrafast --pixel-format yuv420p")
	want := []contract.Difference{
		{Item: "video", Property: "codec", From: "hevc", To: "h264"},
		{Item: "video", Property: "pixel format", From: "yuv420p10le", To: "yuv420p"},
		{Item: "video", Property: "depth", From: "10 bits", To: "8 bits", Lost: true, Told: true},
		{Item: "tag title", From: "Film", Lost: true, Told: true},
	}
	if done.ExitCode != 0 || !slices.Equal(done.Differences, want) {
		t.Errorf("exit code %d: %+v", done.ExitCode, done.Differences)
	}
	if words := string(run(t, e2e.Program, "info", src)); !strings.Contains(words, "Display P3, 0.0001 to 1000 cd/m2") ||
		!strings.Contains(words, "MaxCLL 1000, MaxFALL 400 cd/m2") || !strings.Contains(words, "topleft") || !strings.Contains(words, "HDR10") {
		t.Errorf("info says %s", words)
	}
}

// A loss without a prior warning gives exit code 6: Matroska writes the language of a tag by
// another code. The output is delivered.
func TestFidelityLoss(t *testing.T) {
	e2e.Start(t, true)
	src := clip(t, "report-tag.mp4", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2 "+h264+yuv+"-movflags use_metadata_tags -metadata lyrics-deu=odd")
	out, said, code := attempt(t, src, "mkv", "")
	if code != 6 || !e2e.Exists(out) || strings.Count(said, "warning: lost: tag lyrics-deu: odd is missing") != 1 ||
		!strings.Contains(said, "the output has lost 1 of the properties of "+src) {
		t.Errorf("exit code %d: %s", code, said)
	}
	_, done := report(t, src, "mkv", "--preset ultrafast")
	want := []contract.Difference{{Item: "tag lyrics-deu", From: "odd", Lost: true}, {Item: "tag lyrics-ger", To: "odd"}}
	if done.ExitCode != 6 || !done.Verified || !slices.Equal(done.Differences, want) {
		t.Errorf("%+v", done)
	}
}

// Every container keeps every mark of sound and text, or the job names the loss.
func TestFidelityOfMarks(t *testing.T) {
	put(t, "marks.srt", []byte(srt))
	marks := strings.Fields("dub original comment forced hearing_impaired visual_impaired captions descriptions")
	args := pictures + tone + "-i @marks.srt -map 0 "
	for range marks {
		args += "-map 1 -map 2 "
	}
	args += h264 + yuv + "-c:a libopus -c:s webvtt "
	for i, mark := range marks {
		args += fmt.Sprintf("-disposition:a:%d %s -disposition:s:%[1]d %[2]s -metadata:s:a:%[1]d language=eng -metadata:s:s:%[1]d language=hrv ", i, mark)
	}
	for _, target := range [][2]string{
		{"--preset ultrafast", "mkv"}, {"--preset ultrafast", "mp4"}, {"--preset ultrafast", "mov"}, {"--preset ultrafast", "ts"},
		{"--codec av1 --preset 13", "webm"}, {"--codec prores", "mxf"},
	} {
		t.Run(target[1], func(t *testing.T) {
			e2e.Start(t, target[1] == "mp4")
			faithful(t, clip(t, "marks.mkv", args), target)
		})
	}
}

// Colour tags that only the container has are kept, also where the pictures mark theirs as unknown.
func TestColoursOfTheContainer(t *testing.T) {
	for _, codec := range []string{"h264", "hevc"} {
		t.Run(codec, func(t *testing.T) {
			e2e.Start(t, codec == "hevc")
			coding := map[string]string{"h264": h264, "hevc": "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1 "}[codec]
			clip(t, "tagged-"+codec+".mp4", pictures+coding+yuv+"-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc")
			src := clip(t, "untagged-"+codec+".mp4", "-i @tagged-"+codec+".mp4 -c copy -bsf:v "+codec+
				"_metadata=colour_primaries=2:transfer_characteristics=2:matrix_coefficients=2")
			if f := frames(t, src)[0]; f.Transfer == "smpte2084" && codec == "hevc" {
				t.Fatal("the pictures are tagged")
			}
			out, said := filter(t, src, "mkv", "")
			for _, f := range append(frames(t, out), frame{Primaries: probe(t, out).video(t).Primaries, Transfer: "smpte2084", Matrix: "bt2020nc"}) {
				if f.Primaries != "bt2020" || f.Transfer != "smpte2084" || f.Matrix != "bt2020nc" {
					t.Fatalf("%+v: %s", f, said)
				}
			}
		})
	}
}

// Full range that a codec cannot signal is converted: ProRes shows the same pictures.
func TestFullRangeBecomesLimited(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "full.mkv", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2 -vf scale=out_range=full -pix_fmt yuv422p10le -color_range pc -c:v ffv1")
	out, done := report(t, src, "mov", "--codec prores")
	if done.ExitCode != 0 || !strings.Contains(strings.Join(done.Warnings, "\n"), "samples of full range are converted") {
		t.Errorf("%+v", done)
	}
	if x := psnr(raw(t, out, "rgb24"), raw(t, src, "rgb24")); x < 35 {
		t.Errorf("the pictures differ by %.1f dB", x)
	}
}

// DNxHR names the matrices that it can in its pictures, and leaves others to the container.
func TestMatrixOfDNxHR(t *testing.T) {
	for _, name := range []string{"bt2020nc", "bt709", "smpte170m"} {
		t.Run(name, func(t *testing.T) {
			e2e.Start(t, false)
			src := clip(t, "dnx-"+name+".mkv", "-f lavfi -i testsrc2=s=256x128:r=25:d=0.12 -pix_fmt yuv422p -colorspace "+name+" -c:v ffv1")
			out, _ := report(t, src, "mov", "--codec dnxhd")
			for _, f := range frames(t, out) {
				if f.Matrix != name {
					t.Errorf("a picture says %q", f.Matrix)
				}
			}
			if got := probe(t, out).video(t).Matrix; got != name {
				t.Errorf("the file says %q", got)
			}
		})
	}
}
