package batch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// A plan's job file makes the same plan in another folder and environment.
func TestJobFileOfPlan(t *testing.T) {
	dir := tree(t, "tapes/a.mkv", "tapes/b/c.mp4", "[1]/d.mkv", "[1]/e.mkv", "odd*.mkv", "sub/f.mkv", "sub/x.mkv")
	put(t, "odd*.mkv\ngone.mkv\n", dir, "list")
	put(t, `{"output": "~/o", "name": "{index}-{stem}{ext}", "defaults": {"crf": 20, "map": ["v", "a"]}, "batch": {"retries": 7},
		"jobs": ["f.mkv", {"input": "*.mkv", "name": "{dir}/{name}.mkv", "options": {"radius": 4, "no-audio": false}, "priority": 3}]}`, dir, "sub/j.json")
	for what, req := range map[string]Request{
		"arguments": {Sources: []string{"tapes", `\[1]/*.mkv`, "@list"}, Root: "out", Args: []string{"-r", "3", "--no-audio"}, Env: []string{"VIDFILTER_CRF=30"}},
		"glob":      {Sources: []string{"*.mkv"}, Root: "out", Dir: filepath.Join(dir, "[1]"), Name: "{stem}.x{ext}"},
		"job file":  {Sources: []string{"sub/j.json"}, Args: []string{"--bitrate=3M"}},
	} {
		with := request(dir)
		with.Sources, with.Root, with.Args, with.Env, with.Name = req.Sources, req.Root, req.Args, req.Env, req.Name
		if req.Dir != "" {
			with.Dir = req.Dir
		}
		p := mustExpand(t, with)
		own := append([]Setting{{Name: "segment", Value: "5"}}, p.Batch...)
		b, err := p.JobFile(own)
		e2e.Must(t, err)
		elsewhere := t.TempDir()
		again := request(elsewhere, put(t, string(b), elsewhere, "r.yaml"))
		again.Root, again.Home, again.Within = "", "", dir
		q := mustExpand(t, again)
		if q.Root != p.Root || !reflect.DeepEqual(q.Items, p.Items) || len(q.Problems) != len(p.Problems) || len(p.Items) < 2 {
			t.Errorf("%s: %s\n%s %q %v\n%s %q %v", what, b, p.Root, shown(dir, p.Items), p.Problems, q.Root, shown(dir, q.Items), q.Problems)
		}
		if len(q.Batch) != len(own) {
			t.Errorf("%s: the batch's options %+v", what, q.Batch)
		}
		if root, err := CheckJobFile("r", b, testFlags(), testOwn(), nil); err != nil || root != p.Root {
			t.Errorf("%s: %q, %v", what, root, err)
		}
	}
}

// With Within no name leads elsewhere.
func TestWithin(t *testing.T) {
	dir := tree(t, "in/a.mkv", "other/b.mkv")
	e2e.Must(t, os.Symlink("../other", filepath.Join(dir, "in/link")))
	in := filepath.Join(dir, "in")
	for _, c := range []struct{ source, root string }{
		{filepath.Join(dir, "other"), in}, {filepath.Join(dir, "*"), in}, {in + "/../other/b.mkv", in}, {in + "/link/../other/*", in},
		{in, filepath.Join(dir, "out")}, {"in", in},
	} {
		req := request(dir, c.source)
		req.Root, req.Within = c.root, in
		if _, err := Expand(context.Background(), req); !errors.Is(err, ErrOutside) {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// A job file for another machine has absolute names only. Its errors name the line.
func TestCheckJobFile(t *testing.T) {
	for text, want := range map[string]string{
		"output: /o\njobs: [/in]":                             "",
		"output: /o\njobs:\n  - in":                           `j:3: "in" is not an absolute name`,
		"output: o\njobs: [/in]":                              `"o" is not an absolute name`,
		"output: ~/o\njobs: [/in]":                            `"~/o" is not an absolute name`,
		"jobs: [/in]":                                         "output: is missing",
		"output: /o\ndefaults: {radus: 3}\njobs: [/in]":       `j:2: unknown option "radus"`,
		"output: /o\njobs: [{input: /in, options: {crf: x}}]": "j:2: crf",
		"output: /o":                                          "jobs: is missing",
	} {
		switch root, err := CheckJobFile("j", []byte(text), testFlags(), testOwn(), nil); {
		case want == "" && (err != nil || root != "/o"):
			t.Errorf("%q: %q, %v", text, root, err)
		case want != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "j.yaml", "j"), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
