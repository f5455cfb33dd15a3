package batch

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

func TestFolder(t *testing.T) {
	dir := tree(t, "tapes/tape10.mkv", "tapes/Tape2.avi", "tapes/notes.txt", "tapes/.hidden.mkv", "tapes/.cache/x.mkv",
		"tapes/1999/b.mp4", "tapes/1999/deep/c.MTS", "tapes/x.mkv.part")
	p := mustExpand(t, request(dir, "tapes"))
	wantItems(t, dir, p, "tapes/1999/b.mp4 > 1999/b.mp4", "tapes/1999/deep/c.MTS > 1999/deep/c.ts",
		"tapes/Tape2.avi > Tape2.mkv", "tapes/tape10.mkv > tape10.mkv")
	if p.Root != filepath.Join(dir, "out") || len(p.Problems) > 0 {
		t.Errorf("root %s, problems %v", p.Root, p.Problems)
	}
}

// Links are followed, but not in circles or upwards. Each file is taken once, by its own name if
// that is in the folder.
func TestLinks(t *testing.T) {
	dir := tree(t, "in/a/x.mkv", "in/z.mkv", "else/y.mkv", "single.mkv")
	e2e.Must(t, os.Symlink("../..", filepath.Join(dir, "in/a/above")))
	e2e.Must(t, os.Symlink("../single.mkv", filepath.Join(dir, "in/one.mkv")))
	e2e.Must(t, os.Symlink("one.mkv", filepath.Join(dir, "in/two.mkv")))
	e2e.Must(t, os.Symlink("..", filepath.Join(dir, "in/a/up")))
	e2e.Must(t, os.Symlink("a", filepath.Join(dir, "in/0-first")))
	e2e.Must(t, os.Symlink("../else", filepath.Join(dir, "in/more")))
	e2e.Must(t, os.Symlink("z.mkv", filepath.Join(dir, "in/same.mkv")))
	e2e.Must(t, os.Symlink("nowhere.mkv", filepath.Join(dir, "in/gone.mkv")))
	p := mustExpand(t, request(dir, "in"))
	wantItems(t, dir, p, "in/a/x.mkv > a/x.mkv", "in/more/y.mkv > more/y.mkv", "in/one.mkv > one.mkv", "in/z.mkv > z.mkv")
	if len(p.Problems) != 1 || !strings.HasSuffix(p.Problems[0].Source, "gone.mkv") {
		t.Errorf("problems: %v", p.Problems)
	}
}

func TestGlob(t *testing.T) {
	dir := tree(t, "[tapes]/a.mkv", "[tapes]/b.txt", "[tapes]/.c.mkv", "[tapes]/d/e.mp4", "[tapes]/.vidfilter/f.mkv", "odd[1].mkv")
	in := filepath.Join(dir, "[tapes]")
	wantItems(t, in, mustExpand(t, request(in, "*")), "a.mkv > a.mkv", "d/e.mp4 > e.mp4")
	wantItems(t, in, mustExpand(t, request(in, "*.txt", "*/*.mp4")), "b.txt > b.mkv", "d/e.mp4 > e.mp4")
	wantItems(t, in, mustExpand(t, request(in, ".c*")), ".c.mkv > .c.mkv")
	wantItems(t, dir, mustExpand(t, request(dir, "odd[1].mkv")), "odd[1].mkv > odd[1].mkv")
	_, err := Expand(context.Background(), request(dir, "*.avi"))
	wantError(t, err, `no file matches "*.avi"`)
	_, err = Expand(context.Background(), request(dir, "[a"))
	wantError(t, err, "mistake")
}

func TestLists(t *testing.T) {
	dir := tree(t, "a.mkv", "b*.mkv", "sub/c.xyz")
	put(t, "\xef\xbb\xbfa.mkv\r\n\nb*.mkv\ngone.mkv\n"+filepath.Join(dir, "sub/c.xyz"), dir, "lists/l.txt")
	p := mustExpand(t, request(dir, "@lists/l.txt"))
	wantItems(t, dir, p, "a.mkv > a.mkv", "b*.mkv > b*.mkv", "sub/c.xyz > c.mkv")
	if len(p.Problems) != 1 || !strings.HasPrefix(p.Problems[0].Error(), "lists/l.txt:4: ") || hint.Of(p.Problems[0].Err) == "" {
		t.Errorf("problems: %v", p.Problems)
	}
	req := request(dir, "-")
	req.Stdin = strings.NewReader("a.mkv\x00sub/c.xyz\x00")
	wantItems(t, dir, mustExpand(t, req), "a.mkv > a.mkv", "sub/c.xyz > c.mkv")
	req.Stdin = strings.NewReader("\n")
	_, err := Expand(context.Background(), req)
	wantError(t, err, "the list stdin is empty")
	_, err = Expand(context.Background(), request(dir, "@none.txt"))
	wantError(t, err, "none.txt")
}

