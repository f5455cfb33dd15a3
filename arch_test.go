// Package vidfilter_test holds the tests of the module as a whole.
package vidfilter_test

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "vidfilter"

const (
	astiav = "github.com/asticode/go-astiav"
	cu     = "gorgonia.org/cu"
	sys    = "golang.org/x/sys"
	plot   = "gonum.org/v1/plot"
	yaml   = "gopkg.in/yaml.v3"
	nats   = "github.com/nats-io"
	socket = "github.com/coder/websocket"
	pion   = "github.com/pion"

	chromedp = "github.com/chromedp"
)

// rule says what the packages of one folder may import beside the standard library: packages of this
// module by their folder, others by their path (with what lies below it), cgo as "C".
type rule struct {
	folder  string // "x/..." is x and everything below it
	imports []string
	tests   []string // what their tests may import in addition, from outside the module
	why     string
}

// The layers, from the lowest. Whoever adds a package writes its rule here, with the reason.
var rules = []rule{
	{folder: ".",
		why: "the top has only tests of the tree itself"},
	{folder: "pipeline",
		why: "everything builds on it: it must compile and be tested anywhere, with no codec, device or C compiler"},
	{folder: "metrics", imports: []string{"pipeline"},
		why: "it measures frames, and judges the backends, so it depends on none of them"},
	{folder: "kernels", imports: []string{"pipeline", "C"},
		why: "filters see frames only: whatever the codec, the same samples come out"},
	{folder: "kernels/bench", imports: []string{"kernels", "metrics", "pipeline", "C"},
		why: "a benchmark of the filters alone: files and codecs would be in the times"},
	{folder: "kernels/kerneltest", imports: []string{"pipeline"},
		why: "pictures for the tests of every backend; kernels' own tests import it"},
	{folder: "kernels/mkptx", imports: []string{"kernels"},
		why: "compiles the list of kernels, whatever it says: it knows no device and no file but theirs"},
	{folder: "internal/text", imports: []string{"golang.org/x/text"},
		why: "words for people, the same everywhere: it knows nothing of what it writes about"},
	{folder: "internal/durable", imports: []string{sys},
		why: "files and their names alone: what is in them is others' business"},
	{folder: "batch", imports: []string{"internal/text", "internal/durable", sys, yaml},
		tests: []string{"github.com/santhosh-tekuri/jsonschema/v6"},
		why:   "knows what the person asked for and what was done, and runs nothing: no codec, device or queue"},
	{folder: "batch/tasks", imports: []string{"batch", "queue"},
		why: "does the work by running the program: what is in a file, and which engine hands out tasks, is not its concern"},
	{folder: "internal/av", imports: []string{"pipeline", astiav, "C"},
		why: "what decode and encode both need of FFmpeg; it knows neither of them"},
	{folder: "decode", imports: []string{"pipeline", "internal/av", astiav, sys, "C"},
		why: "FFmpeg's boundary on the way in; it gets its memory through pipeline's interfaces, from any backend"},
	{folder: "decode/testcamera",
		why: "tests of every package and of the built program set it up, so it depends on none of them"},
	{folder: "encode", imports: []string{"pipeline", "internal/av", "internal/durable", astiav, sys, "C"},
		why: "FFmpeg's boundary on the way out; what it needs of the input it is handed, so that inputs can be anything"},
	{folder: "internal/built",
		why: "builds the program for tests of it from outside: of the program itself it sees what the go command does"},
	{folder: "internal/livetest", tests: []string{chromedp},
		why: "tests only, of the built program and its page in a browser: what they share with it would hide its mistakes"},
	{folder: "internal/mediatest", imports: []string{astiav},
		why: "tests only, most of them of the built program from outside: what they share with it would hide its mistakes"},
	{folder: "internal/fleettest", tests: []string{nats, yaml},
		why: "tests only, of the built program from outside, several at once; of the queue it sees what anybody would"},
	{folder: "internal/batchtest",
		why: "tests only, of the built program from outside: what they share with it would hide its mistakes"},
	{folder: "gpu", imports: []string{"pipeline", "kernels", cu, "C"},
		why: "the only importer of cu, which loads a driver: everything else must run where there is none"},
	{folder: "gpu/libcuda",
		why: "C and a header: its tests look at what the linker sees"},
	{folder: "gpu/testdriver", imports: []string{"internal/built"},
		why: "tests of every package and of the built program set it up, so it depends on none of them"},
	{folder: "bench/measure", imports: []string{"gpu", "kernels", "pipeline"},
		why: "what bench and lab measure in the same way: frames in memory, so no file and no codec"},
	{folder: "lab", imports: []string{"bench/measure", "gpu", "kernels", "pipeline", "samples/scene", plot},
		why: "measures the papers' systems on pictures that it draws: no file and no codec is in it, and what people see is the command's"},
	{folder: "bench", imports: []string{"bench/measure", "decode", "encode", "gpu", "kernels", "live", "pipeline", "samples/scene", plot},
		why: "measures what the parts reach together, and says it in numbers: what people see of them is the command's"},
	{folder: "batch/tasks", imports: []string{"batch", "queue"},
		why: "does a job's steps by running the program, and puts jobs in any queue: it links no codec and knows no engine"},
	{folder: "internal/tally", imports: []string{"queue"},
		why: "adds up what a queue says: the terminal and the status page must show the same numbers"},
	{folder: "display", imports: []string{"queue", "internal/tally", "internal/text"},
		why: "shows what it is told of a queue, on any writer: it asks nobody and touches no file"},
	{folder: "internal/site",
		why: "what strangers reach first: it serves and refuses, and knows nothing of what is behind it"},
	{folder: "web", imports: []string{"queue", "internal/site", "internal/tally", "internal/text"},
		why: "shows any engine, and is the part that strangers reach: no codec, device or file lies behind it"},
	{folder: "queue",
		why: "what is asked of a queue, whoever it is that answers: it knows no engine and no video"},
	{folder: "queue/jetstream", imports: []string{"queue", "internal/durable", nats},
		why: "the only importer of NATS, so that another engine may be put in its place; what tasks do is not its concern"},
	{folder: "live", imports: []string{"decode", "kernels", "pipeline", "samples/scene"},
		why: "takes and filters pictures as they come, on any backend: who looks at them, and over what, is not its concern"},
	{folder: "live/web", imports: []string{"live", "encode", "internal/site", socket},
		why: "the part of live that strangers reach: it shows a session, and touches no file, camera or device"},
	{folder: "live/rtc", imports: []string{"live", "encode", "internal/site", pion},
		why: "the only importer of pion, a large thing that strangers' packets reach: who does without --webrtc runs none of it"},
	{folder: "live/window", imports: []string{"live", "kernels", "pipeline", "C"},
		why: "shows a session on the desktop: SDL is loaded when it is wanted, so nothing else may need it"},
	{folder: "samples/...", imports: []string{"decode", "encode", "gpu", "kernels", "metrics", "pipeline", "samples/..."},
		why: "makes clips with any part of the program, but is no part of it"},
	{folder: "cmd/vidfilter/...", imports: []string{"...", astiav, sys, "golang.org/x/term", "github.com/spf13/pflag"},
		tests: []string{"github.com/rogpeppe/go-internal"},
		why:   "puts the parts together: flags, the terminal and exit codes are its own, and nothing imports it"},
}

