package batch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// verdicts returns the plan of --dry-run by source.
func verdicts(t *testing.T, args ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(printed(t, job(append(args, "--dry-run")...)...)) {
		what, rest, _ := strings.Cut(line, " ")
		source, _, _ := strings.Cut(strings.TrimSpace(rest), " -> ")
		all[filepath.Base(source)] = what
	}
	return all
}

// A job is repeated only if its output would differ, and only if we made the old one.
func TestOptionsChange(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	output := filepath.Join(out, "short.mp4")
	args := []string{in, "-o", out}
	run(t, 0, args...)
	first := contents(t, out)["short.mp4"]
	for _, more := range [][]string{nil, {"--max-pixels", "1000000"}, {"--device", "cpu"}, {"--jobs", "2"}, {"--retries", "3"}} {
		e2e.Contains(t, run(t, 0, append(args, more...)...), "1 skipped")
	}
	now := time.Now().Add(-time.Hour)
	e2e.Must(t, os.Chtimes(output, now, now))
	e2e.Contains(t, run(t, 0, args...), "1 skipped")

	other := append(args, "--crf", "40")
	if v := verdicts(t, other...); v["short.mp4"] != "again" {
		t.Errorf("%v", v)
	}
	e2e.Contains(t, run(t, 0, other...), "1 done")
	if contents(t, out)["short.mp4"] == first {
		t.Error("the output is still that of the other options")
	}
	e2e.Contains(t, run(t, 0, other...), "1 skipped")
	e2e.Contains(t, run(t, 0, args...), "1 done")
	same(t, out, map[string]string{"short.mp4": first})
	e2e.Must(t, os.Remove(output))
	e2e.Contains(t, run(t, 0, args...), "1 done")
	same(t, out, map[string]string{"short.mp4": first})
	e2e.Must(t, os.Chtimes(filepath.Join(in, "short.mp4"), now, now)) // may be another video
	e2e.Contains(t, run(t, 0, args...), "1 done")
	tidy(t, out)
}

// Outputs of another version stay, unless they are to be made again.
func TestVersionChanges(t *testing.T) {
	e2e.Start(t, false)
	next, err := e2e.Build("-X vidfilter/internal/cli.version=99.0")
	e2e.Must(t, err)
	in, out := folder(t, "short.mp4"), filepath.Join(t.TempDir(), "out")
	run(t, 0, in, "-o", out)
	plan := func(more ...string) string {
		p := beginAs(t, next, nil, job(append([]string{in, "-o", out, "--dry-run"}, more...)...)...)
		p.end(0)
		return p.Out.String()
	}
	e2e.Contains(t, plan(), "skip ", "--remake-older")
	e2e.Contains(t, plan("--remake-older"), "again ", "this is 99.0")
	e2e.Contains(t, beginAs(t, next, nil, job(in, "-o", out)...).end(0), "1 skipped")
	e2e.Contains(t, beginAs(t, next, nil, job(in, "-o", out, "--remake-older")...).end(0), "1 done")
	e2e.Contains(t, beginAs(t, next, nil, job(in, "-o", out, "--remake-older")...).end(0), "1 skipped")
	e2e.Contains(t, run(t, 0, in, "-o", out), "1 skipped")
}

// Files made or changed by others are replaced only with -y.
func TestNotOurs(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4", "a.mp4"), filepath.Join(t.TempDir(), "out")
	want := undisturbed(t, in)
	foreign := filepath.Join(out, "a.mp4")
	e2e.Put(t, foreign, []byte("somebody's"))
	e2e.Contains(t, run(t, 1, in, "-o", out), "no batch has made", "-y replaces it", "1 done", "1 failed")
	if string(e2e.Read(t, foreign)) != "somebody's" {
		t.Error("a foreign file was replaced")
	}
	ours := filepath.Join(out, "short.mp4")
	edited := append(e2e.Read(t, ours), "and more"...)
	e2e.Put(t, ours, edited)
	for _, more := range [][]string{nil, {"--crf", "33"}, {"--retry-failed"}} {
		e2e.Contains(t, run(t, 1, append([]string{in, "-o", out}, more...)...), "has been changed since it was made", "2 files failed")
	}
	if string(e2e.Read(t, foreign)) != "somebody's" || string(e2e.Read(t, ours)) != string(edited) {
		t.Error("files of others were replaced")
	}
	if v := verdicts(t, in, "-o", out); v["a.mp4"] != "leave" || v["short.mp4"] != "leave" {
		t.Errorf("%v", v)
	}
	e2e.Contains(t, run(t, 0, in, "-o", out, "-y"), "2 done")
	same(t, out, want)
	e2e.Contains(t, run(t, 0, in, "-o", out), "2 skipped")
	tidy(t, out)
}