func TestRefused(t *testing.T) {
	dir := tree(t, "in/a.mkv", "in/a.avi", "in/b.mkv", "two/b.mkv", "empty/readme", "night.yaml", "out.mkv", "file")
	e2e.Must(t, syscall.Mkfifo(filepath.Join(dir, "pipe.mkv"), 0o600))
	e2e.Must(t, os.Symlink("in", filepath.Join(dir, "way")))
	e2e.Must(t, os.Link(filepath.Join(dir, "in/b.mkv"), filepath.Join(dir, "hard.mkv")))
	for name, c := range map[string]struct {
		edit func(*Request)
		want []string
	}{
		"nothing":        {func(r *Request) { r.Sources = nil }, []string{"no sources"}},
		"no root":        {func(r *Request) { r.Root = "" }, []string{"-o FOLDER is missing"}},
		"root is a file": {func(r *Request) { r.Root = "file" }, []string{"not a folder"}},
		"gone":           {func(r *Request) { r.Sources = []string{"in/b.mkv", "gone.mkv"} }, []string{"gone.mkv", "check the name"}},
		"two to one":     {func(*Request) {}, []string{"in/a.avi", "in/a.mkv", `become "a.mkv"`, "{index}"}},
		"two folders":    {func(r *Request) { r.Sources = []string{"in/b.mkv", "two"} }, []string{"in/b.mkv", "two/b.mkv"}},
		"onto itself":    {func(r *Request) { r.Sources, r.Root = []string{"in/b.mkv"}, "in" }, []string{"would replace the source", "b.mkv"}},
		"by a link":      {func(r *Request) { r.Sources, r.Root = []string{"in/b.mkv"}, "way" }, []string{"would replace the source", "b.mkv"}},
		"another source": {func(r *Request) {
			r.Sources, r.Root, r.Name = []string{"in/a.mkv", "in/b.mkv"}, "in", "{index}/../{index}{stem}{ext}"
		}, []string{"leads out"}},
		"a source that is a link": {func(r *Request) {
			r.Sources, r.Root, r.Name = []string{"in/b.mkv"}, ".", "hard.mkv{{{stem}"
		}, []string{"no ending"}},
		"hard link":     {func(r *Request) { r.Sources, r.Root, r.Name = []string{"hard.mkv"}, "in", "b.mkv" }, []string{"the same name"}},
		"folder, file":  {func(r *Request) { r.Sources, r.Name = []string{"in/b.mkv", "out.mkv"}, "" }, nil},
		"job file":      {func(r *Request) { r.Sources = []string{"in/b.mkv", "night.yaml"} }, []string{"not the only source"}},
		"a pipe":        {func(r *Request) { r.Sources = []string{"pipe.mkv"} }, []string{"not a plain file"}},
		"no video":      {func(r *Request) { r.Sources = []string{"empty"} }, []string{"no video"}},
		"template":      {func(r *Request) { r.Name = "{stme}" }, []string{"did you mean {stem}"}},
		"unknown flag":  {func(r *Request) { r.Args = []string{"--radus=3"} }, []string{`did you mean "radius"`}},
		"own flag":      {func(r *Request) { r.Args = []string{"-i", "x"} }, []string{"--input cannot be", "arguments"}},
		"no value":      {func(r *Request) { r.Args = []string{"-r"} }, []string{"--radius needs a value"}},
		"rivals":        {func(r *Request) { r.Args = []string{"--crf=3", "--bitrate=5M"} }, []string{"exclude each other"}},
		"null":          {func(r *Request) { r.Sources, r.Args = []string{"in/b.mkv"}, []string{"--format=null"} }, []string{"keeps what it makes"}},
		"environment":   {func(r *Request) { r.Env = []string{"VIDFILTER_NO_AUDIO=maybe"} }, []string{"VIDFILTER_NO_AUDIO", "switch"}},
		"watch, number": {func(r *Request) { r.Watch, r.Name = true, "{index}{ext}" }, []string{"cannot be numbered"}},
		"value refused": {func(r *Request) {
			r.Check = func(_ string, args []string) error { return errorf("try 3", "bad %s", strings.Join(args, " ")) }
			r.Args = []string{"-r=99"}
		}, []string{"bad --radius=99"}},
		"output refused": {func(r *Request) {
			r.Check = func(output string, _ []string) error {
				if output == "" {
					return nil
				}
				return errorf("try 3", "bad %s", path.Ext(output))
			}
			r.Name = "{stem}.mp4"
		}, []string{"bad .mp4"}},
	} {
		t.Run(name, func(t *testing.T) {
			req := request(dir, "in")
			c.edit(&req)
			_, err := Expand(context.Background(), req)
			if c.want == nil {
				e2e.Must(t, err)
				return
			}
			wantError(t, err, c.want...)
		})
	}
}

