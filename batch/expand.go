package batch

import (
	"cmp"
	"context"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/encode/formats"
	"vidfilter/internal/durable"
	"vidfilter/internal/netfile"
)

// Request describes the user's request.
type Request struct {
	Sources []string  // folders, globs, files, @LIST, - (a list on Stdin), or one job file
	Stdin   io.Reader // for -
	Root    string    // where outputs go, relative to Dir; "" leaves it to the job file
	Name    string    // name template; "" leaves it to the job file, then DefaultName
	Args    []string  // flags of the main command as typed, without those that a batch sets itself
	// files are added later: names cannot depend on their number, and no sources are fine
	Watch bool

	// a folder below which sources, outputs and files of options must be, absolute; "": anywhere
	Within string

	Dir   string         // base of relative names; absolute
	Home  string         // for ~ in a job file
	State string         // holds the roots of batches with outputs in a store; absolute
	Env   []string       // such as VIDFILTER_CRF=20; flags of the lowest rank
	Flags *pflag.FlagSet // of the main command; values are set in it to check them
	Own   *pflag.FlagSet // of the batch, which a job file may set under batch:; the same

	// Check judges flags, in the order of Flags and with --, as the main command would with an
	// output of the given name; the name is "" if it is not known yet. Check may be nil.
	Check func(output string, args []string) error
}

// Plan is an expanded Request.
type Plan struct {
	Root     string    // absolute
	Store    string    // where the outputs go, s3://BUCKET/FOLDER; "": below the root
	Items    []Item    // in the order of the request; priorities are up to the caller
	Problems []Problem // sources that are left out
	Batch    []Setting // set by the job file under batch:

	req     Request
	sources []source
	flags   flagTable
	taken   taken
	base    jobEntry  // defaults of all jobs
	low     []Setting // environment and defaults
	high    []Setting // the command line
	index   int       // of the last file

	watched *resolvedSource  // of the files that are added
	checked map[string]error // results of Check, by the output's ending and the flags
}

// Item is one output to make.
type Item struct {
	Source   string   // absolute, or an address without its query: see netfile
	Output   string   // below the root, with slashes; neither absolute nor beginning with a dash
	Args     []string // flags of the main command, in the order of its table, as --name=value
	Deciding []string // the Args that decide about the result
	Priority int      // larger comes first
	Store    string   `json:",omitempty"` // where the output goes, s3://BUCKET/FOLDER; "": below the root

	address string // the source with its query, which is a secret
}

// OutputPath returns the path or, in a store, the address of the output. root may be a folder of a
// store as well.
func (i Item) OutputPath(root string) string {
	if i.Store != "" || netfile.IsStored(root) {
		return netfile.Join(cmp.Or(i.Store, root), i.Output)
	}
	return filepath.Join(root, filepath.FromSlash(i.Output))
}

// Local reports whether the output is a plain name below the root and not one of the batch's own
// files. Expand makes no other.
func (i Item) Local() bool {
	name := filepath.FromSlash(i.Output)
	first, _, _ := strings.Cut(i.Output, "/")
	return filepath.IsLocal(name) && filepath.Clean(name) == name && name != "." && first != StateDir && !strings.HasPrefix(name, "-")
}

// Problem is the error of a source that is left out.
type Problem struct {
	Source string
	Where  string // file:line of the job file or list, or ""
	Err    error
}

func (p Problem) Error() string {
	if p.Where != "" {
		return p.Where + ": " + p.Err.Error()
	}
	return p.Err.Error()
}

