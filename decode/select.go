package decode

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/asticode/go-astiav"
)

// choice selects the streams that are read.
type choice struct {
	maps            []string
	rules           []mapRule // of maps
	noAudio, noSubs bool
	videoOnly       bool
}

func choiceOf(o Options) (choice, error) {
	rules, err := parseMaps(o.Maps)
	return choice{o.Maps, rules, o.NoAudio, o.NoSubs, o.VideoOnly || o.Part != nil}, err
}

// streamTraits are the properties that --map rules match.
type streamTraits struct {
	index    int
	kind     byte // v a s d t
	nth      int  // among its kind
	language string
}

func kindLetter(m astiav.MediaType) byte {
	switch m {
	case astiav.MediaTypeVideo:
		return 'v'
	case astiav.MediaTypeAudio:
		return 'a'
	case astiav.MediaTypeSubtitle:
		return 's'
	case astiav.MediaTypeAttachment:
		return 't'
	}
	return 'd'
}

// mapRule is a --map in ffmpeg's syntax, for one input: [-][0:]INDEX, or
// [-][0:]KIND[:N|:m:language:LANG][?].
type mapRule struct {
	negative, optional bool
	index              int // -1 for any
	kind               byte
	nth                int // -1 for any
	language           string
}

var mapSyntax = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(-?)(?:0:)?(?:(\d+)|([vastd])(?::(\d+)|:m:language:(\w+))?)(\??)$`)
})

func parseMaps(specs []string) ([]mapRule, error) {
	var rules []mapRule
	for _, s := range specs {
		if s == "0" {
			rules = append(rules, mapRule{index: -1, nth: -1})
			continue
		}
		m := mapSyntax().FindStringSubmatch(s)
		if m == nil {
			return nil, &Error{Op: "map", Err: fmt.Errorf("%q is no stream", s), hint: "examples: --map v --map a:0 --map s:m:language:eng --map -a:1"}
		}
		r := mapRule{negative: m[1] != "", optional: m[6] != "", index: orAny(m[2]), nth: orAny(m[4]), language: m[5]}
		if m[3] != "" {
			r.kind = m[3][0]
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func orAny(s string) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return -1
}

func (r mapRule) matches(t streamTraits) bool {
	return (r.index < 0 || r.index == t.index) && (r.kind == 0 || r.kind == t.kind) && (r.nth < 0 || r.nth == t.nth) &&
		(r.language == "" || r.language == t.language)
}

// mapped applies the rules in order. The last match wins. Without a positive rule everything is
// selected, or, if all is false, only named streams.
func mapped(rules []mapRule, t streamTraits, all bool) bool {
	in := all && !slices.ContainsFunc(rules, func(r mapRule) bool { return !r.negative })
	for _, r := range rules {
		if r.matches(t) {
			in = !r.negative
		}
	}
	return in
}
