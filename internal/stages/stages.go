// Package stages registers the filters of FFmpeg that a job has around its main filter: --before,
// --crop, --deinterlace, --sharpen, --deband, --scale, --fps and --after.
package stages

import (
	"fmt"

	"vidfilter/enhance"
	"vidfilter/graph"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// The stages. Texts are as typed; "" changes nothing.
type (
	Before      struct{ Graph string }
	Crop        struct{ Box string }
	Deinterlace struct{ Mode enhance.Deinterlace }
	Sharpen     struct{ Amount float64 }
	Deband      struct{ On bool }
	Scale       struct{ Size string }
	Rate        struct{ Rate string }
	After       struct{ Graph string }
)

func init() {
	for _, f := range []*kernels.Filter{before, crop, deinterlace, sharpen, deband, scale, rate, after} {
		kernels.Register(f)
	}
}

var before = &kernels.Filter{Name: "before", Place: kernels.PlaceBefore, Zero: Before{}, Options: []kernels.Option{{
	Name: "before", Title: "Before", Kind: kernels.Text, Metavar: "GRAPH", Help: "FFmpeg's filters before all others: bwdif=1",
	Check: graph.Check, Binding: kernels.BindText(func(s *Before) *string { return &s.Graph }),
}}}

var crop = &kernels.Filter{Name: "crop", Place: kernels.PlaceCrop, Zero: Crop{}, Options: []kernels.Option{{
	Name: "crop", Title: "Crop", Kind: kernels.Text, Metavar: "BOX", Help: "take off black bars (auto), or keep W:H:X:Y",
	Check: parses(enhance.ParseCrop), Binding: kernels.BindText(func(s *Crop) *string { return &s.Box }), Rivals: []string{"compare"},
}}}

var deinterlace = &kernels.Filter{Name: "deinterlace", Place: kernels.PlaceDeinterlace, Zero: Deinterlace{}, Options: []kernels.Option{{
	Name: "deinterlace", Title: "Deinterlace", Kind: kernels.Name, Names: []string{"off", "auto", "bob"}, Bare: "auto",
	Help:    "a picture of each interlaced frame (auto), or of each field (bob)",
	Binding: kernels.Bind(func(s *Deinterlace) *enhance.Deinterlace { return &s.Mode }),
}}}

var sharpen = &kernels.Filter{Name: "sharpen", Place: kernels.PlaceSharpen, Zero: Sharpen{}, Options: []kernels.Option{{
	Name: "sharpen", Title: "Sharpen", Help: "0.3 is mild, and 1 is the most",
	Domain: kernels.Domain{Max: 1}, Binding: kernels.Bind(func(s *Sharpen) *float64 { return &s.Amount }),
}}}

var deband = &kernels.Filter{Name: "deband", Place: kernels.PlaceDeband, Zero: Deband{}, Options: []kernels.Option{{
	Name: "deband", Title: "Deband", Kind: kernels.Switch, Help: "dissolve the steps in skies and fades",
	Binding: kernels.BindSwitch(func(s *Deband) *bool { return &s.On }),
}}}

var scale = &kernels.Filter{Name: "scale", Place: kernels.PlaceScale, Zero: Scale{}, Options: []kernels.Option{{
	Name: "scale", Title: "Scale", Kind: kernels.Text, Metavar: "SIZE", Help: "fit into 1080p or W:H, or by a factor: 0.5",
	Check: parses(enhance.ParseScale), Binding: kernels.BindText(func(s *Scale) *string { return &s.Size }), Rivals: []string{"compare"},
}}}

var rate = &kernels.Filter{Name: "fps", Place: kernels.PlaceRate, Zero: Rate{}, Options: []kernels.Option{{
	Name: "fps", Title: "Frame rate", Kind: kernels.Text, Metavar: "RATE", Help: "repeat and drop frames: 25, 30000/1001, film",
	Check: parses(enhance.ParseRate), Binding: kernels.BindText(func(s *Rate) *string { return &s.Rate }), Rivals: []string{"compare"},
}}}

var after = &kernels.Filter{Name: "after", Place: kernels.PlaceAfter, Zero: After{}, Options: []kernels.Option{{
	Name: "after", Title: "After", Kind: kernels.Text, Metavar: "GRAPH", Help: "FFmpeg's filters after all others: eq=gamma=1.1",
	Check: graph.Check, Binding: kernels.BindText(func(s *After) *string { return &s.Graph }),
}}}

// parses returns a check that a text can be parsed.
func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

func (Before) Filter() *kernels.Filter      { return before }
func (Crop) Filter() *kernels.Filter        { return crop }
func (Deinterlace) Filter() *kernels.Filter { return deinterlace }
func (Sharpen) Filter() *kernels.Filter     { return sharpen }
func (Deband) Filter() *kernels.Filter      { return deband }
func (Scale) Filter() *kernels.Filter       { return scale }
func (Rate) Filter() *kernels.Filter        { return rate }
func (After) Filter() *kernels.Filter       { return after }

func (s Before) Identity() bool      { return s.Graph == "" }
func (s Crop) Identity() bool        { return s.Box == "" }
func (s Deinterlace) Identity() bool { return s.Mode == enhance.DeinterlaceOff }
func (s Sharpen) Identity() bool     { return s.Amount == 0 }
func (s Deband) Identity() bool      { return !s.On }
func (s Scale) Identity() bool       { return s.Size == "" }
func (s Rate) Identity() bool        { return s.Rate == "" }
func (s After) Identity() bool       { return s.Graph == "" }

func (s Before) Validate() error      { return kernels.InRange(s) }
func (s Crop) Validate() error        { return kernels.InRange(s) }
func (s Deinterlace) Validate() error { return kernels.InRange(s) }
func (s Sharpen) Validate() error     { return kernels.InRange(s) }
func (s Deband) Validate() error      { return kernels.InRange(s) }
func (s Scale) Validate() error       { return kernels.InRange(s) }
func (s Rate) Validate() error        { return kernels.InRange(s) }
func (s After) Validate() error       { return kernels.InRange(s) }

func (Before) Takes(l pipeline.Layout) bool      { return l.Valid() }
func (Crop) Takes(l pipeline.Layout) bool        { return l.Valid() }
func (Deinterlace) Takes(l pipeline.Layout) bool { return l.Valid() }
func (Sharpen) Takes(l pipeline.Layout) bool     { return l.Valid() }
func (Deband) Takes(l pipeline.Layout) bool      { return l.Valid() }
func (Scale) Takes(l pipeline.Layout) bool       { return l.Valid() }
func (Rate) Takes(l pipeline.Layout) bool        { return l.Valid() }
func (After) Takes(l pipeline.Layout) bool       { return l.Valid() }

func (Before) Window() (before, after, step int)      { return 0, 0, 0 }
func (Crop) Window() (before, after, step int)        { return 0, 0, 0 }
func (Deinterlace) Window() (before, after, step int) { return 0, 0, 0 }
func (Sharpen) Window() (before, after, step int)     { return 0, 0, 0 }
func (Deband) Window() (before, after, step int)      { return 0, 0, 0 }
func (Scale) Window() (before, after, step int)       { return 0, 0, 0 }
func (Rate) Window() (before, after, step int)        { return 0, 0, 0 }
func (After) Window() (before, after, step int)       { return 0, 0, 0 }

// Whole implements kernels.Undivided.
func (s Before) Whole() string { return whole("before", s.Graph) }

// Whole implements kernels.Undivided.
func (s After) Whole() string { return whole("after", s.Graph) }

// Whole implements kernels.Undivided.
func (Deinterlace) Whole() string { return "--deinterlace reads neighbouring frames" }

// Whole implements kernels.Undivided.
func (Rate) Whole() string { return "--fps repeats and drops frames" }

func whole(option, filters string) string {
	if f, err := graph.Open(filters, graph.Options{}); err != nil || f.Local() {
		return ""
	}
	return fmt.Sprintf("--%s %s reads neighbouring frames", option, text.Clip(filters, 40))
}

// OnHost implements kernels.OnHost.
func (s Before) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return graph.Open(s.Graph, options("--before", pool, in))
}

