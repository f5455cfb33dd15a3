package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// value is a flag of any type: text in, checked value out.
type value[T any] struct {
	p     *T
	kind  string // stands for the value in --help
	parse func(string) (T, error)
	text  string
	set   bool
	once  bool     // a second time is a mistake, not a correction
	names []string // for completions and suggestions; may be only examples
}

func newValue[T any](p *T, kind string, parse func(string) (T, error)) *value[T] {
	return &value[T]{p: p, kind: kind, parse: parse}
}

func (v *value[T]) Set(s string) error {
	if v.once && v.set {
		return usagef("one input and one output make a job", "already given as %q", v.text)
	}
	x, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.p, v.text, v.set = x, s, true
	return nil
}

func (v *value[T]) String() string    { return v.text }
func (v *value[T]) Type() string      { return v.kind }
func (v *value[T]) Choices() []string { return v.names }

func once[T any](v *value[T]) *value[T] {
	v.once = true
	return v
}

func names[T any](v *value[T], names []string) *value[T] {
	v.names = names
	return v
}

func text(p *string, kind string) *value[string] {
	return newValue(p, kind, func(s string) (string, error) {
		if s == "" {
			return "", errors.New("the value is empty")
		}
		if strings.ContainsRune(s, 0) {
			return "", errors.New("the value holds a NUL byte")
		}
		return s, nil
	})
}

// choice is a flag whose values are names that parse knows.
func choice[T any](p *T, all []string, parse func(string) (T, error)) *value[T] {
	return names(newValue(p, "NAME", func(s string) (T, error) {
		x, err := parse(s)
		if err != nil {
			return x, unknownName(all, s)
		}
		return x, nil
	}), all)
}

func oneOf(p *string, all []string) *value[string] {
	return choice(p, all, func(s string) (string, error) {
		if slices.Contains(all, s) {
			return s, nil
		}
		return "", errors.New("unknown")
	})
}

func unknownName(all []string, s string) error {
	hint := "choose from " + strings.Join(all, ", ")
	if near := closest(s, all); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return usagef(hint, "unknown name")
}

// checkName is for flags whose names depend on another flag.
func checkName(flag string, all []string, s string) error {
	if slices.Contains(all, s) {
		return nil
	}
	return badValue(flag, s, unknownName(all, s))
}

// badValue is the error of a flag or an environment variable whose value is refused by err.
func badValue(source, text string, err error) error {
	hint := hintOf(err)
	if hint == "" {
		hint = "what each option takes: vidfilter --help"
	}
	return usagef(hint, "%s %q: %v", source, text, err)
}

// switchValue is a flag without a value.
type switchValue struct{ value[bool] }

func newSwitch(p *bool) *switchValue {
	return &switchValue{*newValue(p, "bool", func(s string) (bool, error) {
		b, err := strconv.ParseBool(s)
		if err != nil {
			return false, usagef("give 1 or 0, true or false", "not a yes or no")
		}
		return b, nil
	})}
}

func (*switchValue) IsBoolFlag() bool { return true }

// several is a flag that may be repeated; in one value, commas separate.
type several struct {
	p    *[]string
	kind string
}

func (l *several) String() string { return strings.Join(*l.p, ",") }
func (l *several) Type() string   { return l.kind }
func (l *several) Set(s string) error {
	for item := range strings.SplitSeq(s, ",") {
		if item == "" {
			return errors.New("the value is empty")
		}
		*l.p = append(*l.p, item)
	}
	return nil
}

// list is the flag of streams, as several.
type list struct{ p *[]string }

func (l *list) String() string { return strings.Join(*l.p, ",") }
func (l *list) Type() string   { return "SPEC" }
func (l *list) Set(s string) error {
	for item := range strings.SplitSeq(s, ",") {
		if !mapSpec.MatchString(item) {
			return usagef("streams are named as in ffmpeg: 0:1, a, a:1, s:0?, -0:d", "not a stream specifier")
		}
		*l.p = append(*l.p, item)
	}
	return nil
}

