package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// node is a value in a job file, without tags, anchors and aliases.
type node struct {
	kind  nodeKind
	text  string  // of a scalar
	keys  []*node // of an object: scalars
	items []*node // of a list, or the values of an object
	line  int
}

type nodeKind string

// The kinds, as people call them.
const (
	isText   nodeKind = "a text"
	isWhole  nodeKind = "a whole number"
	isNumber nodeKind = "a number"
	isBool   nodeKind = "true or false"
	isNull   nodeKind = "nothing"
	isList   nodeKind = "a list"
	isObject nodeKind = "a mapping"
)

const (
	maxDepth = 20      // a job file needs six
	maxNodes = 1 << 18 // aliases can make a short file a long one
)

// parseDocument reads a job file: YAML, which includes JSON. Errors name the line.
func parseDocument(name string, data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if n := deepest(data); n > 0 {
		return nil, errorf(jobsHint, "%s:%d: nested too deeply", name, n)
	}
	if strings.EqualFold(filepath.Ext(name), ".json") {
		if err := checkJSON(name, data); err != nil {
			return nil, err
		}
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(name, err)
	}
	var docs []ast.Node
	for _, d := range file.Docs {
		if _, directive := d.Body.(*ast.DirectiveNode); d.Body != nil && !directive {
			docs = append(docs, d.Body)
		}
	}
	switch len(docs) {
	case 0:
		return nil, errorf(jobsHint, "%s is empty", name)
	case 1:
		r := treeReader{name: name, left: maxNodes, anchors: map[string]ast.Node{}}
		return r.node(docs[0], 0)
	}
	return nil, errorf("put all jobs into one list", "%s:%d: a second document begins", name, line(docs[1]))
}

// deepest returns the line, or 0, from which lists nest so deeply that the parser, whose time is
// quadratic in the depth, would take minutes. It does not know quotes and comments, so it allows
// more than maxDepth.
func deepest(data []byte) int {
	const most = 5 * maxDepth
	dashes := bytes.Repeat([]byte("- "), most)
	depth, line := 0, 1
	for i, c := range data {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		}
		if depth > most || c == '-' && bytes.HasPrefix(data[i:], dashes) {
			return line
		}
	}
	return 0
}

func syntaxError(name string, err error) error {
	text := err.Error()
	if at, ok := errors.AsType[yaml.Error](err); ok && at.GetToken() != nil {
		name, text = fmt.Sprintf("%s:%d", name, at.GetToken().Position.Line), at.GetMessage()
	}
	return errorf("indent with spaces, and put names with special characters in quotes", "%s: %s", name, text)
}

// checkJSON refuses YAML that is not JSON.
func checkJSON(name string, data []byte) error {
	var all json.RawMessage
	err := json.Unmarshal(data, &all)
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		name = fmt.Sprintf("%s:%d", name, 1+bytes.Count(data[:syntax.Offset], []byte("\n")))
	}
	return errorf("JSON has names in double quotes, and no comma after the last item", "%s: %v", name, err)
}

func line(n ast.Node) int { return n.GetToken().Position.Line }

// treeReader makes nodes of a syntax tree.
type treeReader struct {
	name    string
	left    int // nodes
	anchors map[string]ast.Node
}

func (r *treeReader) errorf(n ast.Node, text string) error {
	return errorf(jobsHint, "%s:%d: %s", r.name, line(n), text)
}

func (r *treeReader) node(n ast.Node, depth int) (*node, error) {
	r.left--
	if depth > maxDepth || r.left < 0 {
		return nil, r.errorf(n, "too deep or too large")
	}
	switch v := n.(type) {
	case *ast.AnchorNode:
		r.anchors[v.Name.GetToken().Value] = v.Value
		return r.node(v.Value, depth+1)
	case *ast.AliasNode:
		to := r.anchors[v.Value.GetToken().Value]
		if to == nil {
			return nil, r.errorf(n, fmt.Sprintf("the alias *%s has no anchor", v.Value.GetToken().Value))
		}
		return r.node(to, depth+1)
	case *ast.TagNode:
		return r.node(v.Value, depth+1)
	case *ast.MappingKeyNode:
		return r.node(v.Value, depth+1)
	case *ast.SequenceNode:
		return r.list(v, depth)
	case *ast.MappingNode:
		return r.object(v, depth)
	}
	return scalar(n), nil
}

func (r *treeReader) list(v *ast.SequenceNode, depth int) (*node, error) {
	n := &node{kind: isList, line: line(v)}
	for _, child := range v.Values {
		item, err := r.node(child, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

func (r *treeReader) object(v *ast.MappingNode, depth int) (*node, error) {
	n, seen := &node{kind: isObject, line: line(v)}, map[string]bool{}
	for _, pair := range v.Values {
		key, err := r.node(pair.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if key.kind == isList || key.kind == isObject {
			return nil, r.errorf(pair.Key, "a key must be a name")
		}
		if seen[key.text] {
			return nil, errorf("leave one of them", "%s:%d: the key %q is there twice", r.name, key.line, key.text)
		}
		seen[key.text] = true
		item, err := r.node(pair.Value, depth+1)
		if err != nil {
			return nil, err
		}
		n.keys, n.items = append(n.keys, key), append(n.items, item)
	}
	return n, nil
}

func scalar(v ast.Node) *node {
	n := &node{kind: isText, line: line(v), text: v.GetToken().Value}
	switch v := v.(type) {
	case *ast.IntegerNode:
		n.kind = isWhole
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind = isNumber
	case *ast.BoolNode:
		n.kind = isBool
	case *ast.NullNode:
		n.kind = isNull
	case *ast.LiteralNode:
		n.text = v.Value.Value
	}
	return n
}
