package kernels

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"vidfilter/denoise/noise"
)

// Params are the options of a filter. Options of other filters are ignored. The table below gives
// the unit, range and default of each field.
type Params struct {
	Filter Filter

	SigmaS, SigmaR float64
	Radius         int
	Range          RangeWeight
	Border         Border
	Iterations     int

	Strength, Luma, Chroma, Grain, Noise float64
	Quality                              Quality
	TemporalOnly, SpatialOnly            bool

	// Not options of the table:
	Known     *noise.Model // the noise, if it was measured elsewhere; Noise is then 0
	Causal    bool         // no frame waits for later ones: a need of live
	LookAhead int          // frames that a causal filter may wait for
	Depth     int          // least bits of the denoiser's results: a need of the encoder
}

const (
	// MaxRadius is the largest radius that every path supports.
	MaxRadius = 15

	// MaxIterations is the limit of the recursive filter: 3 suffice, as Gastal and Oliveira found
	// and 002 repeats.
	MaxIterations = 3

	// MaxSigma is the largest sigma of the bilateral filter. All weights reach 1 long before.
	MaxSigma = 1e9

	// DefaultSigmaR removes film grain and sensor noise but preserves edges.
	DefaultSigmaR = 20
)

// RecursiveSigma is the range of both sigmas of the recursive filter. Values outside would change
// nothing.
var RecursiveSigma = [2]float64{0.01, 10000}

// DefaultSigmaS returns the spatial sigma of the bilateral filter for a radius.
func DefaultSigmaS(radius int) float64 { return float64(max(radius, 0)+1) / 2 }

// table lists the filter options. Flags, environment variables, the schema of job files, the
// controls of vidfilter live, its JSON and docs/filters.md are all derived from it.
//
// The recursive defaults give samples/noisy.mp4 34.7 dB and an SSIM of 0.922; the bilateral ones
// 34.4 and 0.895, no filter 31.0 and 0.787. The sigmas of 50 and 50 in the measurements of 002
// give 28.6 dB: a painting, not less noise. A spatial sigma above 10 pixels gains nothing, since
// noise itself adds to the distances.
var table = []Option{
	{
		Name: "filter", Title: "Filter", Basic: true, Kind: Name, Names: filterNames, Default: uint8(DefaultFilter), Help: "in space and time, a weighted mean over a window, or a recursive Gaussian",
		access: to(func(p *Params) *Filter { return &p.Filter }),
	},
	{
		Name: "strength", Title: "Strength", Basic: true, Help: "1 takes out the measured noise, more smooths more",
		Domains: map[Filter]Domain{Denoise: {Min: 0.5, Max: 2, Default: 1, Main: true}},
		access:  to(func(p *Params) *float64 { return &p.Strength }),
	},
	{
		Name: "luma", Title: "Luma strength", Help: "times the strength in luma; 0 leaves luma as it is",
		Domains: map[Filter]Domain{Denoise: {Max: 4, Default: 1, Slider: [2]float64{0, 2}}},
		access:  to(func(p *Params) *float64 { return &p.Luma }),
	},
	{
		Name: "chroma", Title: "Chroma strength", Help: "times the strength in chroma; 0 leaves the colours as they are",
		Domains: map[Filter]Domain{Denoise: {Max: 4, Default: 1, Slider: [2]float64{0, 2}}},
		access:  to(func(p *Params) *float64 { return &p.Chroma }),
	},
	{
		Name: "quality", Title: "Quality", Basic: true, Kind: Name, Names: qualityNames, Help: "auto is good on a GPU and fast on the CPU",
		Domains: map[Filter]Domain{Denoise: {}},
		access:  to(func(p *Params) *Quality { return &p.Quality }),
	},
	{
		Name: "grain", Title: "Grain", Help: "the part of the removed noise that is put back",
		Domains: map[Filter]Domain{Denoise: {Max: 1}},
		access:  to(func(p *Params) *float64 { return &p.Grain }),
	},
	{
		Name: "temporal-only", Title: "Temporal only", Kind: Switch, Help: "average frames, and smooth none within itself",
		Domains: map[Filter]Domain{Denoise: {}},
		access:  toSwitch(func(p *Params) *bool { return &p.TemporalOnly }),
	},
	{
		Name: "spatial-only", Title: "Spatial only", Kind: Switch, Rivals: []string{"temporal-only"}, Help: "filter each frame by itself",
		Domains: map[Filter]Domain{Denoise: {}},
		access:  toSwitch(func(p *Params) *bool { return &p.SpatialOnly }),
	},
	{
		Name: "noise", Title: "Noise", Unit: "8-bit levels", Help: "standard deviation; auto measures it",
		Domains: map[Filter]Domain{Denoise: {Max: 100, Zero: "auto", Slider: [2]float64{0, 50}}},
		access:  to(func(p *Params) *float64 { return &p.Noise }),
	},
	{
		Name: "radius", Short: "r", Title: "Radius", Basic: true, Kind: Whole, Unit: "pixels", Help: "the window is 2r+1 pixels wide",
		Domains: map[Filter]Domain{Bilateral: {Max: MaxRadius, Default: 3, Main: true}},
		access:  to(func(p *Params) *int { return &p.Radius }),
	},
	{
		Name: "sigma-s", Title: "Spatial sigma", Unit: "pixels", Help: "larger values smooth over a longer distance",
		Domains: map[Filter]Domain{
			Bilateral: {
				Max: MaxSigma, Open: true, Slider: [2]float64{0.1, MaxRadius + 1},
				Auto: func(p Params) float64 { return DefaultSigmaS(p.Radius) }, Formula: "(r+1)/2",
			},
			Recursive: {
				Min: RecursiveSigma[0], Max: RecursiveSigma[1], Slider: [2]float64{0.5, 200}, Default: 10, Main: true,
			},
		},
		access: to(func(p *Params) *float64 { return &p.SigmaS }),
	},
	{
		Name: "sigma-r", Title: "Range sigma", Unit: "8-bit levels", Help: "smaller differences count as noise, larger ones as edges",
		Domains: map[Filter]Domain{
			Bilateral: {Max: MaxSigma, Open: true, Slider: [2]float64{1, 255}, Default: DefaultSigmaR},
			Recursive: {
				Min: RecursiveSigma[0], Max: RecursiveSigma[1], Slider: [2]float64{1, 255}, Default: DefaultSigmaR,
			},
		},
		access: to(func(p *Params) *float64 { return &p.SigmaR }),
	},
	{
		Name: "range", Title: "Range function", Kind: Name, Names: rangeNames, Help: "how weights fall with the difference of colours",
		Domains: map[Filter]Domain{Bilateral: {}},
		access:  to(func(p *Params) *RangeWeight { return &p.Range }),
	},
	{
		Name: "border", Title: "Border", Kind: Name, Names: borderNames, Help: "the pixels outside the picture",
		Domains: map[Filter]Domain{Bilateral: {}},
		access:  to(func(p *Params) *Border { return &p.Border }),
	},
	{
		Name: "iterations", Title: "Iterations", Kind: Whole, Help: "passes over rows and columns",
		Domains: map[Filter]Domain{Recursive: {Min: 1, Max: MaxIterations, Default: 2}},
		access:  to(func(p *Params) *int { return &p.Iterations }),
	},
}