func ruleFor(folder string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return within(folder, r.folder) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// within says whether a folder is the one that a pattern names, or lies below it where it ends in "...".
func within(folder, pattern string) bool {
	base, below := strings.CutSuffix(pattern, "...")
	if !below {
		return folder == pattern
	}
	return strings.HasPrefix(folder+"/", base)
}

// check returns why a file of folder may not import a path, or nil.
func check(folder, imported string, inTest bool) error {
	r, ok := ruleFor(folder)
	if !ok {
		return fmt.Errorf("package %s has no rule in arch_test.go: write one, with the reason", folder)
	}
	inside, ours := strings.CutPrefix(imported, module+"/")
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case ours && inTest && !within(inside, "cmd/..."):
		return nil // tests are in no program, and the compiler refuses circles
	case ours:
		if slices.ContainsFunc(r.imports, func(p string) bool { return within(inside, p) }) {
			return nil
		}
	case imported == "C" || strings.Contains(first, "."):
		allowed := r.imports
		if inTest {
			allowed = slices.Concat(r.imports, r.tests)
		}
		if slices.ContainsFunc(allowed, func(p string) bool { return p != "..." && within(imported, p+"/...") }) {
			return nil
		}
	default:
		return nil // the standard library
	}
	return fmt.Errorf("%s must not import %s: %s", folder, imported, r.why)
}

