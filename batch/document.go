package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// node is a value in a job file, with its line: what YAML and JSON have in common.
type node struct {
	kind  kind
	text  string  // of a scalar, as written
	keys  []*node // of an object: scalars
	items []*node // of a list, or the values of an object
	line  int
}

type kind string

// The kinds, as people call them.
const (
	isText   kind = "a text"
	isWhole  kind = "a whole number"
	isNumber kind = "a number"
	isBool   kind = "true or false"
	isNull   kind = "nothing"
	isList   kind = "a list"
	isObject kind = "a mapping"
)

const (
	maxDepth = 20      // a job file needs six
	maxNodes = 1 << 18 // aliases can make a short file a long one
)

// parseDocument reads a job file by its name's ending. Errors name the line.
func parseDocument(name string, data []byte) (*node, error) {
	if strings.EqualFold(filepath.Ext(name), ".json") {
		return parseJSON(name, data)
	}
	return parseYAML(name, data)
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

func parseYAML(name string, data []byte) (*node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, errorf(jobsHint, "%s is empty", name)
	}
	if err != nil {
		m := yamlLine.FindStringSubmatch(err.Error())
		text := strings.TrimPrefix(err.Error(), m[0])
		if m[1] != "" {
			name += ":" + m[1]
		}
		return nil, errorf("indent with spaces, and put names with special characters in quotes", "%s: %s", name, text)
	}
	if d.Decode(&more) == nil {
		return nil, errorf("put all jobs into one list", "%s:%d: a second document begins", name, more.Line)
	}
	c := yamlReader{name: name, left: maxNodes}
	return c.node(doc.Content[0], 0)
}

type yamlReader struct {
	name string
	left int
}

func (c *yamlReader) node(y *yaml.Node, depth int) (*node, error) {
	c.left--
	if depth > maxDepth || c.left < 0 {
		return nil, errorf(jobsHint, "%s:%d: too deep or too much", c.name, y.Line)
	}
	n := &node{line: y.Line, text: y.Value}
	switch y.Kind {
	case yaml.AliasNode:
		return c.node(y.Alias, depth+1)
	case yaml.ScalarNode:
		n.kind = scalarKind(y.ShortTag())
		return n, nil
	case yaml.SequenceNode:
		n.kind = isList
	case yaml.MappingNode:
		n.kind = isObject
	}
	for i, child := range y.Content {
		m, err := c.node(child, depth+1)
		if err != nil {
			return nil, err
		}
		if n.kind == isObject && i%2 == 0 {
			if err := n.addKey(c.name, m); err != nil {
				return nil, err
			}
			continue
		}
		n.items = append(n.items, m)
	}
	return n, nil
}

func scalarKind(tag string) kind {
	switch tag {
	case "!!int":
		return isWhole
	case "!!float":
		return isNumber
	case "!!bool":
		return isBool
	case "!!null":
		return isNull
	}
	return isText
}

func (n *node) addKey(name string, key *node) error {
	if key.kind == isList || key.kind == isObject {
		return errorf(jobsHint, "%s:%d: a key must be a name", name, key.line)
	}
	if n.get(key.text) >= 0 {
		return errorf("leave one of them", "%s:%d: the key %q is there twice", name, key.line, key.text)
	}
	n.keys = append(n.keys, key)
	return nil
}

func (n *node) get(key string) int {
	for i, k := range n.keys {
		if k.text == key {
			return i
		}
	}
	return -1
}

func parseJSON(name string, data []byte) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	r := jsonReader{name: name, data: data, Decoder: json.NewDecoder(bytes.NewReader(data))}
	r.UseNumber()
	n, err := r.node(0)
	if err == nil {
		if _, end := r.Token(); !errors.Is(end, io.EOF) {
			return nil, errorf("a job file is one object", "%s:%d: something follows the end", name, r.line())
		}
		return n, nil
	}
	var ours *Error
	if errors.As(err, &ours) {
		return nil, err
	}
	text := strings.TrimPrefix(err.Error(), "invalid character ")
	if text != err.Error() {
		text = "unexpected " + text
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		text = "the file ends in the middle"
	}
	return nil, errorf("a JSON file has names in double quotes, and no comma behind the last item", "%s:%d: %s", name, r.line(), text)
}

type jsonReader struct {
	*json.Decoder
	name string
	data []byte
	seen int // bytes of data whose lines are counted
	at   int // lines in them
}

// line returns the line that the reader has reached.
func (r *jsonReader) line() int {
	end := min(int(r.InputOffset()), len(r.data))
	r.at += bytes.Count(r.data[r.seen:end], []byte("\n"))
	r.seen = end
	return r.at + 1
}

func (r *jsonReader) node(depth int) (*node, error) {
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	n := &node{line: r.line()}
	if depth > maxDepth {
		return nil, errorf(jobsHint, "%s:%d: too deep", r.name, n.line)
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			n.kind = isList
		} else {
			n.kind = isObject
		}
		for r.More() {
			if err := r.child(n, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := r.Token()
		return n, err
	case string:
		n.kind, n.text = isText, v
	case json.Number:
		n.kind, n.text = isNumber, v.String()
		if !strings.ContainsAny(n.text, ".eE") {
			n.kind = isWhole
		}
	case bool:
		n.kind, n.text = isBool, fmt.Sprint(v)
	case nil:
		n.kind = isNull
	}
	return n, nil
}

func (r *jsonReader) child(n *node, depth int) error {
	if n.kind == isObject {
		key, err := r.node(depth)
		if err != nil {
			return err
		}
		if err := n.addKey(r.name, key); err != nil {
			return err
		}
	}
	m, err := r.node(depth)
	if err == nil {
		n.items = append(n.items, m)
	}
	return err
}
