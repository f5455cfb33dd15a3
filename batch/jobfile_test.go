package batch

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/pflag"

	"vidfilter/internal/e2e"
)

func TestJobFile(t *testing.T) {
	dir := tree(t, "jobs/tapes/a.mkv", "jobs/tapes/b.mkv", "jobs/other.mp4", "home/films/1999.mp4")
	put(t, `
output: ~/clean
name: "{stem}.clean{ext}"
defaults: {radius: 3, crf: 20, no-audio: true, threads: 2}
jobs:
  - input: tapes/*.mkv
    options: {radius: 5, map: [v, "a:1"], no-audio: False, start: 1:30}
    name: "a/{stem}{ext}"
    priority: 10
  - other.mp4
  - gone.mp4
  - {input: ~/films, options: {bitrate: 5M}}
batch: {jobs: 2, stall-timeout: 10m}
`, dir, "jobs/night.yaml")
	req := request(dir, "jobs/night.yaml")
	req.Root, req.Args, req.Env = "", []string{"-r4", "--threads=3"}, []string{"VIDFILTER_CRF=40", "VIDFILTER_SIGMA_R=9"}
	p := mustExpand(t, req)
	wantItems(t, dir, p,
		"jobs/tapes/a.mkv > a/a.mkv --radius=5 --sigma-r=9 --crf=20 --no-audio=false --map=v --map=a:1 --start=1:30 --threads=3",
		"jobs/tapes/b.mkv > a/b.mkv --radius=5 --sigma-r=9 --crf=20 --no-audio=false --map=v --map=a:1 --start=1:30 --threads=3",
		"jobs/other.mp4 > other.clean.mp4 --radius=4 --sigma-r=9 --crf=20 --no-audio --threads=3",
		"home/films/1999.mp4 > 1999.clean.mp4 --radius=4 --sigma-r=9 --bitrate=5M --no-audio --threads=3")
	if p.Root != filepath.Join(dir, "home/clean") || p.Items[0].Priority != 10 || p.Items[2].Priority != 0 {
		t.Errorf("root %s, priorities %d, %d", p.Root, p.Items[0].Priority, p.Items[2].Priority)
	}
	if len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Error(), "jobs/night.yaml:11: ") {
		t.Errorf("problems: %v", p.Problems)
	}
	if len(p.Batch) != 2 || p.Batch[1] != (Setting{"stall-timeout", "10m", "jobs/night.yaml:13"}) {
		t.Errorf("batch: %v", p.Batch)
	}
	req.Root, req.Name = "else", "{index}{ext}"
	p = mustExpand(t, req)
	if p.Root != filepath.Join(dir, "else") || p.Items[0].Output != "a/a.mkv" || p.Items[2].Output != "3.mp4" || p.Items[3].Output != "5.mp4" {
		t.Errorf("the command line does not win: %s %v", p.Root, shown(dir, p.Items))
	}
}

type file struct{ pflag.Value }

func (file) Type() string { return "FILE" }

// Files that options name are relative to the job file, like the inputs.
func TestFilesOfOptions(t *testing.T) {
	dir := tree(t, "jobs/a.mkv", "jobs/b.mkv", "jobs/c.mkv")
	put(t, `
output: out
defaults: {noise-profile: reel.json}
jobs:
  - a.mkv
  - {input: b.mkv, options: {noise-profile: ~/b.json}}
  - {input: c.mkv, options: {noise-profile: '{"noise": 1}'}}
`, dir, "jobs/night.yaml")
	req := request(dir, "jobs/night.yaml")
	req.Flags.String("noise-profile", "", "")
	f := req.Flags.Lookup("noise-profile")
	f.Value = file{f.Value}
	for i, want := range []string{filepath.Join(dir, "jobs/reel.json"), filepath.Join(dir, "home/b.json"), `{"noise": 1}`} {
		item := mustExpand(t, req).Items[i]
		if want = "--noise-profile=" + want; !slices.Contains(item.Args, want) {
			t.Errorf("job %d has %q, want %s", i, item.Args, want)
		}
	}
}