// Expand makes a plan of a request. It reads folders, lists and job files, but no video. It returns
// an error if the request as a whole makes no sense, and no job should start; trouble with a single
// file of a list, a job file or a folder becomes a Problem of the plan. ctx ends the reading of
// large folders.
//
// If flags are given in several places, a job's own options win over the command line, the
// command line over the job file's defaults, and these over the environment. A job's own name
// wins over the command line's, and that over the job file's.
func Expand(ctx context.Context, req Request) (*Plan, error) {
	p := &Plan{req: req, flags: flagTable{req.Flags}, taken: newTaken(), checked: map[string]error{}}
	var err error
	if p.sources, err = p.read(); err != nil {
		return nil, err
	}
	if p.Root, err = p.root(); err != nil {
		return nil, err
	}
	if err := p.within(p.Root); err != nil {
		return nil, err
	}
	p.taken.store = p.Store
	e := expansion{Plan: p, ctx: ctx}
	for _, j := range p.sources {
		if err := e.job(j); err != nil {
			return nil, err
		}
	}
	if err := p.taken.check(p.Root); err != nil {
		return nil, err
	}
	if len(p.Items)+len(p.Problems) == 0 && !req.Watch {
		return nil, errorf("folders are searched for .mp4, .mkv, .avi and the like; name other files directly", "no video to filter")
	}
	return p, nil
}

// source is a source with its settings.
type source struct {
	jobEntry
	dir     string // base of input
	literal bool   // no glob
	lenient bool   // errors become Problems
}

// read turns the arguments, and the job file if there is one, into sources.
func (p *Plan) read() (all []source, err error) {
	if p.low, err = p.flags.environment(p.req.Env); err != nil {
		return nil, err
	}
	if p.high, err = p.flags.parse(p.req.Args); err != nil {
		return nil, err
	}
	if len(p.req.Sources) == 0 && !p.req.Watch {
		return nil, errorf("vidfilter batch FOLDER -o FOLDER", "no sources to filter")
	}
	p.base.name = cmp.Or(p.req.Name, DefaultName)
	for _, s := range p.req.Sources {
		of, err := p.argument(s)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	t, err := parseTemplate(p.base.name)
	if err == nil && p.req.Watch && t.uses("index") {
		err = errorf("use {stem} or {name}", "watched files cannot be numbered: the numbers would change with each run")
	}
	return all, err
}

func (p *Plan) argument(s string) ([]source, error) {
	list, isList := strings.CutPrefix(s, "@")
	switch {
	case s == "":
		return nil, errorf("leave it out", "a source has no name")
	case s == "-":
		return p.list("stdin", p.req.Stdin)
	case isList && !exists(p.absolute(s)):
		return p.listFile(list)
	case isJobFile(s) && !durable.IsDir(p.absolute(s)):
		if len(p.req.Sources) > 1 {
			return nil, errorf("write the other sources into it, or run it by itself", "the job file %q is not the only source", s)
		}
		return p.jobFile(s)
	}
	return []source{{jobEntry: jobEntry{input: s}, dir: p.req.Dir}}, nil
}

func (p *Plan) absolute(name string) string { return under(p.req.Dir, name) }

func under(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// root returns the folder of the outputs. It need not exist yet.
func (p *Plan) root() (string, error) {
	if p.Root == "" && p.Store == "" && p.req.Root == "" {
		return "", errorf("vidfilter batch FOLDER -o FOLDER, or output: in a job file", "no output: -o FOLDER is missing")
	}
	if netfile.IsWeb(p.req.Root) {
		return "", errorf("write to a folder, or to s3://BUCKET/FOLDER", "the output %q is a web server", netfile.Shown(p.req.Root))
	}
	if _, file := formats.ByEnding(path.Ext(p.req.Root)); file && !exists(p.absolute(p.req.Root)) {
		return "", errorf("a batch writes into a folder: make it first if that is its name", "the output %q is named like a file", p.req.Root)
	}
	switch {
	case netfile.IsStored(p.req.Root):
		if err := p.store(p.req.Root); err != nil {
			return "", err
		}
	case p.req.Root != "":
		p.Root, p.Store = p.absolute(p.req.Root), ""
	}
	root := p.Root
	if err := portable(root); err != nil {
		return "", err
	}
	if exists(root) && !durable.IsDir(root) {
		return "", errorf("a batch writes into a folder: -o FOLDER", "the output %q is not a folder", root)
	}
	return root, nil
}
