package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// FilterSettings is a session's filter. An option derived from others is 0, as sigma_s of the
// bilateral filter may be.
type FilterSettings struct {
	kernels.Selection
	FieldOrder string // one of kernels.FieldOrder's names
	Off        bool   // pictures are only cropped and scaled, until another option is set
}

// FilterOf returns the filter with options s. An option at its derived default stays derived.
func FilterOf(s kernels.Selection, fieldOrder string) FilterSettings {
	for _, o := range kernels.Options() {
		if _, ok := o.Derived(s); ok && o.IsDefault(s) {
			o.Clear(&s)
		}
	}
	return FilterSettings{Selection: s, FieldOrder: fieldOrder}
}

// unfiltered returns the options of the filter that is off: a main one without effect.
func (f FilterSettings) unfiltered() kernels.Selection {
	s := kernels.Select(kernels.DefaultBilateral(0))
	s.Follow(f.Selection, kernels.Place.Frames)
	return s
}

// Resolved returns the options to filter with, or an error if one is out of its range.
func (f FilterSettings) Resolved() (kernels.Selection, error) {
	if !slices.Contains(kernels.FieldOrder.Names, f.FieldOrder) {
		return kernels.Selection{}, fmt.Errorf("unknown field order %q", f.FieldOrder)
	}
	s := f.WithAutomatic()
	if err := s.Validate(); err != nil {
		return s, err
	}
	if f.Off {
		s = f.unfiltered()
	}
	for _, stage := range s.Stages() {
		if err := isLive(stage); err != nil {
			return s, err
		}
	}
	return s, nil
}

// isLive refuses filters that need more than the picture at hand, apart from main ones.
func isLive(s kernels.Stage) error {
	switch f := s.Filter(); {
	case f.Place == kernels.PlaceMain:
		return nil
	case !f.Place.Live() || s.Window() != (pipeline.Window{}):
		return fmt.Errorf("%s: needs more than one picture, and live ones are filtered as they come", f.Name)
	}
	if r, ok := s.(interface{ Live() error }); ok {
		return r.Live()
	}
	return nil
}

// around returns the filters before the main one, and those behind it.
func around(all []kernels.Stage) (before, behind []kernels.Stage) {
	i := slices.IndexFunc(all, func(s kernels.Stage) bool { return s.Filter().Place == kernels.PlaceMain })
	return all[:i], all[i+1:]
}

// framing returns those filters that choose the part of the picture and its size.
func framing(all []kernels.Stage) []kernels.Stage {
	return slices.DeleteFunc(slices.Clone(all), func(s kernels.Stage) bool { return !s.Filter().Place.Frames() })
}

// framesAs reports whether two filters choose the same part and size of all pictures.
func (f FilterSettings) framesAs(g FilterSettings) bool {
	return f.FieldOrder == g.FieldOrder && slices.Equal(framing(f.Stages()), framing(g.Stages()))
}

// liveOptions returns the table of the options that a live filter has.
func liveOptions() []kernels.Option {
	return slices.DeleteFunc(kernels.Options(), func(o kernels.Option) bool { return !o.Within(kernels.Place.Live) })
}

// Choose switches to another filter. Options whose meaning differs get their defaults.
func (f *FilterSettings) Choose(to *kernels.FilterType) {
	if to == f.Chosen() {
		return
	}
	for _, o := range kernels.Options() {
		if o.OfFilter(f.Chosen()) && o.OfFilter(to) {
			o.Clear(&f.Selection)
		}
	}
	f.Selection.Choose(to)
	f.Selection = FilterOf(f.WithDefaults(), f.FieldOrder).Selection
}

// MarshalJSON writes all options under their names in JSON.
func (f FilterSettings) MarshalJSON() ([]byte, error) {
	all := map[string]any{kernels.FieldOrder.JSON(): f.FieldOrder, "off": f.Off}
	for _, o := range liveOptions() {
		all[o.JSON()] = o.Value(f.Selection)
	}
	return json.Marshal(all)
}

// Apply sets options from JSON by name; unknown names are ignored. Resolved checks the result. An
// option other than of the part and size of the picture switches the filter on, unless "off" is
// set.
func (f *FilterSettings) Apply(changes map[string]any) error {
	if off, given := changes["off"]; given {
		on, ok := off.(bool)
		if !ok {
			return errors.New("off: must be true or false")
		}
		f.Off = on
	}
	for _, o := range liveOptions() {
		value, given := changes[o.JSON()]
		if !given {
			continue
		}
		if _, given := changes["off"]; !given && !o.Within(kernels.Place.Frames) {
			f.Off = false
		}
		p := f.Selection
		if value == 0.0 && o.Kind != kernels.Name && o.Kind != kernels.Text {
			o.Clear(&p)
		} else if err := o.Set(&p, value); err != nil {
			return fmt.Errorf("%s: %w", o.Name, err)
		}
		if p.Chosen() != f.Chosen() {
			f.Choose(p.Chosen())
		} else {
			f.Selection = p
		}
	}
	if order, given := changes[kernels.FieldOrder.JSON()]; given {
		f.FieldOrder = fmt.Sprint(order)
	}
	return nil
}