// wrong are invalid job files with their messages. inSchema marks those that the schema accepts.
var wrong = []struct {
	name, text, want string
	inSchema         bool
}{
	{"empty.yaml", "", "empty.yaml is empty", false},
	{"list.yaml", "- a.mp4", "list.yaml:1: here should be a mapping, not a list", false},
	{"key.yaml", "output: x\njbos: [a.mp4]", `key.yaml:2: unknown key "jbos"`, false},
	{"nojobs.yaml", "output: x", "jobs: is missing", false},
	{"jobs.yaml", "jobs: a.mp4", "jobs: should be a list", false},
	{"jobs0.yaml", "jobs: []", "jobs: should be a list", false},
	{"input.yaml", "jobs:\n- name: '{stem}.mkv'", "input.yaml:2: the job has no input:", false},
	{"inkey.yaml", "jobs:\n- input: a\n  option: {radius: 3}", `did you mean "options"?`, false},
	{"flag.yaml", "jobs: [a]\ndefaults:\n  crf: 3\n  radus: 3", `flag.yaml:4: unknown option "radus"`, false},
	{"near.yaml", "jobs: [a]\ndefaults: {radus: 3}", `did you mean "radius"?`, false},
	{"own.yaml", "jobs: [a]\ndefaults: {output: x}", "own.yaml:2: --output cannot be an option", false},
	{"batch.yaml", "jobs: [a]\nbatch: {radius: 3}", `batch.yaml:2: unknown option "radius"`, false},
	{"null.yaml", "jobs: [a]\ndefaults: {radius: }", "radius: nothing is no value for it", false},
	{"bool.yaml", "jobs: [a]\ndefaults: {radius: true}", "radius: true or false is no value for it", false},
	{"many.yaml", "jobs: [a]\ndefaults: {radius: [1, 2]}", "radius: a list is no value for it", false},
	{"switch.yaml", "jobs: [a]\ndefaults: {no-audio: 1}", "no-audio is a switch", false},
	{"yes.yaml", "jobs: [a]\ndefaults: {no-audio: yes}", "give true or false", false},
	{"void.yaml", "jobs: [a]\ndefaults: {preset: ''}", "the value is empty", false},
	{"deep.yaml", "jobs: [a]\ndefaults: {map: [[v]]}", "map: a list is no value for it", false},
	{"prio.yaml", "jobs: [{input: a, priority: 1.5}]", "a priority is a whole number", false},
	{"prio2.yaml", "jobs: [{input: a, priority: 99999999999}]", "a priority is a whole number", false},
	{"noname.yaml", "jobs: [{input: a, name: }]", "here should be a text, not nothing", false},
	{"template.yaml", "jobs: [a]\nname: '{stme}'", "template.yaml:2: the name template has the unknown field {stme}", true},
	{"twice.yaml", "jobs: [a]\noutput: x\njobs: [b]", `twice.yaml:3: the key "jobs" is there twice`, true},
	{"rivals.yaml", "jobs: [a]\ndefaults: {crf: 3, bitrate: 5M}", "crf and bitrate exclude each other", true},
	{"two.yaml", "jobs: [a]\n---\njobs: [b]", "a second document begins", true},
	{"tab.yaml", "jobs:\n\t- a", "tab.yaml:2: ", true},
	{"open.yaml", "jobs: [a", "open.yaml:", true},
	{"alias.yaml", "jobs: &a [*a]", "too deep", true},
	{"bomb.yaml", bomb(), "too large", true},
	{"key2.yaml", "jobs: [a]\n[a]: b", "an invalid key", true},
	{"merge.yaml", "jobs: [a]\n<<: {output: x}", `unknown key "<<"`, true},
	{"comma.json", "{\n\"jobs\": [\"a\",]}", "comma.json:2: invalid character ']'", true},
	{"open.json", "{\"jobs\": [\"a\"", "open.json:1: unexpected end", true},
	{"none.json", "", "none.json:1: unexpected end", true},
	{"more.json", "{\"jobs\": [\"a\"]}\n{}", "more.json:2: invalid character", true},
	{"twice.json", "{\"jobs\": [\"a\"],\n\n\"jobs\": [\"a\"]}", "twice.json:3: the key", true},
	{"key.json", "{\n\"jobs\": [\n\"a\"],\n\"name\": 3,\"outptu\": \"x\"}", "key.json:4: the name template gives every output the same", false},
	{"deepest.yaml", "jobs:\n" + strings.Repeat("[", 100_000), "deepest.yaml:2: nested too deeply", true},
	{"dashes.yaml", "jobs:\n" + strings.Repeat("- ", 100_000), "dashes.yaml:2: nested too deeply", true},
	{"deep.json", strings.Repeat("[", 50) + strings.Repeat("]", 50), "too deep", false},
}

func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		a := strings.Repeat("*a"+string(rune('0'+i))+", ", 10)
		text += "a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" + a + "]\n"
	}
	return text
}