// A file that takes an output's name during the batch is not replaced.
func TestNameTaken(t *testing.T) {
	e2e.Start(t, false)
	in, out := folder(t, "a.mp4", "short.mp4"), filepath.Join(t.TempDir(), "out")
	b := begin(t, job(in, "-o", out)...)
	b.child("--part=")
	e2e.Put(t, filepath.Join(out, "a.mp4"), []byte("somebody's"))
	e2e.Contains(t, b.end(1), "not ours", "1 done")
	if string(e2e.Read(t, filepath.Join(out, "a.mp4"))) != "somebody's" {
		t.Error("a foreign file was replaced")
	}
}

// A batch warns that its tasks have no sandbox.
func TestSandboxOff(t *testing.T) {
	e2e.Start(t, true)
	b := begin(t, job(folder(t, "short.mp4"), "-o", filepath.Join(t.TempDir(), "out"), "--sandbox", "off")...)
	e2e.Contains(t, b.end(0), "--sandbox off: the input is decoded with all rights", "1 done")
}

// --dry-run prints the plan and changes no file.
func TestDryRun(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4", "a.mp4"), filepath.Join(t.TempDir(), "out")
	intact := untouched(t, in)
	if v := verdicts(t, in, "-o", out); v["short.mp4"] != "filter" || v["a.mp4"] != "filter" || len(v) != 2 {
		t.Errorf("%v", v)
	}
	if e2e.Exists(out) {
		t.Error("the folder was made")
	}
	e2e.Must(t, os.Mkdir(out, 0o777))
	verdicts(t, in, "-o", out)
	if all, _ := os.ReadDir(out); len(all) > 0 {
		t.Errorf("in the folder is %v", all)
	}
	run(t, 0, filepath.Join(in, "short.mp4"), "-o", out)
	before := files(t, filepath.Join(out, ".vidfilter/jobs"))
	if v := verdicts(t, in, "-o", out); v["short.mp4"] != "skip" || v["a.mp4"] != "filter" {
		t.Errorf("%v", v)
	}
	if now := files(t, filepath.Join(out, ".vidfilter/jobs")); now["short.mp4.json"] != before["short.mp4.json"] || len(now) != 1 {
		t.Errorf("records %v were %v", now, before)
	}
	intact()
}

// Reports give the outcome of each file in JSON and HTML.
func TestReports(t *testing.T) {
	e2e.Start(t, true)
	in, dir := folder(t, "short.mp4"), t.TempDir()
	e2e.Put(t, filepath.Join(in, "<b>&.mp4"), []byte("no video"))
	out := filepath.Join(dir, "out")
	run(t, 1, in, "-o", out, "--report", filepath.Join(dir, "r.html"), "--previews")
	page := string(e2e.Read(t, filepath.Join(dir, "r.html")))
	e2e.Contains(t, page, "</html>", "short.mp4", "&lt;b&gt;&amp;.mp4", "done", "failed", "damaged or incomplete")
	lacks(t, page, "<b>&.mp4")
	e2e.Contains(t, page, `<a href="./r.previews/short.mp4.html">short.mp4</a>`)
	e2e.Contains(t, string(e2e.Read(t, filepath.Join(dir, "r.previews/short.mp4.html"))), "<title>", "data:image/jpeg", " became ")
	run(t, 2, in, "-o", out, "--previews", "--report", filepath.Join(dir, "r.json"))
	run(t, 1, in, "-o", out, "--report", filepath.Join(dir, "r.json"), "--retry-failed")
	r, rows := readReport(t, filepath.Join(dir, "r.json"))
	if r.Version == "" || r.Root != out || rows["short.mp4"].State != "skipped" || rows["<b>&.mp4"].State != "failed" || rows["short.mp4"].Frames != 15 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"r.txt", "none/r.json"} {
		run(t, 2, in, "-o", out, "--report", filepath.Join(dir, name))
	}
}

// clipInfo has the traces that options leave in a file.
type clipInfo struct {
	streams string // kinds
	frames  int
	format  string
}

func look(t *testing.T, name string) (c clipInfo) {
	t.Helper()
	var m struct {
		Streams []struct {
			Kind   string `json:"codec_type"`
			Frames string `json:"nb_read_packets"`
			Format string `json:"pix_fmt"`
		}
	}
	out := e2e.Run(t, "ffprobe", "-v", "error", "-of", "json", "-count_packets", "-show_streams", name)
	e2e.Must(t, json.Unmarshal(out, &m))
	var kinds []string
	for _, s := range m.Streams {
		kinds = append(kinds, s.Kind)
		if s.Kind == "video" {
			e2e.Must(t, json.Unmarshal([]byte(s.Frames), &c.frames))
			c.format = s.Format
		}
	}
	slices.Sort(kinds)
	c.streams = strings.Join(kinds, " ")
	return c
}

