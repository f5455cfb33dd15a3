// Package stages registers the filters that run before and after the main filter of a job, most of
// them from FFmpeg: --before, --crop, --deinterlace, --chroma-shift, --deflicker, --sharpen,
// --deband, --scale, --fps and --after.
package stages

import (
	"context"
	"fmt"

	_ "vidfilter/deflicker" // registers it
	"vidfilter/enhance"
	"vidfilter/graph"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Stage is one of the filters with the value of its option.
type Stage struct {
	kind   *Choice
	Text   string  // as typed
	Number float64 // of an option that is no text: its value, the index of its name, or 1 for on
}

// Choice is an option whose values select graphs or a filter in Go. Add a new one to the list
// below.
type Choice struct {
	kernels.FilterType

	option kernels.Option
	graph  func(Stage) (graphOf, error) // nil: the text is the graph
	like   string                       // a graph that keeps as many frames as any of the option's
	host   hostOf                       // replaces graph
	first  bool                         // the first frame decides whether all are interlaced
	whole  string                       // why a video stays whole; "": parts will do
	live   func(Stage) error            // refuses values for live pictures; nil: all will do
}

// graphOf returns the graph for frames, "" to leave them as they are.
type graphOf = func(enhance.Facts) (string, error)

// hostOf opens a filter for frames in host memory.
type hostOf = func(Stage, *pipeline.Pool, kernels.Setting) (pipeline.Filter, error)

// The kinds, in the order of the table of options.
var (
	Before = register(kernels.PlaceBefore, Choice{option: kernels.Option{
		Name: "before", Title: "Before", Kind: kernels.Text, Metavar: "GRAPH", Help: "FFmpeg's filters before all others: bwdif=1",
		Check: graph.Check,
	}})
	Crop = register(kernels.PlaceCrop, Choice{option: kernels.Option{
		Name: "crop", Title: "Crop", Kind: kernels.Text, Metavar: "BOX", Help: "take off black bars (auto), or keep W:H:X:Y",
		Check: parses(enhance.ParseCrop), Rivals: []string{"compare"},
	}, graph: parsed(enhance.ParseCrop), like: "crop", first: true, live: hasBox})
	Deinterlace = register(kernels.PlaceDeinterlace, Choice{option: kernels.Option{
		Name: "deinterlace", Title: "Deinterlace", Kind: kernels.Name, Names: enhance.DeinterlaceNames, Bare: "auto",
		Help: "a frame per field (auto, best, quick bob) or per frame (single)",
	}, graph: number[enhance.Deinterlace], like: "bwdif", whole: "reads neighbouring frames"})
	ChromaShift = register(kernels.PlaceChromaShift, Choice{option: kernels.Option{
		Name: "chroma-shift", Title: "Chroma shift", Kind: kernels.Text, Metavar: "X,Y", Help: "pixels to move colour right and down, or auto",
		Check: parses(enhance.ParseChromaShift),
	}, host: shiftsChroma})
	Sharpen = register(kernels.PlaceSharpen, Choice{option: kernels.Option{
		Name: "sharpen", Title: "Sharpen", Help: "0.3 is mild, and 1 is the most", Domain: kernels.Domain{Max: 1},
	}, graph: number[enhance.Sharpen], like: "unsharp"})
	Deband = register(kernels.PlaceDeband, Choice{option: kernels.Option{
		Name: "deband", Title: "Deband", Kind: kernels.Switch, Help: "dissolve the steps in skies and fades",
	}, graph: func(s Stage) (graphOf, error) { return enhance.Deband(s.Number == 1).Graph, nil }, like: "deband"})
	Scale = register(kernels.PlaceScale, Choice{option: kernels.Option{
		Name: "scale", Title: "Scale", Kind: kernels.Text, Metavar: "SIZE", Help: "fit into 1080p or W:H, or by a factor: 0.5",
		Check: parses(enhance.ParseScale), Rivals: []string{"compare"},
	}, graph: parsed(enhance.ParseScale), like: "zscale"})
	Rate = register(kernels.PlaceRate, Choice{option: kernels.Option{
		Name: "fps", Title: "Frame rate", Kind: kernels.Text, Metavar: "RATE", Help: "repeat and drop frames: 25, 30000/1001, film",
		Check: parses(enhance.ParseRate), Rivals: []string{"compare"},
	}, graph: parsed(enhance.ParseRate), like: "fps", whole: "repeats and drops frames"})
	After = register(kernels.PlaceAfter, Choice{option: kernels.Option{
		Name: "after", Title: "After", Kind: kernels.Text, Metavar: "GRAPH", Help: "FFmpeg's filters after all others: hue=s=0",
		Check: graph.Check,
	}})
)

func register(place kernels.Place, k Choice) *Choice {
	k.option.Binding = kernels.Bind(func(s *Stage) *float64 { return &s.Number })
	if k.option.Kind == kernels.Text {
		k.option.Binding = kernels.BindText(func(s *Stage) *string { return &s.Text })
	}
	k.FilterType = kernels.FilterType{Name: k.option.Name, Place: place, Zero: Stage{kind: &k}, Options: []kernels.Option{k.option}}
	kernels.Register(&k.FilterType)
	return &k
}

// value is a value of package enhance.
type value interface {
	Graph(enhance.Facts) (string, error)
}

// parses returns a check that a text can be parsed.
func parses[T any](parse func(string) (T, error)) func(string) error {
	return func(s string) error {
		_, err := parse(s)
		return err
	}
}

func parsed[T value](parse func(string) (T, error)) func(Stage) (graphOf, error) {
	return func(s Stage) (graphOf, error) {
		v, err := parse(s.Text)
		return v.Graph, err
	}
}

func number[T interface {
	value
	~int | ~float64
}](s Stage) (graphOf, error) {
	return T(s.Number).Graph, nil
}

// hasBox refuses a box that is still to be found.
func hasBox(s Stage) error {
	if c, err := enhance.ParseCrop(s.Text); err != nil || !c.Auto {
		return err
	}
	return hint.Errorf("give W:H:X:Y, or W:H", "crop auto looks at a whole video, which live has not")
}

// shiftsChroma is the hostOf of --chroma-shift.
func shiftsChroma(s Stage, pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	c, err := enhance.ParseChromaShift(s.Text)
	if err != nil {
		return nil, err
	}
	return kernels.PerFrame(pool, func(_ context.Context, out, frame *pipeline.Frame) error {
		if err := c.Shift(out, frame, in.Threads); err != nil {
			return hint.Says(err.Error(), hint.Of(err), graph.ErrGraph, err)
		}
		return nil
	}), nil
}

// Of returns the stage of the kind in a selection.
func (k *Choice) Of(all kernels.Selection) Stage { return all.Of(&k.FilterType).(Stage) }

// Set changes the text of the kind in a selection.
func (k *Choice) Set(all *kernels.Selection, text string) { all.Put(Stage{kind: k, Text: text}) }

// Filter implements kernels.Stage.
func (s Stage) Filter() *kernels.FilterType { return &s.kind.FilterType }

// Takes implements kernels.Stage: FFmpeg converts layouts that a filter does not take.
func (s Stage) Takes(l pipeline.Layout) bool { return l.Valid() }

// Identity implements kernels.Stage: an option without a value makes no change.
func (s Stage) Identity() bool { return s.Text == "" && s.Number == 0 }

// Window implements kernels.Stage. A stage that reads other frames is Undivided.
func (s Stage) Window() pipeline.Window { return pipeline.Window{} }

// Whole implements kernels.Undivided.
func (s Stage) Whole() string {
	switch {
	case s.kind.whole != "":
		return fmt.Sprintf("--%s %s", s.kind.Name, s.kind.whole)
	case s.kind.graph != nil || s.kind.host != nil:
		return ""
	}
	if f, err := graph.Open(s.Text, graph.Options{}); err != nil || f.Local() {
		return ""
	}
	return fmt.Sprintf("--%s %s reads neighbouring frames", s.kind.Name, text.Clip(s.Text, 40))
}

// Means implements kernels.Alias. Of the values of --deinterlace, only bob is a graph.
func (s Stage) Means() kernels.Stage {
	if d := enhance.Deinterlace(s.Number); s.kind == Deinterlace && d != enhance.DeinterlaceBob {
		return kernels.Deinterlace{Single: d == enhance.DeinterlaceSingle}
	}
	return s
}

// Live returns why the stage cannot filter live pictures, or nil.
func (s Stage) Live() error {
	if s.kind.live == nil {
		return nil
	}
	return s.kind.live(s)
}

// OnHost implements kernels.OnHost.
func (s Stage) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	if s.kind.host != nil {
		return s.kind.host(s, pool, in)
	}
	o := graph.Options{
		Name: "--" + s.kind.Name, Takes: in.Takes, MaxPixels: in.MaxPixels, Later: in.Later, Threads: in.Threads, Trial: in.Trial, Lost: in.Lost,
	}
	if in.ForDevice {
		o.Pool = pool
	}
	if s.kind.graph == nil {
		return graph.Open(s.Text, o)
	}
	graphOf, err := s.kind.graph(s)
	if err != nil {
		return nil, err
	}
	like, err := graph.Open(s.kind.like, o)
	if err != nil {
		return nil, err
	}
	return &filter{options: o, graphOf: graphOf, held: like.Held(), progressive: in.Progressive, first: s.kind.first}, nil
}