// lumaOnly is another name for a value of chroma.
var lumaOnly = Option{
	Name: "luma-only", Title: "Luma only", Kind: Switch, Alias: true, Rivals: []string{"chroma"}, Help: "the same as --chroma 0",
	Domains: map[Filter]Domain{Denoise: {}},
	access: access{
		get: func(*Params) float64 { return 0 },
		set: func(p *Params, x float64) {
			if x == 1 {
				p.Chroma = 0
			}
		},
	},
}

// FieldOrder overrides the interlacing of the input. It is not in the table, as it changes frames
// before they are filtered: Get and Set do not work.
var FieldOrder = Option{
	Name: "field-order", Title: "Field order", Kind: Name, Names: []string{"auto", "progressive", "tff", "bff"},
	Help: "auto takes the input's word",
}

// Option is an entry of the table.
type Option struct {
	Name    string // of the flag
	Short   string // one letter, or ""
	Title   string // on the page
	Kind    Kind
	Names   []string // values of Kind Name
	Default uint8    // index of the name that is the default
	Unit    string   // of numbers, or ""
	Help    string
	Basic   bool              // vidfilter --help lists it
	Rivals  []string          // options that cannot be given with it
	Alias   bool              // another name for a value of an option
	Domains map[Filter]Domain // nil: the same in all filters

	access
}

// Kind is the type of an option's values.
type Kind uint8

// The kinds.
const (
	Number Kind = iota
	Whole
	Name
	Switch
)

// Domain is the range and default of an option in one filter.
type Domain struct {
	Min, Max float64
	Open     bool // Min itself is excluded
	Default  float64
	Auto     func(Params) float64 // default computed from other options, in place of Default
	Formula  string               // human-readable Auto
	Zero     string               // the word for 0, if there is one
	Slider   [2]float64           // range of the slider; zero: Min and Max
	Main     bool                 // it says how much is filtered
}

