package netfile

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
)

// Fetches reports whether a command reads a copy of an input: other addresses are FFmpeg's.
func Fetches(input string) bool { return IsStored(input) || hasScheme(input, "https://") }

// Copies fetches inputs for which Fetches is true, and returns the names of the copies by the shown
// addresses. tell is called before each. remove removes the copies, and may be called twice. Copies
// that killed processes have left are removed first.
func Copies(ctx context.Context, inputs []string, tell func(string)) (copies map[string]string, remove func(), err error) {
	inputs = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(inputs))), func(in string) bool { return !Fetches(in) })
	if len(inputs) == 0 {
		return nil, func() {}, nil
	}
	folder, remove, err := durable.TempFolder("", "vidfilter-copy")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the copy of %s: %w", Shown(inputs[0]), err)
	}
	copies = map[string]string{}
	for i, in := range inputs {
		shown := Shown(in)
		if copies[shown] != "" {
			remove()
			return nil, nil, hint.Errorf("save one of them to a file", "two inputs are %s with other queries, which messages do not show", shown)
		}
		tell("fetching " + shown)
		copies[shown] = filepath.Join(folder, fmt.Sprint(i)+Ending(in))
		if _, err := Fetch(ctx, in, copies[shown]); err != nil {
			remove()
			return nil, nil, err
		}
	}
	return copies, remove, nil
}

var ending = regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`)

// Ending returns the ending of the file name of an address, with its dot, for a copy.
func Ending(address string) string {
	if e := path.Ext(Base(address)); ending.MatchString(e) {
		return e
	}
	return ""
}

// variable names the copies to a child, which has no network.
const variable = "VIDFILTER_COPIES"

// CopiesEnv returns the variable by which a process of this program learns of copies.
func CopiesEnv(copies map[string]string) string {
	b, _ := json.Marshal(copies) // a map of strings
	return variable + "=" + string(b)
}

// TakeCopies returns the copies that the environment names, and the environment without them.
func TakeCopies(env []string) (copies map[string]string, rest []string) {
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, variable+"=") })
	if i < 0 {
		return nil, env
	}
	if json.Unmarshal([]byte(env[i][len(variable)+1:]), &copies) != nil {
		copies = nil
	}
	_ = os.Unsetenv(variable)
	return copies, slices.Delete(slices.Clone(env), i, i+1)
}