func TestImports(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		files++
		// Every file, whatever its build tags: those of another machine count, too.
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(name))
		if _, ok := ruleFor(folder); !ok {
			t.Errorf("%s: %v", name, check(folder, "", false))
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if err := check(folder, imported, strings.HasSuffix(name, "_test.go")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 10 {
		t.Errorf("only %d files found: is this the top of the module?", files)
	}
}

// skipFolder returns fs.SkipDir for what the go command leaves out, and for other modules.
func skipFolder(name string) error {
	base := filepath.Base(name)
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return fs.SkipDir
	}
	return nil
}

// The rules refuse what they are there for.
func TestImportRules(t *testing.T) {
	for _, c := range []struct {
		folder, imported string
		test, ok         bool
	}{
		{"pipeline", "unsafe", false, true},
		{"pipeline", "encoding/json", false, true},
		{"pipeline", "C", false, false},
		{"pipeline", "vidfilter/metrics", false, false},
		{"pipeline", "vidfilter/metrics", true, true},
		{"pipeline", sys + "/unix", false, false},
		{"metrics", "vidfilter/pipeline", false, true},
		{"metrics", "vidfilter/pipeline/sub", false, false},
		{"metrics", "vidfilter/kernels", false, false},
		{"kernels", astiav, false, false},
		{"kernels", astiav, true, false},
		{"kernels", cu, false, false},
		{"kernels", "vidfilter/gpu", false, false},
		{"decode", astiav, false, true},
		{"decode", "vidfilter/encode", false, false},
		{"decode", "vidfilter/encode", true, true},
		{"encode", sys + "/unix", false, true},
		{"encode", sys + "2/unix", false, false},
		{"encode", "vidfilter/decode", false, false},
		{"batch", yaml, false, true},
		{"batch", "vidfilter/queue", false, false},
		{"batch", "vidfilter/decode", false, false},
		{"batch", "C", false, false},
		{"gpu", cu, false, true},
		{"gpu", cu + "/dnn", false, true},
		{"gpu", astiav, false, false},
		{"queue", nats + "/nats.go", false, false},
		{"queue/jetstream", nats + "/nats-server/v2/server", false, true},
		{"queue/jetstream", "vidfilter/queue", false, true},
		{"queue/jetstream", "vidfilter/encode", false, false},
		{"samples/gen", "vidfilter/samples/scene", false, true},
		{"samples", "vidfilter/cmd/vidfilter", false, false},
		{"samples", "vidfilter/cmd/vidfilter", true, false},
		{"cmd/vidfilter", "vidfilter/gpu", false, true},
		{"cmd/vidfilter", "vidfilter/internal/anything", false, true},
		{"cmd/vidfilter", astiav, false, true},
		{"cmd/vidfilter", cu, false, false},
		{"cmd/vidfilter", "github.com/rogpeppe/go-internal/testscript", false, false},
		{"cmd/vidfilter", "github.com/rogpeppe/go-internal/testscript", true, true},
		{"live/rtc", pion + "/webrtc/v4", false, true},
		{"live/rtc", "vidfilter/live/web", false, false},
		{"live/web", pion + "/webrtc/v4", false, false},
		{"live", pion + "/rtp", true, false},
		{"cmd/vidfilter", pion + "/webrtc/v4", false, false},
		{"display", "vidfilter/queue", false, true},
		{"display", "vidfilter/queue/jetstream", false, false},
		{"web", "vidfilter/internal/tally", false, true},
		{"web", "vidfilter/batch", false, false},
		{"cmd/other", "fmt", false, false},
		{"kernels/new", "fmt", false, false},
		{"samplesize", "fmt", false, false},
	} {
		if err := check(c.folder, c.imported, c.test); (err == nil) != c.ok {
			t.Errorf("%s importing %s (in a test: %v): %v", c.folder, c.imported, c.test, err)
		}
	}
	for _, r := range rules {
		if r.why == "" {
			t.Errorf("the rule of %s gives no reason", r.folder)
		}
	}
}