// access reads and writes an option as a number, a name as its index.
type access struct {
	get func(p *Params) float64
	set func(p *Params, x float64)
}

func to[T ~int | ~uint8 | ~float64](field func(*Params) *T) access {
	return access{
		get: func(p *Params) float64 { return float64(*field(p)) },
		set: func(p *Params, x float64) { *field(p) = T(x) },
	}
}

func toSwitch(field func(*Params) *bool) access {
	return access{
		get: func(p *Params) float64 {
			if *field(p) {
				return 1
			}
			return 0
		},
		set: func(p *Params, x float64) { *field(p) = x == 1 },
	}
}

// Options returns the table. The filter comes first.
func Options() []Option { return slices.Clone(table) }

// Flags returns the table with the options that are other names for values of some: they are read,
// and never written.
func Flags() []Option { return append(Options(), lumaOnly) }

// OptionNamed finds an option by the name of its flag.
func OptionNamed(name string) (Option, bool) {
	all := Flags()
	i := slices.IndexFunc(all, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return Option{}, false
	}
	return all[i], true
}

// JSON returns the option's name in JSON.
func (o Option) JSON() string { return strings.ReplaceAll(o.Name, "-", "_") }

// In returns the option's domain in a filter, false if the filter lacks the option.
func (o Option) In(f Filter) (Domain, bool) {
	d, ok := o.Domains[f]
	if o.Domains == nil {
		ok = true
	}
	switch o.Kind {
	case Name:
		d.Max, d.Default = float64(len(o.Names)-1), float64(o.Default)
	case Switch:
		d.Max = 1
	}
	if d.Slider == [2]float64{} {
		d.Slider = [2]float64{d.Min, d.Max}
	}
	return d, ok
}

// Filters returns the filters that have the option.
func (o Option) Filters() (all []Filter) {
	for i := range filterNames {
		if _, ok := o.In(Filter(i)); ok {
			all = append(all, Filter(i))
		}
	}
	return all
}

// anywhere returns a domain with the values of all filters.
func (o Option) anywhere() (all Domain) {
	for i, f := range o.Filters() {
		d, _ := o.In(f)
		if i == 0 || d.Min < all.Min || d.Min == all.Min && !d.Open {
			all.Min, all.Open = d.Min, d.Open
		}
		all.Max, all.Zero = max(all.Max, d.Max), d.Zero
	}
	return all
}

// Get returns the option's value in p as a number, a name as its index.
func (o Option) Get(p Params) float64 { return o.get(&p) }