// OnHost implements kernels.OnHost.
func (s After) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return graph.Open(s.Graph, options("--after", pool, in))
}

// OnHost implements kernels.OnHost.
func (s Crop) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	c, err := enhance.ParseCrop(s.Box)
	if err != nil {
		return nil, err
	}
	return open("--crop", pool, in, "crop", c.Graph, true)
}

// Live refuses a box that is still to be found.
func (s Crop) Live() error {
	if c, err := enhance.ParseCrop(s.Box); err != nil || !c.Auto {
		return err
	}
	return hint.Errorf("give W:H:X:Y, or W:H", "crop auto looks at a whole video, which live has not")
}

// OnHost implements kernels.OnHost.
func (s Deinterlace) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return open("--deinterlace", pool, in, "bwdif", s.Mode.Graph, false)
}

// OnHost implements kernels.OnHost.
func (s Sharpen) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return open("--sharpen", pool, in, "unsharp", enhance.Sharpen(s.Amount).Graph, false)
}

// OnHost implements kernels.OnHost.
func (s Deband) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return open("--deband", pool, in, "deband", enhance.Deband(s.On).Graph, false)
}

// OnHost implements kernels.OnHost.
func (s Scale) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	size, err := enhance.ParseScale(s.Size)
	if err != nil {
		return nil, err
	}
	return open("--scale", pool, in, "zscale", size.Graph, false)
}

// OnHost implements kernels.OnHost.
func (s Rate) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	r, err := enhance.ParseRate(s.Rate)
	if err != nil {
		return nil, err
	}
	return open("--fps", pool, in, "fps", r.Graph, false)
}

// asUsage marks an error of an option that a frame does not suit.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return hint.Says(err.Error(), hint.Of(err), graph.ErrGraph, err)
}
