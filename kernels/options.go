package kernels

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// FieldOrder overrides the interlacing of the input. It is not in the table, as it changes frames
// before they are filtered: Get and Set do not work.
var FieldOrder = Option{
	Name: "field-order", Title: "Field order", Kind: Name, Names: []string{"auto", "progressive", "tff", "bff"},
	Help: "auto takes the input's word",
}

// Option is an option of a filter, or an entry of the table of all of them. Flags, environment
// variables, the schema of job files, the controls of vidfilter live, its JSON and docs/filters.md
// are all derived from the table. Filters may share an option, each with a domain of its own. The
// table has the first one's description.
type Option struct {
	Name    string // of the flag
	Short   string // one letter, or ""
	Title   string // on the page
	Kind    ValueType
	Names   []string // values of Kind Name
	Default uint8    // index of the name that is the default
	Bare    string   // of Kind Name: the meaning of the flag by itself; "": it needs a value
	Unit    string   // of numbers, or ""
	Metavar string   // of Kind Text
	Help    string
	Basic   bool               // vidfilter --help lists it
	Rivals  []string           // options that cannot be given with it
	Alias   bool               // another name for a value of an option
	Check   func(string) error // of Kind Text: refuses values, and takes ""

	Domain Domain // of the filter that lists the option
	Binding

	of []part // of the table's entries; nil: of no filter
}

// part is an option as one filter lists it.
type part struct {
	filter *FilterType
	Option
}

// ValueType is the type of an option's values.
type ValueType uint8

// The kinds.
const (
	Number ValueType = iota
	Whole
	Name
	Switch
	Text // "": not set
)

// Domain is the range and default of an option in one filter.
type Domain struct {
	Min, Max float64
	Open     bool // Min itself is excluded
	Default  float64
	Auto     func(Stage) float64 // default computed from other options, in place of Default
	Formula  string              // human-readable Auto
	Zero     string              // the word for 0, if there is one
	Slider   [2]float64          // range of the slider; zero: Min and Max
	Main     bool                // it is the amount of filtering
}

// Binding is where a stage keeps an option: as a number, a name as its index, or as text.
type Binding struct {
	get     func(s Stage) float64
	set     func(s Stage, x float64) Stage
	text    func(s Stage) string
	setText func(s Stage, text string) Stage
}

// Bind returns the binding of a field that holds a number, or the index of a name.
func Bind[S Stage, T ~int | ~uint8 | ~float64](field func(*S) *T) Binding {
	return Binding{
		get: func(s Stage) float64 { own := s.(S); return float64(*field(&own)) },
		set: func(s Stage, x float64) Stage { own := s.(S); *field(&own) = T(x); return own },
	}
}

// BindSwitch returns the binding of a field of Kind Switch.
func BindSwitch[S Stage](field func(*S) *bool) Binding {
	return Binding{
		get: func(s Stage) float64 {
			if own := s.(S); *field(&own) {
				return 1
			}
			return 0
		},
		set: func(s Stage, x float64) Stage { own := s.(S); *field(&own) = x == 1; return own },
	}
}

// BindText returns the binding of a field of Kind Text.
func BindText[S Stage](field func(*S) *string) Binding {
	return Binding{
		text:    func(s Stage) string { own := s.(S); return *field(&own) },
		setText: func(s Stage, text string) Stage { own := s.(S); *field(&own) = text; return own },
	}
}

// Options returns the table: the filter, the options of the default filter, of the other main
// filters, and of the extra ones in their order.
func Options() []Option { return table(false) }

// Flags returns the table with the options that are other names for values of some: they are read,
// and never written.
func Flags() []Option { return slices.Clone(allFlags()) }

var allFlags = sync.OnceValue(func() []Option { return append(Options(), table(true)...) })

func table(aliases bool) (all []Option) {
	if names := FilterNames(); !aliases {
		all = append(all, Option{
			Name: "filter", Title: "Filter", Kind: Name, Names: names, Default: uint8(slices.Index(names, DefaultFilter.Name)),
			Help: "in space and time, over a window, or recursively",
		})
	}
	main := slices.DeleteFunc(Filters(), func(f *FilterType) bool { return f == DefaultFilter })
	for _, f := range slices.Concat([]*FilterType{DefaultFilter}, main, extras()) {
		for _, o := range f.Options {
			if o.Alias != aliases {
				continue
			}
			i := slices.IndexFunc(all, func(other Option) bool { return other.Name == o.Name })
			if i < 0 {
				i, all = len(all), append(all, o)
			}
			all[i].of = append(all[i].of, part{f, o})
		}
	}
	return all
}

// OptionNamed finds an option by the name of its flag.
func OptionNamed(name string) (Option, bool) {
	all := allFlags()
	i := slices.IndexFunc(all, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return Option{}, false
	}
	return all[i], true
}

// JSON returns the option's name in JSON.
func (o Option) JSON() string { return strings.ReplaceAll(o.Name, "-", "_") }

