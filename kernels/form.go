package kernels

import (
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"vidfilter/pipeline"
)

// Form is one way of filtering on a GPU: a CUDA source, whose header explains it, compiled once
// for each variant.
type Form struct {
	Name     string            // also of its source, without .cu
	Filter   *FilterType       // whose stages Work takes; nil: it is not of a stage
	Layouts  []pipeline.Layout // supported; nil means all
	Variants func() []Variant  // called once, when a variant is first wanted

	// Priority ranks forms with the same options by layout; Choose takes the highest. Choose skips
	// forms where it is nil.
	Priority func(l pipeline.Layout) int
	// Work plans the work of a variant on frames of one format, on devices within the limits. The
	// variant must support both.
	Work func(v Variant, s Stage, f pipeline.Format, l Limits) (Work, error)
}

// List returns Form.Variants of a form with these.
func List(all ...Variant) func() []Variant { return func() []Variant { return all } }

// WorkOf returns Form.Work of a form for stages of one type.
func WorkOf[S Stage](work func(v Variant, p S, f pipeline.Format, l Limits) (Work, error)) func(Variant, Stage, pipeline.Format, Limits) (Work, error) {
	return func(v Variant, s Stage, f pipeline.Format, l Limits) (Work, error) { return work(v, s.(S), f, l) }
}

// Variant is one CUDA kernel. Compilation, choice, tests and benchmarks all go by the lists of
// variants.
type Variant struct {
	Name string // of the entry point, the module and the PTX file
	Form *Form  // set by the library

	// Supported options of the bilateral filter.
	Radii  [2]int // smallest and largest
	Range  RangeWeight
	SigmaR [2]float64 // smallest and largest; zero means all

	Depths  [2]int // smallest and largest, in bits; zero means 8
	GBR     bool   // it takes planar RGB, and no other layout
	Compute int    // lowest compute capability that runs it, 61 for 6.1

	// Tiling: pixels and threads of a block, and its dynamic shared memory in bytes if that is
	// fixed.
	Tile, Threads [2]int
	Shared        int

	Source  string   // if not the form's
	Defines []string // for the preprocessor; see Define
	Details any      // for the form's own code

	library *Library
}

// Limits are the limits of a device, or the least of several.
type Limits struct {
	Compute              int // compute capability, 86 for 8.6
	Multiprocessors      int
	SharedBlock          int // bytes of shared memory that one block may have
	SharedMultiprocessor int
}

// Least returns the lower of each limit.
func (l Limits) Least(other Limits) Limits {
	return Limits{
		Compute: min(l.Compute, other.Compute), Multiprocessors: min(l.Multiprocessors, other.Multiprocessors),
		SharedBlock: min(l.SharedBlock, other.SharedBlock), SharedMultiprocessor: min(l.SharedMultiprocessor, other.SharedMultiprocessor),
	}
}

// Library is a list of forms with their sources (cuda/*.cu) and compiled modules (ptx/*.ptx.gz).
type Library struct {
	Folder   string // from the top of the tree
	modules  fs.FS
	variants func() []Variant
}

// NewLibrary returns the forms of a folder; modules holds ptx/NAME.ptx.gz for each variant.
func NewLibrary(folder string, modules fs.FS, forms ...*Form) *Library {
	l := &Library{Folder: folder, modules: modules}
	l.variants = sync.OnceValue(func() (all []Variant) {
		for _, f := range forms {
			for _, v := range f.Variants() {
				v.Form, v.library = f, l
				all = append(all, v)
			}
		}
		return all
	})
	return l
}

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Builtin holds the forms that jobs choose from.
var Builtin = NewLibrary("kernels", modules, tileForm, slidingForm, tensorForm, generalForm, recursiveForm)

// Variants returns all variants of a library, always in the same order.
func (l *Library) Variants() []Variant { return slices.Clone(l.variants()) }

// Named returns the variant of that name.
func (l *Library) Named(name string) (Variant, error) {
	if i := slices.IndexFunc(l.variants(), func(v Variant) bool { return v.Name == name }); i >= 0 {
		return l.variants()[i], nil
	}
	return Variant{}, fmt.Errorf("kernels: there is no kernel %q", name)
}

// Variants returns the variants of Builtin.
func Variants() []Variant { return Builtin.Variants() }

// Named returns the variant of Builtin with that name.
func Named(name string) (Variant, error) { return Builtin.Named(name) }

// Define returns an entry of Variant.Defines that sets VF_name to value.
func Define(name string, value int) string { return fmt.Sprintf("-DVF_%s=%d", name, value) }

// DefineRange passes the range weight to a source.
func DefineRange(r RangeWeight) string { return Define("RANGE", int(r)) }

// SourceFile is the path of the variant's source from the top of the tree.
func (v Variant) SourceFile() string {
	source := v.Source
	if source == "" {
		source = v.Form.Name + ".cu"
	}
	return path.Join(v.library.Folder, "cuda", source)
}

// Flags returns the compiler flags besides the target.
func (v Variant) Flags() []string {
	return append([]string{"-DVF_NAME=" + v.Name, Define("COMPUTE", v.Compute)}, v.Defines...)
}

