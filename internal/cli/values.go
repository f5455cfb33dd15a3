package cli

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

// Value is a flag of any type.
type Value[T any] struct {
	p     *T
	kind  string // placeholder in help
	parse func(string) (T, error)
	text  string
	set   bool
	usual func(string) string // the usual name of a value; nil: it has no others
	once  bool                // a second, different value is an error
	names []string            // for completion and suggestions; may be examples
}

func NewValue[T any](p *T, kind string, parse func(string) (T, error)) *Value[T] {
	return &Value[T]{p: p, kind: kind, parse: parse}
}

func (v *Value[T]) Set(s string) error {
	s = v.Usual(s)
	if v.once && v.set && s != v.text {
		return Usagef("one input and one output make a job", "already given as %q", v.text)
	}
	x, err := v.parse(s)
	if err != nil {
		return err
	}
	*v.p, v.text, v.set = x, s, true
	return nil
}

func (v *Value[T]) String() string    { return v.text }
func (v *Value[T]) Type() string      { return v.kind }
func (v *Value[T]) Choices() []string { return v.names }

// Is reports whether the variable has one of some values; without any, whether it is not zero.
func (v *Value[T]) Is(values ...string) bool {
	if len(values) == 0 {
		return !reflect.ValueOf(v.p).Elem().IsZero()
	}
	return slices.Contains(values, fmt.Sprint(*v.p))
}

// Usual returns the usual name of a value that has several.
func (v *Value[T]) Usual(s string) string {
	if v.usual == nil {
		return s
	}
	return v.usual(s)
}

// Aliased lets values have other names, which usual maps to the usual ones.
func Aliased[T any](v *Value[T], usual func(string) string) *Value[T] {
	v.usual = usual
	return v
}

func Once[T any](v *Value[T]) *Value[T] {
	v.once = true
	return v
}

func Names[T any](v *Value[T], names []string) *Value[T] {
	v.names = names
	return v
}

func String(p *string, kind string) *Value[string] {
	return NewValue(p, kind, func(s string) (string, error) {
		if s == "" {
			return "", errors.New("the value is empty")
		}
		if strings.ContainsRune(s, 0) {
			return "", errors.New("the value holds a NUL byte")
		}
		return s, nil
	})
}

// OneOf is a flag with a fixed set of names.
func OneOf(p *string, all []string) *Value[string] {
	return Names(NewValue(p, "NAME", NameIn(all)), all)
}

// NameIn returns a parser that takes the names.
func NameIn(all []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if slices.Contains(all, s) {
			return s, nil
		}
		return "", UnknownName(all, s)
	}
}

func UnknownName(all []string, s string) error {
	return Usagef(WithNearest("choose from "+strings.Join(all, ", "), s, all), "unknown name")
}

// WithNearest puts the name most similar to a mistyped one before a hint.
func WithNearest(hint, s string, all []string) string {
	if near := text.Closest(s, all); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return hint
}

// CheckName checks a flag whose names depend on another flag.
func CheckName(flag string, all []string, s string) error {
	if slices.Contains(all, s) {
		return nil
	}
	return BadValue(flag, s, UnknownName(all, s))
}

// mostQuoted is how much of a wrong value is shown.
const mostQuoted = 200

// BadValue is the error of a flag or variable whose value err refuses.
func BadValue(source, value string, err error) error {
	hint := hint.Of(err)
	if hint == "" {
		hint = "for the values of options: vidfilter help options"
	}
	return Usagef(hint, "%s %q: %v", source, text.Clip(value, mostQuoted), err)
}

func parseSwitch(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, Usagef("give 1 or 0, true or false", "not a yes or no")
	}
	return b, nil
}

func IntIn(low, high int) func(string) (int, error) {
	parse := Int64In(int64(low), int64(high))
	return func(s string) (int, error) {
		n, err := parse(s)
		return int(n), err
	}
}

func Int64In(low, high int64) func(string) (int64, error) {
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

// Number reads a decimal number, but not the other forms of ParseFloat: inf, nan, 0x1p3, 1_0.
func Number(s string) (float64, error) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, errors.New("not a number")
	}
	return x, nil
}

func NumberIn(low, high float64) func(string) (float64, error) {
	return func(s string) (float64, error) {
		x, err := Number(s)
		if err == nil && !(x >= low && x <= high) {
			err = fmt.Errorf("must be %g to %g", low, high)
		}
		return x, err
	}
}
