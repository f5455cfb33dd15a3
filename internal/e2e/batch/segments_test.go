package batch

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

func ffmpeg(t *testing.T, args ...string) string {
	t.Helper()
	return string(e2e.Run(t, "ffmpeg", append([]string{"-v", "error", "-nostdin"}, args...)...))
}

// pictures returns the decoded frames of a video with their times, in hashes.
func pictures(t *testing.T, name string) string {
	t.Helper()
	return ffmpeg(t, "-i", name, "-map", "0:V:0", "-vsync", "passthrough", "-f", "framemd5", "-")
}

func times(t *testing.T, name string) (all []string) {
	t.Helper()
	for line := range strings.Lines(pictures(t, name)) {
		if f := strings.Split(line, ","); line[0] != '#' && len(f) == 6 {
			all = append(all, strings.TrimSpace(f[2]))
		}
	}
	return all
}

func sound(t *testing.T, name string) string {
	t.Helper()
	return ffmpeg(t, "-i", name, "-map", "0:a", "-c", "copy", "-f", "framemd5", "-")
}

// A file filtered in parts is the same for any number of workers, with the frames, times and sound
// of one filtered whole.
func TestParts(t *testing.T) {
	e2e.Start(t, true)
	names := []string{"a.mp4", "b.mkv", "c.mov"}
	in, dir := folder(t, names...), t.TempDir()
	whole := filepath.Join(dir, "whole")
	begin(t, "batch", in, "-o", whole, "-r", "6", "--preset", "ultrafast", "--threads", "1", "--segment", "0").end(0)
	one := filepath.Join(dir, "1")
	run(t, 0, in, "-o", one, "--jobs", "1")
	for _, n := range []string{"2", "3"} {
		out := filepath.Join(dir, n)
		run(t, 0, in, "-o", out, "--jobs", n)
		same(t, out, contents(t, one))
		for _, name := range names {
			if pictures(t, filepath.Join(out, name)) != pictures(t, filepath.Join(one, name)) {
				t.Errorf("%s by %s jobs has other pictures", name, n)
			}
		}
	}
	for _, name := range names {
		parts, plain := filepath.Join(one, name), filepath.Join(whole, name)
		e2e.Contains(t, string(e2e.Read(t, filepath.Join(one, ".vidfilter/jobs", name+".json"))), `"parts": `)
		lacks(t, string(e2e.Read(t, filepath.Join(whole, ".vidfilter/jobs", name+".json"))), `"parts": `)
		got, want := times(t, parts), times(t, plain)
		if len(got) < 75 || strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %d times instead of %d\n%v\n%v", name, len(got), len(want), got, want)
		}
		if sound(t, parts) != sound(t, plain) || sound(t, parts) != sound(t, filepath.Join(in, name)) {
			t.Errorf("%s: the sound is another", name)
		}
		playable(t, parts)
	}
}

// The denoiser reads frames across the borders of parts and leaves no seam, also in a batch that is
// killed between parts.
func TestDenoisedParts(t *testing.T) {
	e2e.Start(t, true)
	in, dir := folder(t, "a.mp4"), t.TempDir()
	whole, parts := filepath.Join(dir, "whole"), filepath.Join(dir, "parts")
	options := []string{"--filter", "denoise", "--device", "cpu", "--threads", "1", "--crf", "0",
		"--preset", "ultrafast"}
	begin(t, append([]string{"batch", in, "-o", whole, "--segment", "0"}, options...)...).end(0)
	again := append([]string{"batch", in, "-o", parts, "--segment", "1s", "--jobs", "1"}, options...)
	b := begin(t, again...)
	b.Until("a part", func() bool { return finishedParts(parts) > 0 })
	b.kill()
	begin(t, again...).end(0)
	e2e.Contains(t, string(e2e.Read(t, filepath.Join(parts, ".vidfilter/jobs/a.mp4.json"))), `"parts": `, `"noise": `, `"quality": "fast"`, `"seconds": `)
	if pictures(t, filepath.Join(parts, "a.mp4")) != pictures(t, filepath.Join(whole, "a.mp4")) {
		t.Error("the parts together are not the whole")
	}
}