func TestJobFileRefused(t *testing.T) {
	for _, c := range wrong {
		dir := tree(t)
		put(t, c.text, dir, c.name)
		_, err := Expand(context.Background(), request(dir, c.name))
		wantError(t, err, c.want)
	}
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(testFlags(), testOwn())))
	e2e.Must(t, err)
	c := jsonschema.NewCompiler()
	e2e.Must(t, c.AddResource("batch.json", doc))
	s, err := c.Compile("batch.json")
	e2e.Must(t, err)
	return s
}

// plainJSON is a YAML or JSON text as a validator wants it.
func plainJSON(t testing.TB, text string) (any, bool) {
	var v any
	if yaml.Unmarshal([]byte(text), &v) != nil {
		return nil, false
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false
	}
	v, err = jsonschema.UnmarshalJSON(bytes.NewReader(data))
	e2e.Must(t, err)
	return v, true
}

// The schema and the program accept and refuse the same files, except for rules that a schema
// cannot express.
func TestSchema(t *testing.T) {
	s := compiled(t)
	doc, err := os.ReadFile("../docs/jobfile.md")
	e2e.Must(t, err)
	examples := regexp.MustCompile("(?s)```(yaml|json)\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(examples) < 2 {
		t.Fatalf("%d examples in docs/jobfile.md", len(examples))
	}
	for _, e := range examples {
		v, ok := plainJSON(t, e[2])
		if err := s.Validate(v); err != nil || !ok {
			t.Errorf("%s\nin the schema: %v", e[2], err)
		}
		r := jobReader{name: "example." + e[1], flags: flagTable{testFlags()}, own: flagTable{testOwn()}}
		if _, err := r.parse([]byte(e[2])); err != nil {
			t.Errorf("%s\nin the program: %v", e[2], err)
		}
	}
	for _, c := range wrong {
		if c.inSchema {
			continue // and the decoder would expand the bomb
		}
		if v, ok := plainJSON(t, c.text); ok && s.Validate(v) == nil {
			t.Errorf("%s: the schema lets it pass", c.name)
		}
	}
}

func TestSchemaNames(t *testing.T) {
	var got struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
		} `json:"$defs"`
	}
	e2e.Must(t, json.Unmarshal(Schema(testFlags(), testOwn()), &got))
	for def, flags := range map[string]flagTable{"options": {testFlags()}, "batch": {testOwn()}} {
		names, want := slices.Sorted(maps.Keys(got.Defs[def].Properties)), flags.names()
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("%s: %q, want %q", def, names, want)
		}
	}
}

// No text makes the reader panic, hang or accept a file that the schema refuses.
func FuzzJobFile(f *testing.F) {
	for _, c := range wrong {
		f.Add(c.text, strings.HasSuffix(c.name, ".json"))
	}
	f.Add("jobs: [a, {input: b, options: {radius: 3, map: [a]}}]", false)
	f.Add(`{"jobs": ["a", {"input": "b", "options": {"no-audio": true}}]}`, true)
	s := compiled(f)
	f.Fuzz(func(t *testing.T, text string, isJSON bool) {
		name := "x.yaml"
		if isJSON {
			name = "x.json"
		}
		r := jobReader{name: name, flags: flagTable{testFlags()}, own: flagTable{testOwn()}}
		if _, err := r.parse([]byte(text)); err != nil {
			return
		}
		var v any
		ok := false
		if isJSON {
			data := strings.TrimPrefix(text, "\xef\xbb\xbf")
			v, _ = jsonschema.UnmarshalJSON(strings.NewReader(data))
			ok = v != nil
		} else {
			v, ok = plainJSON(t, text)
		}
		if err := s.Validate(v); ok && err != nil {
			t.Errorf("the schema refuses %q: %v", text, err)
		}
	})
}

func TestLayers(t *testing.T) {
	got := flagTable{testFlags()}.merge([]Setting{{Name: "bitrate", Value: "5M"}, {Name: "map", Value: "a"}},
		[]Setting{{Name: "crf", Value: "3"}}, []Setting{{Name: "map", Value: "b"}, {Name: "map", Value: "c"}})
	want := []Setting{{Name: "crf", Value: "3"}, {Name: "map", Value: "b"}, {Name: "map", Value: "c"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func FuzzArgs(f *testing.F) {
	f.Add("-r5 --map a -Sqr=3 --crf=1")
	f.Fuzz(func(t *testing.T, text string) {
		flags := flagTable{testFlags()}
		settings, err := flags.parse(strings.Split(text, " "))
		if err != nil {
			return
		}
		all, _ := flags.args(flags.canonical(settings))
		again, err := flags.parse(all)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, all, err)
		}
		if twice, _ := flags.args(flags.canonical(again)); !slices.Equal(all, twice) {
			t.Errorf("%q became %q, then %q", text, all, twice)
		}
	})
}
