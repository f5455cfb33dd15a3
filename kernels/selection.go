package kernels

// Selection is the options of all filters, and which main filter was chosen. The zero value has the
// default filter and the defaults of all. Selections with the same options are equal.
type Selection struct {
	main   *FilterType // nil: DefaultFilter
	stages [16]Stage   // by FilterType.index; nil: with its defaults
}

// Select returns the selection of a stage; a main filter is also chosen.
func Select(s Stage) (all Selection) {
	all.Put(s)
	if s.Filter().Place == PlaceMain {
		all.Choose(s.Filter())
	}
	return all
}

// Chosen returns the main filter.
func (s Selection) Chosen() *FilterType {
	if s.main == nil {
		return DefaultFilter
	}
	return s.main
}

// Choose changes the main filter, and no option.
func (s *Selection) Choose(f *FilterType) {
	if s.main = f; f == DefaultFilter {
		s.main = nil
	}
}

// Of returns the options of a filter.
func (s Selection) Of(f *FilterType) Stage {
	if stage := s.stages[f.index]; stage != nil {
		return stage
	}
	return f.New()
}

// Put replaces the options of a filter.
func (s *Selection) Put(stage Stage) {
	f := stage.Filter()
	if s.stages[f.index] = stage; stage == f.New() {
		s.stages[f.index] = nil
	}
}

// Follow takes over the options of the extra filters of some places from another selection.
func (s *Selection) Follow(from Selection, which func(Place) bool) {
	for _, f := range extras() {
		if which(f.Place) {
			s.Put(from.Of(f))
		}
	}
}

// Main returns the options of the main filter.
func (s Selection) Main() Stage { return s.Of(s.Chosen()) }

// Of returns the options of the filter whose stages have type S.
func Of[S Stage](s Selection) S {
	var zero S
	return s.Of(zero.Filter()).(S)
}

// Edit changes the options of the filter whose stages have type S.
func Edit[S Stage](s *Selection, change func(*S)) {
	stage := Of[S](*s)
	change(&stage)
	s.Put(stage)
}

// Stages returns the job's filters in their order: the main one, and the extra ones that change
// something.
func (s Selection) Stages() (all []Stage) {
	main := false
	for _, f := range extras() {
		if !main && f.Place > PlaceMain {
			main, all = true, append(all, s.Main())
		}
		if stage := s.Of(f); !stage.Identity() {
			if a, is := stage.(Alias); is {
				stage = a.Means()
			}
			all = append(all, stage)
		}
	}
	if !main {
		all = append(all, s.Main())
	}
	return all
}

// WithDefaults replaces each 0 that is invalid in the filters of the job by the option's default.
func (s Selection) WithDefaults() Selection {
	return s.fill(func(o Option, d Domain) bool { return !d.holds(o.Kind, 0) })
}

// WithAutomatic replaces each 0 of options whose default depends on other options.
func (s Selection) WithAutomatic() Selection {
	return s.fill(func(_ Option, d Domain) bool { return d.Auto != nil })
}

func (s Selection) fill(wanted func(Option, Domain) bool) Selection {
	for _, f := range append(extras(), s.Chosen()) {
		s.Put(f.fill(s.Of(f), wanted))
	}
	return s
}

// Validate reports the first option of the job's filters that is out of range.
func (s Selection) Validate() error {
	for _, stage := range s.Stages() {
		if err := Validate(stage); err != nil {
			return err
		}
	}
	return nil
}