// In returns the option's domain in a job with main filter f, false if the job lacks the option.
func (o Option) In(f *FilterType) (d Domain, ok bool) {
	ok = o.of == nil
	for _, p := range o.of {
		if p.filter == f || p.filter.Place != PlaceMain {
			d, ok = p.Domain, true
		}
	}
	return o.bounded(d), ok
}

// bounded returns a domain completed by the option's kind.
func (o Option) bounded(d Domain) Domain {
	switch o.Kind {
	case Name:
		d.Max, d.Default = float64(len(o.Names)-1), float64(o.Default)
	case Switch:
		d.Max = 1
	}
	if d.Slider == [2]float64{} {
		d.Slider = [2]float64{d.Min, d.Max}
	}
	return d
}

// Filters returns the main filters of the jobs that have the option.
func (o Option) Filters() []*FilterType {
	return slices.DeleteFunc(Filters(), func(f *FilterType) bool { _, ok := o.In(f); return !ok })
}

// OfFilter reports whether a filter has the option as its own.
func (o Option) OfFilter(f *FilterType) bool {
	return slices.ContainsFunc(o.of, func(p part) bool { return p.filter == f })
}

// Within reports whether all filters that have the option are of some places.
func (o Option) Within(which func(Place) bool) bool {
	if o.of == nil {
		return which(PlaceMain)
	}
	return !slices.ContainsFunc(o.of, func(p part) bool { return !which(p.filter.Place) })
}

// anywhere returns a domain with the values of all filters.
func (o Option) anywhere() (all Domain) {
	if o.of == nil {
		return o.bounded(Domain{})
	}
	for i, p := range o.of {
		d := o.bounded(p.Domain)
		if i == 0 || d.Min < all.Min || d.Min == all.Min && !d.Open {
			all.Min, all.Open = d.Min, d.Open
		}
		all.Max, all.Zero = max(all.Max, d.Max), d.Zero
	}
	return all
}

// holder returns the option as the chosen filter lists it, or as the first one does, with the
// stage that holds it.
func (o Option) holder(s Selection) (Option, Stage) {
	p := o.of[0]
	if i := slices.IndexFunc(o.of, func(p part) bool { return p.filter == s.Chosen() }); i >= 0 {
		p = o.of[i]
	}
	return p.Option, s.Of(p.filter)
}

// Get returns the option's value in s as a number, a name as its index; 0 for a text.
func (o Option) Get(s Selection) float64 {
	if o.of == nil {
		return float64(slices.Index(Filters(), s.Chosen()))
	}
	if own, stage := o.holder(s); o.Kind != Text {
		return own.get(stage)
	}
	return 0
}

// NumberOf returns the value of a stage's option by its name, 0 if the stage lacks it.
func NumberOf(s Stage, name string) float64 {
	for _, o := range s.Filter().Options {
		if o.Name == name {
			return o.get(s)
		}
	}
	return 0
}

// Value returns the option's value in s: a float64, an int, a name, a bool or a text.
func (o Option) Value(s Selection) any {
	if o.of == nil {
		return s.Chosen().Name
	}
	own, stage := o.holder(s)
	return own.valueOf(stage)
}

func (o Option) valueOf(s Stage) any {
	if o.Kind == Text {
		return o.text(s)
	}
	switch x := o.get(s); o.Kind {
	case Whole:
		return int(x)
	case Name:
		return name(o.Names, uint8(x))
	case Switch:
		return x == 1
	default:
		return x
	}
}

// Text returns the option's value in s in the syntax of flags.
func (o Option) Text(s Selection) string {
	d, _ := o.In(s.Chosen())
	return d.print(o.Value(s))
}