// mapSpec is [-][0:]SPEC[?] with SPEC an index, a kind, or a kind and an index. There is one input, 0.
var mapSpec = regexp.MustCompile(`^-?(0|(0:)?(\d{1,6}|[vVasdt](:\d{1,6})?))\??$`)

func splitTune(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",./-+", r) })
}

const (
	maxThreads        = 4096
	maxFramesInFlight = 4096
)

func newDevice(p *device) *value[device] {
	return names(newValue(p, "NAME", parseDevice), deviceNames)
}

func parseDevice(s string) (device, error) {
	if s == "cuda:all" {
		return device{Kind: "cuda", All: true}, nil
	}
	if list, ok := strings.CutPrefix(s, "cuda:"); ok {
		indexes, err := parseIndexes(list)
		return device{Kind: "cuda", Indexes: indexes}, err
	}
	if !slices.Contains(deviceNames, s) {
		return device{}, unknownName(append(slices.Clone(deviceNames), "cuda:0", "cuda:0,2"), s)
	}
	return device{Kind: s}, nil
}

// parseIndexes reads the numbers of GPUs: 0, or 0,2.
func parseIndexes(list string) (indexes []int, err error) {
	const hint = "GPUs are numbered from 0; vidfilter devices lists them"
	for n := range strings.SplitSeq(list, ",") {
		i, err := intIn(0, 255)(n)
		switch {
		case err != nil:
			return nil, usagef(hint, "no such number of a GPU")
		case slices.Contains(indexes, i):
			return nil, usagef(hint, "a GPU is named twice")
		}
		indexes = append(indexes, i)
	}
	return indexes, nil
}

func intIn(low, high int) func(string) (int, error) {
	parse := int64In(int64(low), int64(high))
	return func(s string) (int, error) {
		n, err := parse(s)
		return int(n), err
	}
}

func int64In(low, high int64) func(string) (int64, error) {
	return func(s string) (int64, error) {
		n, err := strconv.ParseInt(s, 10, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return 0, errors.New("not a whole number")
		case err != nil || n < low || n > high:
			return 0, outOfRange(low, high)
		}
		return n, nil
	}
}

func outOfRange(low, high int64) error {
	if high >= math.MaxInt32 {
		return fmt.Errorf("must be at least %d", low)
	}
	return fmt.Errorf("must be %d to %d", low, high)
}

// number reads a plain decimal number; what ParseFloat takes beside that (inf, nan, 0x1p3, 1_0) is none.
func number(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, errors.New("not a number")
	}
	return x, nil
}

func numberIn(low, high float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		x, err := number(s)
		if err == nil && !(x >= low && x <= high) {
			err = fmt.Errorf("must be %g to %g", low, high)
		}
		return x, err
	}
}

func parsePositive(s string) (float64, error) {
	x, err := number(s)
	if err == nil && x <= 0 {
		err = errors.New("must be above 0")
	}
	return x, err
}

func parseCRF(s string) (float64, error) {
	x, err := numberIn(0, 51)(s)
	if err != nil {
		return 0, usagef("0 is lossless, 18 looks like the input, 23 is x264's own, 51 is worst", "%v", err)
	}
	return x, nil
}

// frameRate matches what people who know ffmpeg give to -r.
var frameRate = regexp.MustCompile(`^([0-9]+\.[0-9]+|[0-9]+/[0-9]+|1[6-9]|[2-9][0-9]|1[0-9]{2}|240)(fps)?$|^(ntsc|pal|film|ntsc-film)$`)

func parseRadius(s string) (int, error) {
	n, err := intIn(0, 15)(s)
	switch {
	case err == nil:
		return n, nil
	case frameRate.MatchString(s):
		return 0, usagef("in vidfilter -r is the radius in pixels, 0 to 15; the frame rate is always the input's",
			"a radius is a whole number, 0 to 15")
	}
	return 0, usagef("the window is 2r+1 pixels wide", "a radius is a whole number, 0 to 15")
}