// Control is an option as the page shows it.
type Control struct {
	Name   string   `json:"name"` // in JSON
	Title  string   `json:"title"`
	Help   string   `json:"help"`
	Unit   string   `json:"unit,omitempty"`
	Names  []string `json:"names,omitempty"` // of a list
	Switch bool     `json:"switch,omitempty"`
	Text   bool     `json:"text,omitempty"`
	Form   string   `json:"form,omitempty"`  // of a text: how it is written
	Whole  bool     `json:"whole,omitempty"` // of a number, which it is otherwise
	Min    float64  `json:"min"`
	Max    float64  `json:"max"`
	Main   bool     `json:"main,omitempty"`   // as kernels.Domain has it
	Auto   bool     `json:"auto,omitempty"`   // 0 follows other options, or the measurement
	Frames bool     `json:"frames,omitempty"` // it chooses the part and size of the picture
}

// Controls returns the options that the filter has.
func (f FilterSettings) Controls() (all []Control) {
	for _, o := range append(liveOptions(), kernels.FieldOrder) {
		if d, ok := o.In(f.Chosen()); ok {
			all = append(all, Control{
				o.JSON(), o.Title, o.Help, o.Unit, o.Names, o.Kind == kernels.Switch, o.Kind == kernels.Text, o.Metavar, o.Kind == kernels.Whole,
				d.Slider[0], d.Slider[1], d.Main, d.Auto != nil || d.Zero != "", o.Within(kernels.Place.Frames),
			})
		}
	}
	return all
}

// Automatic returns the values of derived options, as JSON by name.
func (f FilterSettings) Automatic() map[string]float64 {
	all := map[string]float64{}
	for _, o := range kernels.Options() {
		if x, ok := o.Derived(f.Selection); ok {
			all[o.JSON()] = x
		}
	}
	return all
}

// Setting is an option with its value.
type Setting struct {
	Option kernels.Option
	Value  any    // a float64, an int, a name or a bool
	Text   string // the same in the syntax of flags
}

// Settings are the options that give a file the same filter. Defaults are left out.
func (f FilterSettings) Settings() (all []Setting) {
	p := f.WithAutomatic()
	if f.Off {
		p = f.unfiltered()
	}
	for _, o := range kernels.Options() {
		if _, ok := o.In(p.Chosen()); ok && !o.IsDefault(p) {
			all = append(all, Setting{o, o.Value(p), o.Text(p)})
		}
	}
	if f.FieldOrder != kernels.FieldOrder.Names[0] {
		all = append(all, Setting{kernels.FieldOrder, f.FieldOrder, f.FieldOrder})
	}
	return all
}

// Args returns Settings as flags.
func (f FilterSettings) Args() (args []string) {
	for _, s := range f.Settings() {
		switch o := s.Option; {
		case o.Kind == kernels.Switch:
			args = append(args, "--"+o.Name)
		case o.Short != "":
			args = append(args, "-"+o.Short, s.Text)
		default:
			args = append(args, "--"+o.Name, s.Text)
		}
	}
	return args
}

// Words lists the main option, and the others that are not at their default, for people.
func (f FilterSettings) Words() string {
	var all []string
	p := f.WithAutomatic()
	if f.Off {
		all, p = []string{"off"}, f.unfiltered()
	}
	for _, o := range liveOptions() {
		d, ok := o.In(p.Chosen())
		if !ok || !d.Main && o.IsDefault(p) || f.Off && !o.Within(kernels.Place.Frames) {
			continue
		}
		switch o.Kind {
		case kernels.Text:
			all = append(all, o.Name+" "+o.Text(p))
		case kernels.Name:
			all = append(all, o.Text(p))
		case kernels.Switch:
			all = append(all, o.Name)
		default:
			all = append(all, fmt.Sprintf("%s %.3g", o.Name, o.Get(p)))
		}
	}
	if slices.Contains(kernels.FieldOrder.Names[1:], f.FieldOrder) && !f.Off {
		all = append(all, f.FieldOrder)
	}
	return strings.Join(all, ", ")
}

// fields returns a frame with in's samples and the field order of the filter. It takes in.
func (f FilterSettings) fields(in *pipeline.Frame) *pipeline.Frame {
	if f.FieldOrder == "auto" {
		return in
	}
	out := pipeline.NewFrame(in.Format, in.Planes, nil, in.Release)
	out.CopyTiming(in)
	out.Interlaced = f.FieldOrder != "progressive"
	out.TopFieldFirst = f.FieldOrder == "tff"
	return out
}

// Preset is a choice of the filter's strength by one word.
type Preset struct {
	Name   string         `json:"name"`
	Filter map[string]any `json:"filter"` // for Filter.Apply
}

// Presets lists them, weakest first.
func Presets() []Preset {
	denoise := func(strength float64) map[string]any {
		return map[string]any{"off": false, "filter": "denoise", "strength": strength}
	}
	return []Preset{
		{"off", map[string]any{"off": true}},
		{"light", denoise(0.7)},
		{"normal", denoise(1)},
		{"strong", denoise(1.5)},
	}
}