// PTX returns the text of the variant's module. It holds only this kernel, since the driver
// compiles everything that it loads.
func (v Variant) PTX() (string, error) {
	text, err := v.readPTX()
	if err != nil {
		return "", fmt.Errorf("kernels: the PTX of %s: %w", v.Name, err)
	}
	return string(text), nil
}

func (v Variant) readPTX() ([]byte, error) {
	f, err := v.library.modules.Open("ptx/" + v.Name + ".ptx.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// TakesRadius reports whether the variant supports a radius.
func (v Variant) TakesRadius(radius int) bool { return radius >= v.Radii[0] && radius <= v.Radii[1] }

// does reports whether the variant supports p.
func (v Variant) does(p Stage) bool {
	own, ok := p.(Planned)
	return ok && v.Form.Filter == p.Filter() && own.does(v)
}

// TakesLayout reports whether the variant supports a layout. The zero layout stands for any of 8
// bits.
func (v Variant) TakesLayout(l pipeline.Layout) bool {
	switch depth := l.Info().Depth; {
	case v.Form.Layouts != nil:
		return slices.Contains(v.Form.Layouts, l)
	case v.GBR != (l.Arrangement() == pipeline.GBRP):
		return false
	case !v.deep():
		return l == 0 || depth == 8 && hasKernels(l)
	default:
		return depth >= v.Depths[0] && depth <= v.Depths[1]
	}
}

// hasKernels reports whether forms without a list of layouts take one: in 8 bits, NV16 and NV24
// have no kernels.
func hasKernels(l pipeline.Layout) bool { return l.Valid() && l != pipeline.NV16 && l != pipeline.NV24 }

func (v Variant) deep() bool { return v.Depths != [2]int{} }

// deeper returns the variant for samples of two bytes, from the same source.
func (v Variant) deeper(least, most int) Variant {
	v.Name += "_16"
	v.Depths = [2]int{least, most}
	v.Defines = append(slices.Clone(v.Defines), Define("BYTES", 2))
	return v
}

// planarRGB returns the variant for planes of R, G and B, from the same source.
func (v Variant) planarRGB() Variant {
	v.Name = strings.Replace(v.Name, "_", "_gbr_", 1)
	v.GBR = true
	v.Defines = append(slices.Clone(v.Defines), Define("GBR", 1))
	return v
}

// sampleBytes is the size of the samples that the variant takes.
func (v Variant) sampleBytes() int {
	if v.deep() {
		return 2
	}
	return 1
}

// takes describes the supported layouts.
func (v Variant) takes() string {
	switch {
	case v.Form.Layouts != nil:
		return layoutNames(v.Form.Layouts)
	case v.GBR && v.deep():
		return fmt.Sprintf("planar RGB of %d to %d bits", v.Depths[0], v.Depths[1])
	case v.GBR:
		return "planar RGB of 8 bits"
	case v.deep():
		return fmt.Sprintf("YUV of %d to %d bits", v.Depths[0], v.Depths[1])
	}
	return "YUV and RGBA of 8 bits"
}

// Refuses returns the reason that the variant does not support p, or nil.
func (v Variant) Refuses(p Stage) error {
	switch {
	case v.does(p):
		return nil
	case v.Form.Filter != p.Filter():
		return fmt.Errorf("kernels: %s does not do the %s filter", v.Name, p.Filter())
	}
	return fmt.Errorf("kernels: %s does %s, not %s", v.Name, v.Does(), p.(Planned).asked())
}

// planned is any stage of the variant's filter.
func (v Variant) planned() Planned { return v.Form.Filter.Zero.(Planned) }

// Does describes the supported options: "radius 0 to 15, gaussian".
func (v Variant) Does() string { return v.planned().supported(v) }

// Adapt returns the supported options closest to p, apart from sigma-r. For another filter's p they
// are near the defaults.
func (v Variant) Adapt(p Planned) Planned { return v.planned().adapted(v, p) }

// always returns a priority that is the same for all layouts.
func always(n int) func(pipeline.Layout) int { return func(pipeline.Layout) int { return n } }

// ErrNoKernel is wrapped by errors of Choose for options that no kernel of a device supports.
var ErrNoKernel = errors.New("no kernel")

// Choose returns the variant of Builtin for p on frames of a format, on devices within the limits.
// Among matches it prefers the form with the highest priority, then the variant for the newest
// devices. The zero format stands for any. No match is an error.
func Choose(p Planned, f pipeline.Format, l Limits) (Variant, error) {
	if err := Validate(p); err != nil {
		return Variant{}, err
	}
	var best *Variant
	for i, v := range Builtin.variants() {
		if v.does(p) && v.TakesLayout(f.Layout) && v.Compute <= l.Compute && v.before(best, f.Layout) {
			best = &Builtin.variants()[i]
		}
	}
	if best == nil {
		return Variant{}, fmt.Errorf("kernels: %w for %s on %s at compute capability %d.%d",
			ErrNoKernel, p.asked(), f.Layout, l.Compute/10, l.Compute%10)
	}
	return *best, nil
}

// before reports whether Choose prefers the variant to other, which may be nil.
func (v Variant) before(other *Variant, l pipeline.Layout) bool {
	if other == nil {
		return true
	}
	own, others := v.Form.Priority(l), other.Form.Priority(l)
	return own > others || own == others && v.Compute > other.Compute
}