// An output that is a hard link of a source, or below another output, is refused.
// A picture holds one frame of a video.
func TestPicture(t *testing.T) {
	dir := tree(t, "a.mkv")
	req := request(dir, "a.mkv")
	req.Args = []string{"--format=png"}
	_, err := Expand(context.Background(), req)
	wantError(t, err, "holds one picture")
	wantError(t, checkPicture("a.mkv", "a.jpg", "", nil), "holds one picture")
	for source, args := range map[string]string{"a.mkv": "--frames=1", "b.avi": "--duration=0.04", "a.png": ""} {
		e2e.Must(t, checkPicture(source, "a.jpg", "png", strings.Fields(args)))
	}
	e2e.Must(t, checkPicture("a.mkv", "a.png", "mkv", nil))
}

func TestOutputsInTheWay(t *testing.T) {
	dir := tree(t, "in/x.mkv", "in/x.mkv.d/y.mkv")
	e2e.Must(t, os.Mkdir(filepath.Join(dir, "out"), 0o755))
	e2e.Must(t, os.Link(filepath.Join(dir, "in/x.mkv"), filepath.Join(dir, "out/x.mkv")))
	_, err := Expand(context.Background(), request(dir, "in"))
	wantError(t, err, "would replace the source")

	e2e.Must(t, os.Remove(filepath.Join(dir, "out/x.mkv")))
	put(t, "jobs:\n- {input: in/x.mkv, name: 'x{index}.mkv'}\n- {input: in/x.mkv.d/y.mkv, name: 'x1.mkv/{stem}.mkv'}\n", dir, "j.yaml")
	_, err = Expand(context.Background(), request(dir, "j.yaml"))
	wantError(t, err, `"x1.mkv" is the output of`)
}

func TestRootInSources(t *testing.T) {
	dir := tree(t, "in/a.mkv", "in/clean/a.mkv", "in/b.clean.mkv", "in/b.mkv")
	req := request(dir, "in")
	req.Root = "in/clean"
	wantItems(t, dir, mustExpand(t, req), "in/a.mkv > a.mkv", "in/b.clean.mkv > b.clean.mkv", "in/b.mkv > b.mkv")

	e2e.Must(t, os.RemoveAll(filepath.Join(dir, "in/clean")))
	// Records distinguish outputs from sources in the same folder.
	req.Root, req.Name = "in", "{stem}.clean{ext}"
	made, err := FingerprintOf(filepath.Join(dir, "in/b.clean.mkv"))
	e2e.Must(t, err)
	e2e.Must(t, WriteRecord(filepath.Join(dir, "in"), Record{Output: "b.clean.mkv", State: RecordDone, Digest: "x", OutputFile: &made}))
	wantItems(t, dir, mustExpand(t, req), "in/a.mkv > a.clean.mkv", "in/b.mkv > b.clean.mkv")
}

func TestDuplicates(t *testing.T) {
	dir := tree(t, "in/a.mkv", "in/b.mkv")
	wantItems(t, dir, mustExpand(t, request(dir, "in", "in/b.mkv", "./in/../in/a.mkv")), "in/a.mkv > a.mkv", "in/b.mkv > b.mkv")
}

func TestFlags(t *testing.T) {
	dir := tree(t, "a.mkv")
	req := request(dir, "a.mkv")
	req.Env = []string{"VIDFILTER_CRF=30", "VIDFILTER_RADIUS=9", "VIDFILTER_QUIET=1", "VIDFILTER_PRESET=", "VIDFILTER_THREADS=2"}
	req.Args = []string{"-r5", "--no-audio", "--map", "v", "-m=a,s", "--bitrate=5M", "--sigma-r", "-3", "-r", "4", "--no-subs=0"}
	p := mustExpand(t, req)
	wantItems(t, dir, p, "a.mkv > a.mkv --radius=4 --sigma-r=-3 --bitrate=5M --no-audio --no-subs=false --map=v --map=a,s --threads=2")
	if slices.Contains(p.Items[0].Deciding, "--threads=2") || len(p.Items[0].Deciding) != len(p.Items[0].Args)-1 {
		t.Errorf("deciding: %q", p.Items[0].Deciding)
	}
}

