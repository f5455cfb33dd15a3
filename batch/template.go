package batch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"vidfilter/encode/formats"
	"vidfilter/internal/text"
)

// DefaultName is the default name template.
const DefaultName = "{stem}{ext}"

var fields = []string{"stem", "ext", "name", "dir", "index"}

const fieldHint = "fields: {stem} {ext} {name} {dir} {index} {index:04}; a brace itself is {{ or }}"

// nameTemplate is a name with fields in it.
type nameTemplate []piece

type piece struct {
	text  string // if field is ""
	field string
	width int // of index, padded with zeros
}

// maxWidth is the largest N in {index:N}: more is a typo.
const maxWidth = 12

func parseTemplate(s string) (t nameTemplate, err error) {
	if s == "" {
		return nil, errorf(fieldHint, "the name template is empty")
	}
	literal := func(s string) { t = append(t, piece{text: s}) }
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			literal(s)
			break
		}
		if i > 0 {
			literal(s[:i])
		}
		if strings.HasPrefix(s[i+1:], s[i:i+1]) { // {{ or }}
			literal(s[i : i+1])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if s[i] == '}' || end < 0 {
			return nil, errorf(fieldHint, "the name template has a lone %q", s[i:i+1])
		}
		p, err := parseField(s[i+1 : i+end])
		if err != nil {
			return nil, err
		}
		t, s = append(t, p), s[i+end+1:]
	}
	if strings.HasPrefix(t[0].text, "/") {
		return nil, errorf("names are below the root, which is -o FOLDER", "the name template begins with a slash")
	}
	if !t.uses("stem", "name", "index") {
		return nil, errorf("use {stem}, {name} or {index}", "the name template gives every output the same name")
	}
	return t, nil
}

func parseField(s string) (piece, error) {
	name, width, wide := strings.Cut(s, ":")
	if !slices.Contains(fields, name) {
		hint := fieldHint
		if near := text.Closest(name, fields); near != "" {
			hint = fmt.Sprintf("did you mean {%s}? %s", near, fieldHint)
		}
		return piece{}, errorf(hint, "the name template has the unknown field {%s}", s)
	}
	if !wide {
		return piece{field: name}, nil
	}
	n, err := strconv.Atoi(width)
	if name != "index" || err != nil || width[0] != '0' || n < 1 || n > maxWidth {
		return piece{}, errorf("only {index} takes a width, as {index:04}", "the name template has {%s}", s)
	}
	return piece{field: name, width: n}, nil
}

func (t nameTemplate) uses(names ...string) bool {
	return slices.ContainsFunc(t, func(p piece) bool { return slices.Contains(names, p.field) })
}

type values struct {
	name   string // of the source, without its folder
	dir    string // below the given folder, or the name of a given file's folder
	format string // from --format
	below  bool   // dir is below a given folder, and is kept
	index  int
}

// output returns the path of an output below the root.
func (t nameTemplate) output(v values) (string, error) {
	var b strings.Builder
	ext := ending(v.name)
	for _, p := range t {
		switch p.field {
		case "":
			b.WriteString(p.text)
		case "stem":
			b.WriteString(strings.TrimSuffix(v.name, ext))
		case "ext":
			b.WriteString(formats.OutputEnding(ext, v.format))
		case "name":
			b.WriteString(v.name)
		case "dir":
			b.WriteString(v.dir)
		case "index":
			fmt.Fprintf(&b, "%0*d", p.width, v.index)
		}
	}
	name := b.String()
	if t.uses("dir") {
		name = strings.TrimPrefix(name, "/") // of "{dir}/{stem}" without a folder
	} else if v.below && v.dir != "" {
		name = v.dir + "/" + name
	}
	return cleanOutput(name, v.format)
}

// cleanOutput checks and normalizes a path below the root.
func cleanOutput(name, format string) (string, error) {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "", errorf("names are below the root, which is -o FOLDER", "the output's name %q leads out of the root", name)
		case len(part) > maxName:
			return "", errorf("give a shorter --name", "the output's name %q is too long", name)
		}
	}
	switch {
	case strings.HasPrefix(name, "/"):
		return "", errorf("names are below the root, which is -o FOLDER", "the output's name %q is absolute", name)
	case strings.ContainsRune(name, 0):
		return "", errorf(fieldHint, "the output's name %q holds a NUL byte", name)
	case name == "" || strings.HasSuffix(name, "/"):
		return "", errorf(fieldHint, "the output's name %q is a folder's", name)
	}
	name = path.Clean(name)
	if strings.HasPrefix(name, "-") {
		name = "_" + name[1:] // or it would be taken for an option on a command line
	}
	first, _, _ := strings.Cut(name, "/")
	if first == StateDir || name == "." {
		return "", errorf("a batch keeps its state in the folder "+StateDir, "the output's name %q is reserved", name)
	}
	return name, checkEnding(name, format)
}

// maxName is the longest name in bytes that file systems take.
const maxName = 255

func checkEnding(name, format string) error {
	if format != "" {
		return nil
	}
	ext := strings.ToLower(ending(path.Base(name)))
	if slices.Contains(writable, ext) {
		return nil
	}
	return errorf("endings: "+strings.Join(writable, " ")+"; {ext} chooses one; or give --format",
		"the output's name %q has no ending that can be written", name)
}

// writable are the endings that an output can have.
var writable = formats.Endings(func(formats.Format) bool { return true })

// isVideo reports whether a file of this name is taken from a folder. Still images must be named
// one by one: most in a folder, such as covers, are not meant.
func isVideo(name string) bool {
	_, ok := formats.BySource(ending(name))
	return ok
}

// ending is a name's extension with its dot. A name that only begins with a dot has no ending.
func ending(name string) string {
	if i := strings.LastIndexByte(name, '.'); i > 0 && !strings.ContainsRune(name[i:], '/') {
		return name[i:]
	}
	return ""
}

// checkPicture refuses a picture of a whole video.
func checkPicture(source, output, format string, args []string) error {
	f, ok := formats.Named(format)
	if !ok {
		f, _ = formats.ByEnding(ending(output))
	}
	part := func(a string) bool { return a == "--frames=1" || strings.HasPrefix(a, "--duration=") }
	if f.Family != formats.Picture || !isVideo(source) || slices.ContainsFunc(args, part) {
		return nil
	}
	return errorf("give --frames 1, or the format of a video",
		"%q: %s holds one picture, and a video has more", source, f.Names[0])
}