func (d Domain) print(value any) string {
	x, ok := value.(float64)
	switch {
	case ok && x == 0 && d.Zero != "":
		return d.Zero
	case ok:
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(value)
}

// Set sets the option in all filters that have it to a float64, a name, a bool or a text that is
// valid in at least one of them.
func (o Option) Set(s *Selection, value any) error {
	d := o.anywhere()
	x, ok := value.(float64)
	switch v := value.(type) {
	case string:
		i := slices.Index(o.Names, v)
		switch {
		case o.Kind == Text:
			return o.setTo(s, v)
		case o.Kind == Name && i < 0:
			return fmt.Errorf("unknown %s %q: choose from %s", o.Name, v, strings.Join(o.Names, ", "))
		case o.Kind == Name:
			o.put(s, float64(i))
			return nil
		}
		ok = v != "" && v == d.Zero
	case bool:
		if ok = o.Kind == Switch; v {
			x = 1
		}
	default:
		ok = ok && o.Kind != Name && o.Kind != Switch && o.Kind != Text
	}
	if !ok || !d.holds(o.Kind, x) {
		return fmt.Errorf("must be %s", d.describe(o.Kind))
	}
	o.put(s, x)
	return nil
}

func (o Option) put(s *Selection, x float64) {
	if o.of == nil {
		s.Choose(Filters()[int(x)])
	}
	for _, p := range o.of {
		s.Put(p.set(s.Of(p.filter), x))
	}
}

func (o Option) setTo(s *Selection, text string) error {
	if o.Check != nil && text != "" {
		if err := o.Check(text); err != nil {
			return err
		}
	}
	for _, p := range o.of {
		s.Put(p.setText(s.Of(p.filter), text))
	}
	return nil
}

// Clear sets the option in s to 0, for WithDefaults and WithAutomatic to replace, or to no text.
func (o Option) Clear(s *Selection) {
	if o.Kind == Text {
		_ = o.setTo(s, "")
		return
	}
	o.put(s, 0)
}

// IsDefault reports whether the option has its default in s.
func (o Option) IsDefault(s Selection) bool {
	if o.of == nil {
		return s.Chosen() == DefaultFilter
	}
	own, stage := o.holder(s)
	if o.Kind == Text {
		return own.text(stage) == ""
	}
	return own.get(stage) == own.bounded(own.Domain).value(stage)
}

// Derived returns the default that follows from other options in s, false if it is fixed.
func (o Option) Derived(s Selection) (x float64, ok bool) {
	if _, has := o.In(s.Chosen()); !has || o.of == nil {
		return 0, false
	}
	own, stage := o.holder(s)
	if own.Domain.Auto == nil {
		return 0, false
	}
	return own.Domain.Auto(stage), true
}

// value returns the default, given the other options.
func (d Domain) value(s Stage) float64 {
	if d.Auto != nil {
		return d.Auto(s)
	}
	return d.Default
}

func (d Domain) holds(k ValueType, x float64) bool {
	return x >= d.Min && x <= d.Max && (x > d.Min || !d.Open) && (k == Number || x == math.Trunc(x))
}

func (d Domain) describe(k ValueType) string {
	switch {
	case k == Name:
		return "a name"
	case k == Switch:
		return "true or false"
	case k == Text:
		return "a text"
	case d.Zero != "":
		return fmt.Sprintf("%s, or a number, %g to %g", d.Zero, d.Min, d.Max)
	case k == Whole:
		return fmt.Sprintf("a whole number, %g to %g", d.Min, d.Max)
	case d.Open:
		return fmt.Sprintf("a number above %g, at most %g", d.Min, d.Max)
	}
	return fmt.Sprintf("a number, %g to %g", d.Min, d.Max)
}

// fill replaces each 0 of wanted options by the default.
func (f *FilterType) fill(s Stage, wanted func(Option, Domain) bool) Stage {
	for _, o := range f.Options {
		if d := o.bounded(o.Domain); !o.Alias && o.Kind != Text && o.get(s) == 0 && wanted(o, d) {
			s = o.set(s, d.value(s))
		}
	}
	return s
}

// Validate reports the stage's first option that is out of its range, or options that exclude each
// other.
func Validate(s Stage) error {
	for _, o := range s.Filter().Options {
		switch d := o.bounded(o.Domain); {
		case o.Alias:
		case o.Kind == Text:
			if text := o.text(s); o.Check != nil && text != "" {
				if err := o.Check(text); err != nil {
					return fmt.Errorf("%s %s: %w", o.Name, text, err)
				}
			}
		case !d.holds(o.Kind, o.get(s)):
			return fmt.Errorf("%s %s must be %s", o.Name, d.print(o.valueOf(s)), d.describe(o.Kind))
		}
	}
	if check := s.Filter().Check; check != nil {
		return check(s)
	}
	return nil
}

// Usage returns the help line, with unit, range and default.
func (o Option) Usage() string {
	if o.Kind == Name {
		return strings.Join(slices.Insert(slices.Clone(o.Names), int(o.Default)+1, "(default)"), " ")
	}
	text := strings.ToLower(o.Title)
	if o.Kind == Switch || o.Kind == Text {
		return o.Help
	}
	all := o.Filters()
	if all[0] != DefaultFilter && len(all) == 1 {
		text += fmt.Sprintf(" of %s", all[0])
	}
	if o.Unit != "" {
		text += ", " + o.Unit
	}
	if d := o.of[0].Domain; o.Kind == Whole || !d.Open && d.Zero == "" {
		text += fmt.Sprintf(", %g to %g", d.Min, d.Max)
	}
	return fmt.Sprintf("%s (default %s)", text, strings.Join(o.Defaults(), "; "))
}

// Defaults describes the default in each filter, naming the filter from the second on. Filters
// with the same default are listed once.
func (o Option) Defaults() (all []string) {
	seen := map[string]bool{}
	for _, p := range o.of {
		text := p.Domain.Formula
		if p.Domain.Auto == nil {
			text = p.Domain.print(p.Domain.Default)
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(all) > 0 {
			text = p.filter.Name + " " + text
		}
		all = append(all, text)
	}
	return all
}