func TestNotUTF8(t *testing.T) {
	dir := tree(t, "in/a.mkv", "in/b\xff.mkv")
	p := mustExpand(t, request(dir, "in"))
	if len(p.Items) != 1 || len(p.Problems) != 1 || !strings.Contains(p.Problems[0].Error(), "not UTF-8") {
		t.Errorf("items %v, problems %v", p.Items, p.Problems)
	}
	for _, change := range []func(*Request){
		func(r *Request) { r.Root = "out\xff" },
		func(r *Request) { r.Name = "\xff{stem}{ext}" },
		func(r *Request) { r.Args = []string{"--map", "m:title:\xff"} },
	} {
		req := request(dir, "in/a.mkv")
		change(&req)
		if p, err := Expand(t.Context(), req); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%v, %v", p, err)
		}
	}
}

func TestUnreadableFolder(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := tree(t, "in/a.mkv", "in/closed/b.mkv")
	closed := filepath.Join(dir, "in/closed")
	e2e.Must(t, os.Chmod(closed, 0))
	defer os.Chmod(closed, 0o755)
	if p := mustExpand(t, request(dir, "in")); len(p.Items) != 1 || len(p.Problems) != 1 {
		t.Errorf("items %v, problems %v", p.Items, p.Problems)
	}
}

func TestAdd(t *testing.T) {
	dir := tree(t, "in/a.mkv", "in/x/b.avi", "in/b.mkv", "other/c.mkv")
	req := request(dir)
	req.Watch, req.Args = true, []string{"-r", "2"}
	p := mustExpand(t, req)
	in := filepath.Join(dir, "in")
	for range 2 {
		item, err := p.Add(in, filepath.Join(in, "x/b.avi"))
		e2e.Must(t, err)
		if item.Output != "x/b.mkv" || !slices.Equal(item.Args, []string{"--radius=2"}) {
			t.Errorf("%+v", item)
		}
	}
	_, err := p.Add(in, filepath.Join(in, "gone.mkv"))
	wantError(t, err, "gone.mkv")
	_, err = p.Add(in, filepath.Join(dir, "other/c.mkv"))
	wantError(t, err, "not below")
	p.taken.inodes[inodeOf(stat(t, put(t, "made", dir, "out/b.mkv")))] = filepath.Join(in, "removed.mkv")
	_, err = p.Add(in, filepath.Join(in, "b.mkv")) // the inode was a source's before
	e2e.Must(t, err)
	put(t, "", in, "x/b.mkv")
	_, err = p.Add(in, filepath.Join(in, "x/b.mkv"))
	wantError(t, err, "would both become")
	first, err := p.Find(in, filepath.Join(in, "x/b.avi"))
	e2e.Must(t, err)
	second, err := p.Find(in, filepath.Join(in, "x/b.mkv"))
	e2e.Must(t, err)
	p.Drop(second) // never added
	_, err = p.Add(in, filepath.Join(in, "x/b.mkv"))
	wantError(t, err, "would both become")
	outputs, inodes := len(p.taken.outputs), len(p.taken.inodes)
	p.Drop(first)
	if len(p.taken.outputs) != outputs-1 || len(p.taken.inodes) != inodes-1 {
		t.Errorf("%+v", p.taken)
	}
	_, err = p.Add(in, filepath.Join(in, "x/b.mkv"))
	e2e.Must(t, err)
}

func TestCancelled(t *testing.T) {
	dir := tree(t, "in/a.mkv")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Expand(ctx, request(dir, "in")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestNaturalOrder(t *testing.T) {
	want := []string{"", "01", "1", "2", "10", "A", "a", "a1", "a1b", "a2", "a02x", "a10", "B", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareNatural)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func FuzzNaturalOrder(f *testing.F) {
	f.Add("a01", "a1", "A1")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		sign := func(n int) int { return min(max(n, -1), 1) }
		ab, bc, ac := sign(compareNatural(a, b)), sign(compareNatural(b, c)), sign(compareNatural(a, c))
		if ab != -sign(compareNatural(b, a)) || (ab == 0) != (a == b) || ab <= 0 && bc <= 0 && ac > 0 {
			t.Errorf("%q %q %q: %d %d %d", a, b, c, ab, bc, ac)
		}
	})
}
