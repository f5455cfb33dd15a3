package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"vidfilter/internal/hint"
	"vidfilter/internal/netfile"
)

// expansion turns sources into items.
type expansion struct {
	*Plan
	ctx context.Context
	our map[inode]bool // outputs of earlier runs; nil until needed
}

// resolvedSource holds the settings of all files of a source.
type resolvedSource struct {
	source
	template nameTemplate
	*settings
	format string
}

// settings are shared by the items of a source.
type settings struct {
	args, deciding []string
	where          string
}

func (p *Plan) resolve(s source) (o resolvedSource, err error) {
	o.source = s
	if o.template, err = parseTemplate(cmp.Or(s.name, p.base.name)); err != nil {
		return o, err
	}
	o.settings = &settings{where: s.where}
	given := p.flags.merge(p.low, p.high, s.options)
	o.args, o.deciding = p.flags.args(given)
	for _, f := range given {
		if f.Name == "format" {
			o.format = f.Value
		}
	}
	if strings.EqualFold(o.format, "null") {
		return o, errorf("leave out --format null", "a batch keeps what it makes")
	}
	return o, p.check("", o.args)
}

// check checks flags, once for each kind of output.
func (p *Plan) check(output string, args []string) error {
	if p.req.Check == nil {
		return nil
	}
	kind := path.Ext(output) + "\x00" + strings.Join(args, "\x00")
	err, known := p.checked[kind]
	if !known {
		err = p.req.Check(output, args)
		p.checked[kind] = err
	}
	return err
}

// located puts the line of a job file or list before an error.
func (s source) located(err error) error {
	if err == nil || s.where == "" {
		return err
	}
	return errorf(hint.Of(err), "%s: %v", s.where, err)
}

func (e *expansion) job(s source) error {
	o, err := e.resolve(s)
	if err != nil {
		return s.located(err)
	}
	if netfile.Is(s.input) {
		return e.at(o)
	}
	name := under(s.dir, s.input)
	if err := e.allWithin(s); err != nil {
		return err
	}
	i, err := os.Stat(name)
	switch {
	case err == nil && i.IsDir():
		return e.folder(o, name)
	case err == nil:
		return e.file(o, name, folderOf(name), i)
	case errors.Is(err, fs.ErrNotExist) && !s.literal && strings.ContainsAny(s.input, `*?[`):
		return e.glob(o)
	}
	return e.fail(o, name, missing(s.input, err))
}

// fail turns an error into a Problem if the other sources can go on.
func (e *expansion) fail(o resolvedSource, name string, err error) error {
	if !o.lenient {
		return o.located(err)
	}
	e.index++
	e.Problems = append(e.Problems, Problem{name, o.where, err})
	return nil
}

// sourceFolder is a file's folder, for the template.
type sourceFolder struct {
	dir   string
	below bool // below a folder that was given
}

func folderOf(name string) sourceFolder {
	return sourceFolder{dir: strings.Trim(filepath.Base(filepath.Dir(name)), "/.")}
}

func (e *expansion) folder(o resolvedSource, dir string) error {
	w := e.walk()
	if err := w.run(dir); err != nil {
		return e.fail(o, dir, missing(dir, err))
	}
	if err := e.ctx.Err(); err != nil {
		return err
	}
	o.lenient = true
	for _, f := range w.files {
		if err := e.file(o, f.path, sourceFolder{f.rel, true}, f.info); err != nil {
			return err
		}
	}
	return nil
}

// skipOwn leaves out the root inside a walked folder, and outputs of earlier runs beside their
// sources. Once ctx ends it leaves out everything.
func skipOwn(ctx context.Context, root string, our map[inode]bool) func(fs.FileInfo) bool {
	dir, err := os.Stat(root)
	return func(i fs.FileInfo) bool {
		return ctx.Err() != nil || err == nil && i.IsDir() && os.SameFile(i, dir) || our[inodeOf(i)]
	}
}

func (e *expansion) walk() *walk {
	if e.our == nil {
		e.our = outputsOf(e.Root)
	}
	return &walk{
		skip: skipOwn(e.ctx, e.Root, e.our),
		problem: func(name string, err error) {
			e.Problems = append(e.Problems, Problem{Source: name, Err: missing(name, err)})
		},
	}
}