// Options take effect in this order: the job's own, the command line, the job file's defaults, the
// environment.
func TestJobFile(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "a.mp4", "c.mov", "short.mp4")
	dir := filepath.Dir(in)
	e2e.Put(t, filepath.Join(dir, "night.yaml"), []byte(`
output: clean
name: "{stem}.clean{ext}"
defaults: {no-audio: true, preset: ultrafast, frames: 20}
batch: {jobs: 1, report: `+filepath.Join(dir, "r.json")+`}
jobs:
  - in/a.mp4
  - input: in/c.mov
    options: {no-audio: false, frames: 7, pixel-format: yuv444p}
    name: "deep/{index:03}-{stem}.mkv"
    priority: 5
  - {input: in/short.mp4}
`))
	out := filepath.Join(dir, "clean")
	args := []string{"batch", filepath.Join(dir, "night.yaml")}
	b := beginAs(t, e2e.Program, []string{"VIDFILTER_FRAMES=3", "VIDFILTER_RADIUS=0"}, args...)
	said := b.end(0)
	if i, j := strings.Index(said, "started: deep/002-c.mkv"), strings.Index(said, "started: a.clean.mp4"); i < 0 || j < i {
		t.Errorf("the job of high priority is not first: %s", said)
	}
	want := map[string]clipInfo{
		"a.clean.mp4":     {"video", 20, "yuv420p"},
		"deep/002-c.mkv":  {"audio video", 7, "yuv444p"},
		"short.clean.mp4": {"video", 15, "yuv420p"},
	}
	for name, w := range want {
		if got := look(t, filepath.Join(out, name)); got != w {
			t.Errorf("%s: %+v instead of %+v", name, got, w)
		}
	}
	if n := len(contents(t, out)); n != 3 {
		t.Errorf("%d outputs", n)
	}
	if _, rows := readReport(t, filepath.Join(dir, "r.json")); len(rows) != 3 {
		t.Errorf("the report of the job file: %v", rows)
	}
	beginAs(t, e2e.Program, nil, append(args, "--frames", "10", "-r", "0")...).end(0)
	for name, n := range map[string]int{"a.clean.mp4": 10, "deep/002-c.mkv": 7, "short.clean.mp4": 10} {
		if got := look(t, filepath.Join(out, name)); got.frames != n {
			t.Errorf("%s with --frames 10: %+v", name, got)
		}
	}
	e2e.Put(t, filepath.Join(dir, "bad.yaml"), []byte("output: o\njobs:\n  - {input: in/a.mp4, options: {crfx: 3}}\n"))
	e2e.Contains(t, begin(t, "batch", filepath.Join(dir, "bad.yaml")).end(2), "bad.yaml:3", "crfx")
}

// Names follow the template and keep folders. Two outputs of one name are refused before any work.
func TestNames(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "short.mp4", "sub/deeper/x.mov=c.mov", "it's 5% {of} ü.mkv=short.mp4"), filepath.Join(t.TempDir(), "out")
	run(t, 0, in, "-o", out, "--name", "{stem}.clean{ext}", "--frames", "5")
	want := []string{"it's 5% {of} ü.clean.mkv", "short.clean.mp4", "sub/deeper/x.clean.mov"}
	var got []string
	for name := range contents(t, out) {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
	none := filepath.Join(t.TempDir(), "none")
	run(t, 2, in, "-o", none, "--name", "same.mkv")
	if e2e.Exists(none) {
		t.Error("something was begun")
	}
}

// Options in the environment count as given ones.
func TestEnvironment(t *testing.T) {
	e2e.Start(t, true)
	in, out := folder(t, "a.mp4"), filepath.Join(t.TempDir(), "out")
	with := func(env ...string) string {
		return beginAs(t, e2e.Program, env, job(in, "-o", out)...).end(0)
	}
	e2e.Contains(t, with("VIDFILTER_FRAMES=9"), "1 done")
	if got := look(t, filepath.Join(out, "a.mp4")); got.frames != 9 {
		t.Errorf("%+v", got)
	}
	e2e.Contains(t, with("VIDFILTER_FRAMES=9"), "1 skipped")
	e2e.Contains(t, with("VIDFILTER_FRAMES=8"), "1 done")
	e2e.Contains(t, with(), "1 done")
	if got := look(t, filepath.Join(out, "a.mp4")); got.frames != 100 {
		t.Errorf("%+v", got)
	}
	e2e.Contains(t, with("VIDFILTER_NO_AUDIO=1"), "1 done") // also of the parts and their join
	if got := look(t, filepath.Join(out, "a.mp4")); got.streams != "video" {
		t.Errorf("%+v", got)
	}
	tidy(t, out)
}

// A folder that cannot be made is an output error; a plan with an unreadable file fails.
func TestExitCodes(t *testing.T) {
	e2e.Start(t, true)
	in := folder(t, "short.mp4")
	file := filepath.Join(in, "short.mp4")
	e2e.Contains(t, run(t, 4, in, "-o", "/proc/none/out"), "/proc/none")
	e2e.Contains(t, run(t, 4, in, "-o", filepath.Join(file, "out")), file)
	list := filepath.Join(t.TempDir(), "list")
	e2e.Put(t, list, []byte(filepath.Join(in, "short.mp4")+"\n"+filepath.Join(in, "away.mp4")+"\n"))
	out := filepath.Join(t.TempDir(), "out")
	e2e.Contains(t, run(t, 1, "@"+list, "-o", out, "--dry-run"), "1 file cannot be filtered")
	run(t, 0, in, "-o", out, "--dry-run")
}