// Plain options of a job file give the same video in parts as by hand, or the batch gives the
// reason for one stream, also after a kill.
func TestChainedParts(t *testing.T) {
	e2e.Start(t, true)
	in, dir := folder(t, "a.mp4"), t.TempDir()
	out, file := filepath.Join(dir, "out"), filepath.Join(dir, "jobs.yaml")
	tape := filepath.Join(dir, "tape.mp4") // bottom field first, unlike its flags
	e2e.Run(t, "ffmpeg", strings.Fields("-v error -f lavfi -i testsrc2=s=352x288:r=50:d=3 -f lavfi -i sine=d=3"+
		" -vf tinterlace=interleave_bottom,setfield=tff -c:v libx264 -preset ultrafast -g 25 -flags +ildct+ilme -shortest "+tape)...)
	e2e.Put(t, file, []byte(`output: out
batch: {segment: 1s, jobs: 1}
defaults: {radius: 0, preset: ultrafast, crf: 0, threads: 1, device: cpu}
jobs:
  - {input: `+in+`, name: "{stem}-parts.mkv", options: {crop: auto, chroma-shift: auto, scale: 0.5, sharpen: 0.3, after: eq=gamma=1.1}}
  - {input: `+in+`, name: "{stem}-whole.mkv", options: {deinterlace: bob, fps: 30}}
  - {input: `+tape+`, name: "{stem}-fields.mkv", options: {deinterlace: best}}
`))
	b := begin(t, "batch", file)
	b.Until("a part", func() bool { return finishedParts(out) > 0 })
	b.kill()
	b = begin(t, "batch", file)
	e2e.Contains(t, b.end(0), "3 done")
	e2e.Contains(t, b.Err.String(), "filtering each video as one stream: --deinterlace reads neighbouring frames")
	lacks(t, b.Err.String(), "starting over")
	for name, options := range map[string]string{
		"a-parts.mkv": "--crop auto --chroma-shift auto --scale 0.5 --sharpen 0.3 --after eq=gamma=1.1", "a-whole.mkv": "--deinterlace bob --fps 30",
		"tape-fields.mkv": "--deinterlace best --field-order bff",
	} {
		hand, made := filepath.Join(dir, name), filepath.Join(out, name)
		from := tape
		if strings.HasPrefix(name, "a") {
			from = filepath.Join(in, "a.mp4")
		}
		args := append([]string{"-i", from, "-o", hand}, strings.Fields(options)...)
		begin(t, append(args, "-r", "0", "--preset", "ultrafast", "--crf", "0", "--threads", "1", "--device", "cpu")...).end(0)
		if pictures(t, made) != pictures(t, hand) || sound(t, made) != sound(t, hand) {
			t.Errorf("%s is another by hand", name)
		}
		if cut := strings.Contains(string(e2e.Read(t, filepath.Join(out, ".vidfilter/jobs", name+".json"))), `"parts": `); cut != (name != "a-whole.mkv") {
			t.Errorf("%s was filtered in parts: %v", name, cut)
		}
	}
}

// A video that some option keeps whole is not cut: the file is the one made by hand.
func TestKeptWhole(t *testing.T) {
	e2e.Start(t, true)
	in, dir := folder(t, "a.mp4"), t.TempDir()
	for name, options := range map[string]string{
		"grain":   "--codec av1 --film-grain keep --quality fast --noise 9 --preset 12",
		"rate":    "-r 1 --preset ultrafast --bitrate 300k",
		"encoder": "-r 1 --encoder ffv1",
		"none":    "-r 1 --preset ultrafast",
	} {
		with := append(strings.Fields(options), "--threads", "1", "--device", "cpu")
		out, hand := filepath.Join(dir, name), filepath.Join(dir, name+".mkv")
		b := begin(t, slices.Concat([]string{"batch", in, "-o", out, "--name", "{stem}.mkv", "--segment", "1s"}, with)...)
		e2e.Contains(t, b.end(0), "1 done")
		begin(t, slices.Concat([]string{"-i", filepath.Join(in, "a.mp4"), "-o", hand}, with)...).end(0)
		if cut := name == "none"; (hash(e2e.Read(t, hand)) != contents(t, out)["a.mkv"]) != cut {
			t.Errorf("%s: the batch has cut the video: %v", name, !cut)
		}
	}
}

// Parts are joined into the format that the files are to have. The joined file is compared with its
// source, and the report names the differences.
func TestPartsOfAnyFormat(t *testing.T) {
	e2e.Start(t, true)
	in, dir := folder(t, "c.mov"), t.TempDir()
	out, report := filepath.Join(dir, "out"), filepath.Join(dir, "r.json")
	run(t, 0, in, "-o", out, "--format", "ts", "--report", report)
	e2e.Contains(t, string(e2e.Read(t, filepath.Join(out, ".vidfilter/jobs/c.ts.json"))), `"parts": `, `"differences": `)
	var r struct {
		Files []struct {
			State       string
			Differences []contract.Difference
		}
	}
	e2e.Must(t, json.Unmarshal(e2e.Read(t, report), &r))
	want := contract.Difference{Item: "stream 1", Property: "codec", From: "pcm_s16le", To: "aac", Lost: true, Told: true}
	if len(r.Files) != 1 || r.Files[0].State != "done" || !slices.Contains(r.Files[0].Differences, want) {
		t.Errorf("%+v", r)
	}
}