// glob expands patterns of job files, and quoted ones.
func (e *expansion) glob(o resolvedSource) error {
	pattern := o.input
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(quoteMeta(o.dir), pattern)
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		return o.located(errorf("a [ that is part of a name is written \\[", "the pattern %q has a mistake", o.input))
	}
	matched := 0
	any := isEnding(ending(path.Base(pattern)))
	slices.SortFunc(names, comparePaths)
	for _, name := range names {
		i, err := os.Stat(name)
		if hiddenBy(pattern, name) || err == nil && !any && !i.IsDir() && !isVideo(name) {
			continue
		}
		matched++
		switch {
		case err != nil:
			err = e.fail(o, name, missing(name, err))
		case i.IsDir():
			err = e.folder(o, name)
		default:
			err = e.file(o, name, folderOf(name), i)
		}
		if err != nil {
			return err
		}
	}
	if matched == 0 {
		return e.fail(o, under(o.dir, o.input), errorf("check the pattern; a mount may be away", "no file matches %q", o.input))
	}
	return nil
}

func quoteMeta(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// isEnding reports whether a pattern has a literal file name extension, so that all files with it
// are meant.
func isEnding(ext string) bool { return len(ext) > 1 && !strings.ContainsAny(ext, `*?[\`) }

// hiddenBy reports whether a pattern's star matched a leading dot, as it must not in shells.
func hiddenBy(pattern, name string) bool {
	patterns, parts := strings.Split(pattern, "/"), strings.Split(name, "/")
	for i, p := range patterns {
		if i < len(parts) && strings.HasPrefix(parts[i], ".") && !strings.HasPrefix(strings.TrimPrefix(p, `\`), ".") {
			return true
		}
	}
	return false
}

func (e *expansion) file(o resolvedSource, name string, at sourceFolder, i fs.FileInfo) error {
	switch {
	case !i.Mode().IsRegular():
		return e.fail(o, name, errorf("save it to a file first", "%q is not a plain file", name))
	case !utf8.ValidString(name):
		return e.fail(o, name, portable(name))
	}
	e.index++
	item, err := e.item(o, name, at, e.index)
	if err != nil {
		return o.located(err)
	}
	known, err := e.taken.add(item, o.settings, i)
	if err == nil && !known {
		e.Items = append(e.Items, item)
	}
	return o.located(err)
}

// portable refuses a name that the queue and the records could not hold.
func portable(name string) error {
	if utf8.ValidString(name) {
		return nil
	}
	return errorf("rename it; convmv does many", "the name %q is not UTF-8, and records could not tell it from others", name)
}

func (p *Plan) item(o resolvedSource, name string, at sourceFolder, index int) (Item, error) {
	if err := portable(name); err != nil {
		return Item{}, err
	}
	output, err := o.template.output(values{filepath.Base(name), at.dir, o.format, at.below, index})
	if err != nil {
		return Item{}, errorf(hint.Of(err), "%q: %v", name, err)
	}
	for _, text := range append([]string{output}, o.args...) {
		if err := portable(text); err != nil {
			return Item{}, err
		}
	}
	if err := checkPicture(name, output, o.format, o.args); err != nil {
		return Item{}, err
	}
	return Item{Source: name, Output: output, Args: o.args, Deciding: o.deciding, Priority: o.priority, Store: p.Store}, p.check(output, o.args)
}

// Add makes an item of a file that appeared later below the watched folder dir. The item is not
// added to p.Items. It fails if the output is that of another file, or a source. The same file
// again gives the same item. It is not safe for concurrent use.
func (p *Plan) Add(dir, name string) (Item, error) {
	i, err := os.Stat(name)
	if err != nil {
		return Item{}, missing(name, err)
	}
	item, by, err := p.below(dir, name)
	if err != nil {
		return Item{}, err
	}
	if _, err := p.taken.add(item, by, i); err != nil {
		return Item{}, err
	}
	return item, p.taken.checkOne(p.Root, item)
}

// Find returns the item that Add has made of a file. It is not safe for concurrent use with Add.
func (p *Plan) Find(dir, name string) (Item, error) {
	item, _, err := p.below(dir, name)
	return item, err
}

// Drop forgets an item that Add has made, so that its output may be another file's. It is not safe
// for concurrent use with Add.
func (p *Plan) Drop(item Item) { p.taken.drop(item) }

// below returns the item of a file below the watched folder.
func (p *Plan) below(dir, name string) (Item, *settings, error) {
	if p.watched == nil {
		o, err := p.resolve(source{lenient: true})
		if err != nil {
			return Item{}, nil, err
		}
		p.watched = &o
	}
	o := *p.watched
	rel, err := filepath.Rel(dir, filepath.Dir(name))
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return Item{}, nil, errorf("add what lies in the folder", "%q is not below %q", name, dir)
	}
	if rel == "." {
		rel = ""
	}
	item, err := p.item(o, name, sourceFolder{filepath.ToSlash(rel), true}, 0)
	return item, o.settings, err
}

// taken holds the names that outputs cannot have: other outputs and sources.
type taken struct {
	outputs   map[string]claim
	inodes    map[inode]string // of the sources
	addresses map[string]bool  // of the sources
	store     string           // Plan.Store
}

// claim is the use of an output's name. A watched folder may see 100,000 files.
type claim struct {
	source string
	inode  inode
	*settings
}

func newTaken() taken {
	return taken{outputs: map[string]claim{}, inodes: map[inode]string{}, addresses: map[string]bool{}}
}

// add reports whether the same item exists already.
func (t *taken) add(item Item, by *settings, i fs.FileInfo) (known bool, err error) {
	known, err = t.claim(item, claim{item.Source, inodeOf(i), by})
	if err == nil && !known {
		t.inodes[inodeOf(i)] = item.Source
	}
	return known, err
}

func (t *taken) claim(item Item, by claim) (known bool, err error) {
	if old, ok := t.outputs[item.Output]; ok {
		if old.source == item.Source && slices.Equal(old.args, item.Args) {
			return true, nil
		}
		return false, collision(old, item)
	}
	t.outputs[item.Output] = by
	return false, nil
}

// drop undoes add.
func (t *taken) drop(item Item) {
	c, ok := t.outputs[item.Output]
	if !ok || c.source != item.Source {
		return
	}
	delete(t.outputs, item.Output)
	if t.inodes[c.inode] == item.Source {
		delete(t.inodes, c.inode)
	}
}

func collision(a claim, b Item) error {
	from := fmt.Sprintf("%q and %q", a.source, b.Source)
	if a.source == b.Source {
		from = fmt.Sprintf("%q twice, with other options,", a.source)
	}
	if a.where != "" {
		from += fmt.Sprintf(" (the former in %s)", a.where)
	}
	return errorf("tell them apart: --name '{dir}/{stem}{ext}', {index}, {name}.mkv, or name: in a job file",
		"%s would both become %q", from, b.Output)
}

// check finds outputs that would replace sources, and those below each other.
func (t *taken) check(root string) error {
	for _, name := range slices.Sorted(maps.Keys(t.outputs)) {
		if err := t.checkOne(root, Item{Source: t.outputs[name].source, Output: name}); err != nil {
			return err
		}
	}
	return nil
}

func (t *taken) checkOne(root string, item Item) error {
	if i, err := os.Stat(item.OutputPath(root)); err == nil {
		victim := t.inodes[inodeOf(i)]
		source, err := os.Stat(victim) // once a source is removed, an output may get its inode
		if err == nil && os.SameFile(i, source) {
			return errorf("write to another folder, or give a name: --name '{stem}.clean{ext}'",
				"the output of %q would replace the source %q", item.Source, victim)
		}
	}
	if address := netfile.Join(t.store, item.Output); t.store != "" && t.addresses[address] {
		return errorf("write to another folder, or give a name: --name '{stem}.clean{ext}'",
			"the output of %q would replace the source %q", item.Source, address)
	}
	for dir := path.Dir(item.Output); dir != "."; dir = path.Dir(dir) {
		if other, ok := t.outputs[dir]; ok {
			return errorf("give one of them another name", "%q is the output of %q, and a folder for that of %q", dir, other.source, item.Source)
		}
	}
	return nil
}