// Value returns the option's value in p: a float64, an int, a name or a bool.
func (o Option) Value(p Params) any {
	switch x := o.Get(p); o.Kind {
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

// Text returns the option's value in p in the syntax of flags.
func (o Option) Text(p Params) string {
	if d, _ := o.In(p.Filter); d.Zero != "" && o.Get(p) == 0 {
		return d.Zero
	}
	if x, ok := o.Value(p).(float64); ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return fmt.Sprint(o.Value(p))
}

// Set sets the option in p to a float64, a name or a bool that is valid in at least one filter.
func (o Option) Set(p *Params, value any) error {
	d := o.anywhere()
	x, ok := value.(float64)
	switch v := value.(type) {
	case string:
		i := slices.Index(o.Names, v)
		switch {
		case o.Kind == Name && i < 0:
			return fmt.Errorf("unknown %s %q: choose from %s", o.Name, v, strings.Join(o.Names, ", "))
		case o.Kind == Name:
			o.set(p, float64(i))
			return nil
		}
		ok = v != "" && v == d.Zero
	case bool:
		if ok = o.Kind == Switch; v {
			x = 1
		}
	default:
		ok = ok && o.Kind != Name && o.Kind != Switch
	}
	if !ok || !d.holds(o.Kind, x) {
		return fmt.Errorf("must be %s", d.describe(o.Kind))
	}
	o.set(p, x)
	return nil
}

// Clear sets the option in p to 0, for WithDefaults and WithAutomatic to replace.
func (o Option) Clear(p *Params) { o.set(p, 0) }

// IsDefault reports whether the option has its default in p.
func (o Option) IsDefault(p Params) bool {
	d, _ := o.In(p.Filter)
	return o.Get(p) == d.value(p)
}

// value returns the default, given the other options.
func (d Domain) value(p Params) float64 {
	if d.Auto != nil {
		return d.Auto(p)
	}
	return d.Default
}

func (d Domain) holds(k Kind, x float64) bool {
	return x >= d.Min && x <= d.Max && (x > d.Min || !d.Open) && (k == Number || x == math.Trunc(x))
}

func (d Domain) describe(k Kind) string {
	switch {
	case k == Name:
		return "a name"
	case k == Switch:
		return "true or false"
	case d.Zero != "":
		return fmt.Sprintf("%s, or a number, %g to %g", d.Zero, d.Min, d.Max)
	case k == Whole:
		return fmt.Sprintf("a whole number, %g to %g", d.Min, d.Max)
	case d.Open:
		return fmt.Sprintf("a number above %g, at most %g", d.Min, d.Max)
	}
	return fmt.Sprintf("a number, %g to %g", d.Min, d.Max)
}

// NewParams returns parameters for WithDefaults to complete once the filter is known.
func NewParams() (p Params) {
	for _, o := range table {
		if f := o.Filters()[0]; o.anywhere().holds(o.Kind, 0) {
			d, _ := o.In(f)
			o.set(&p, d.Default)
		}
	}
	return p
}

// DefaultParams returns the defaults of the bilateral filter for a radius.
func DefaultParams(radius int) Params { return defaults(Bilateral, radius) }

// DefaultDenoise returns the defaults of the denoiser.
func DefaultDenoise() Params { return defaults(Denoise, 0) }

// DefaultRecursive returns the defaults of the recursive filter.
func DefaultRecursive() Params { return defaults(Recursive, 0) }

// defaults also sets options of other filters whose 0 is valid, since the filter may change.
func defaults(f Filter, radius int) Params {
	return Params{Filter: f, Radius: radius, Luma: 1, Chroma: 1}.WithDefaults()
}

// WithDefaults replaces each 0 that is invalid in the filter by the option's default.
func (p Params) WithDefaults() Params {
	return p.fill(func(o Option, d Domain) bool { return !d.holds(o.Kind, 0) })
}

// WithAutomatic replaces each 0 of options whose default depends on other options.
func (p Params) WithAutomatic() Params {
	return p.fill(func(_ Option, d Domain) bool { return d.Auto != nil })
}

func (p Params) fill(wanted func(Option, Domain) bool) Params {
	for _, o := range table {
		if d, ok := o.In(p.Filter); ok && o.Get(p) == 0 && wanted(o, d) {
			o.set(&p, d.value(p))
		}
	}
	return p
}

// AllParams returns parameters of the bilateral filter with every radius, range weight and border,
// and default sigmas.
func AllParams() (all []Params) {
	for radius := range MaxRadius + 1 {
		for r := range rangeNames {
			for b := range borderNames {
				p := DefaultParams(radius)
				p.Range, p.Border = RangeWeight(r), Border(b)
				all = append(all, p)
			}
		}
	}
	return all
}

// Validate reports the filter's first option that is out of range.
func (p Params) Validate() error {
	for _, o := range table {
		if d, ok := o.In(p.Filter); ok && !d.holds(o.Kind, o.Get(p)) {
			return fmt.Errorf("%s %s must be %s", o.Name, o.Text(p), d.describe(o.Kind))
		}
	}
	if p.TemporalOnly && p.SpatialOnly && p.Filter == Denoise {
		return errors.New("temporal-only and spatial-only exclude each other")
	}
	return nil
}

// Usage returns the help line, with unit, range and default.
func (o Option) Usage() string {
	if o.Kind == Name {
		return strings.Join(slices.Insert(slices.Clone(o.Names), int(o.Default)+1, "(default)"), " ")
	}
	text := strings.ToLower(o.Title)
	if o.Kind == Switch {
		return o.Help
	}
	f := o.Filters()[0]
	if f != DefaultFilter && len(o.Filters()) == 1 {
		text += fmt.Sprintf(" of %s", f)
	}
	if o.Unit != "" {
		text += ", " + o.Unit
	}
	if d := o.Domains[f]; o.Kind == Whole || !d.Open && d.Zero == "" {
		text += fmt.Sprintf(", %g to %g", d.Min, d.Max)
	}
	return fmt.Sprintf("%s (default %s)", text, strings.Join(o.Defaults(), "; "))
}

// Defaults describes the default in each filter, naming the filter from the second on. Filters
// with the same default are listed once.
func (o Option) Defaults() (all []string) {
	seen := map[string]bool{}
	for _, f := range slices.Sorted(maps.Keys(o.Domains)) {
		d := o.Domains[f]
		text := d.Formula
		if d.Auto == nil {
			text = strconv.FormatFloat(d.Default, 'g', -1, 64)
		}
		if d.Zero != "" && d.Default == 0 {
			text = d.Zero
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		if len(all) > 0 {
			text = f.String() + " " + text
		}
		all = append(all, text)
	}
	return all
}
