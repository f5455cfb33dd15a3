package kernels

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"

	"vidfilter/pipeline"
)

// Form is a way of doing the bilateral filter on a GPU; each is one source below cuda/, whose header tells the idea.
type Form uint8

// The forms.
const (
	Paper   Form = iota // paper.cu: the kernel of 001, to measure the others against
	General             // general.cu: every option, radius at run time
	Tile                // tile.cu: distance rgb, the radius known to the compiler
	Sliding             // sliding.cu: small radii, no shared memory, each pair of pixels weighted once
	Tensor              // tensor.cu: large radii on tensor cores

	// The papers' other systems, see labForms.
	Thesis       // thesis.cu: the thesis (000)
	Pair         // pair.cu: Agarwal et al. (003)
	Staal        // staal.cu: the eight kernels of 004
	RecursiveLab // recursive.cu: algorithms A, C and D of 002

	RecursiveFast // recursive_fast.cu: what the recursive filter runs
)

var formNames = []string{"paper", "general", "tile", "sliding", "tensor", "thesis", "pair", "staal", "recursive", "recursive_fast"}

func (f Form) String() string { return name(formNames, uint8(f)) }

// AnyRadius is the radius of a variant that takes every radius.
const AnyRadius = -1

// Variant is one CUDA kernel: an entry of the list that all the rest follows from (what is compiled, what is
// chosen, what is tested and measured).
type Variant struct {
	Name     string // of the kernel's entry point, of its module and of the file with its PTX
	Form     Form
	Filter   Filter
	Radius   int // or AnyRadius; 0 of the recursive filter
	Range    RangeWeight
	Distance Distance
	Compute  int // the lowest compute capability that runs it: 61, 80 or 90

	// Of a system of the papers, see FromPaper: which one ("000"), its version there ("4") and name ("padded shared memory"), and the
	// only border that it knows.
	Paper, Version, Title string
	Border                Border
	// With AnyRadius, the smallest and the largest; 0 as the largest is MaxRadius.
	LeastRadius, MostRadius int
	// Of the thesis: the side of a block in threads, and how many tiles it filters.
	Block, Factor int
	Weight        string // how it gets the range weight: "" as the rest, "double", "table"

	Approximation Approximation // of algorithms C and D of the recursive filter; any may be put in its place, as far as its Algorithm is the same

	width, height int // pixels of one block's tile
	threads       [2]int
	shared        int      // dynamic shared memory in bytes
	source        string   // where it is not the form's own: the file below cuda
	flags         []string // what the compiler is told, beside name and capability
}

// Variants returns the list, in an order that does not change.
func Variants() []Variant { return append([]Variant(nil), variants...) }

var variants = listVariants()

func listVariants() (list []Variant) {
	list = append(list, Variant{
		Name: "paper", Form: Paper, Radius: AnyRadius, LeastRadius: 1, Range: Lorentzian, Distance: RGB, Border: Zero, Compute: 61,
		Paper: "001", Version: "CUDA", Title: "halo block",
		threads: [2]int{32, 32}, shared: 4 * 32 * 32, flags: []string{rangeFlag(Lorentzian)},
	})
	for _, r := range []RangeWeight{Lorentzian, Gaussian} {
		for radius := range MaxRadius + 1 {
			list = append(list, tileVariant(radius, r))
		}
		list = append(list, slidingVariant(1, r))
		for radius := 5; radius <= MaxRadius; radius++ {
			list = append(list, tensorVariant(radius, r))
		}
	}
	for _, d := range []Distance{Channel, Lab, Luma} {
		for _, r := range []RangeWeight{Lorentzian, Gaussian} {
			list = append(list, Variant{
				Name: fmt.Sprintf("general_%s_%s", d, r), Form: General, Radius: AnyRadius, Range: r, Distance: d, Compute: 61,
				width: 32, height: 16, threads: [2]int{32, 8}, flags: []string{define("DISTANCE", int(d)), rangeFlag(r)},
			})
		}
	}
	for _, l := range labForms {
		list = append(list, l.list()...)
	}
	return list
}

// tile returns how many pixels across and down one block filters, and how much shared memory it needs in bytes.
func (v Variant) tile(p Params) (width, height, shared int) {
	switch v.Form {
	case Paper: // each thread has a word of the tile, those in the halo filter nothing
		return 32 - 2*p.Radius, 32 - 2*p.Radius, v.shared
	case General:
		size := 4 * (v.width + 2*((p.Radius+3)/4*4)) * (v.height + 2*p.Radius)
		switch p.Distance {
		case Lab:
			size = 4*size + 4*256
		case Luma:
			size *= 2
		}
		return v.width, v.height, size
	}
	return v.width, v.height, v.shared
}

// tileVariant sizes the blocks of tile.cu: the halo of a large radius is shared by more rows. Of a small one the whole window is unrolled,
// and its constants need no registers of their own.
func tileVariant(radius int, r RangeWeight) Variant {
	height, blocks, unroll := 8, 4, 1
	switch {
	case radius > 4:
		height, blocks = 16, 1
	case radius < 3:
		blocks, unroll = 5, 2*radius+1
	case radius == 3:
		unroll = 2*radius + 1
	}
	halo := (radius + 3) / 4 * 4
	return Variant{
		Name: fmt.Sprintf("tile_%s_r%d", r, radius), Form: Tile, Radius: radius, Range: r, Distance: RGB, Compute: 61,
		width: 128, height: height, threads: [2]int{32, height},
		shared: 4 * (128 + 2*halo) * (height + 2*radius),
		flags:  []string{define("RADIUS", radius), define("HEIGHT", height), define("BLOCKS", blocks), define("UNROLL", unroll), rangeFlag(r)},
	}
}

// tensorVariant sizes the tiles of tensor.cu: two or three blocks fit into the shared memory of a multiprocessor. The special-function unit
// takes the reciprocals of mix groups out of of. Of a large radius more squares share the records that they read. The window is hardly
// unrolled: all of it at radius 5 and 7 made the kernel 1 to 4 % faster, and the driver twice to four times as long in compiling it.
func tensorVariant(radius int, r RangeWeight) Variant {
	const group, height = 4, 32
	width, squares, blocks, unroll, mix, of := 64, 8, 2, 1, 1, 5
	switch {
	case radius > 13: // a tile of 64 would need more shared memory than a block may have on GPUs for desks (99 KB)
		width, squares, blocks = 32, 4, 3
	case radius < 7:
		squares, blocks = 4, 3
	}
	switch radius {
	case 5:
		mix, of = 2, 7
	case 6:
		unroll = 2
	}
	across, down := (4+2*radius+group-1)/group, (4+2*radius+1)/2
	columns, rows := width-4+across*group, height-4+down*2
	pitch := ((-radius & 3) + columns + 3) / 4 * 4 // whole vectors of pixels, and an odd number of them
	pitch = (pitch+3)/8*8 + 4
	return Variant{
		Name: fmt.Sprintf("tensor_%s_r%d", r, radius), Form: Tensor, Radius: radius, Range: r, Distance: RGB, Compute: 80,
		width: width, height: height, threads: [2]int{32, 8}, shared: 16*pitch*rows + 4*width*height + 4*(2*radius+8),
		flags: []string{define("RADIUS", radius), define("WIDTH", width), define("HEIGHT", height), define("GROUP", group),
			define("SQUARES", squares), define("BLOCKS", blocks), define("WARPS", 8), define("UNROLL", unroll), define("MIX", mix), define("OF", of), rangeFlag(r)},
	}
}

// slidingVariant sizes the strips of sliding.cu: long enough that the rows above and below, which are read and weighted for nothing,
// count for little, short enough that there are strips for all.
func slidingVariant(radius int, r RangeWeight) Variant {
	rows, warps := 10, 4
	return Variant{
		Name: fmt.Sprintf("sliding_%s_r%d", r, radius), Form: Sliding, Radius: radius, Range: r, Distance: RGB, Compute: 61,
		width: 120, height: rows * warps, threads: [2]int{32, warps},
		flags: []string{define("RADIUS", radius), define("ROWS", rows), define("WARPS", warps), define("BLOCKS", 5), rangeFlag(r)},
	}
}

func define(name string, value int) string { return fmt.Sprintf("-DVF_%s=%d", name, value) }

func rangeFlag(r RangeWeight) string { return define("RANGE", int(r)) }

// Source is the file below kernels/cuda that the variant is compiled from.
func (v Variant) Source() string {
	if v.source != "" {
		return v.source
	}
	return v.Form.String() + ".cu"
}

// Flags is what the compiler is told beside the target: definitions of the preprocessor.
func (v Variant) Flags() []string {
	return append([]string{"-DVF_NAME=" + v.Name, define("COMPUTE", v.Compute)}, v.flags...)
}

//go:embed ptx/*.ptx.gz
var modules embed.FS

// PTX returns the text of the variant's module, which holds this one kernel: the driver compiles what it loads, so
// a job loads no more than it runs.
func (v Variant) PTX() (string, error) {
	text, err := v.readPTX()
	if err != nil {
		return "", fmt.Errorf("kernels: the PTX of %s: %w", v.Name, err)
	}
	return string(text), nil
}

func (v Variant) readPTX() ([]byte, error) {
	f, err := modules.Open("ptx/" + v.Name + ".ptx.gz")
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

// takes says whether the variant is to do what p asks for on frames of that format, on a device of that compute capability (major * 10 + minor).
func (v Variant) takes(p Params, f pipeline.Format, compute int) bool {
	if v.Form == Sliding && f.Layout != pipeline.RGBA {
		return false // planes cost its lanes more than they save: the tile is 6 % faster, and compiles in a sixth of the time
	}
	if v.Form == RecursiveFast && v.Compute == 90 && compute >= 110 {
		return false // GPUs for desks are newer than 9.0 and 10.0, and have less shared memory
	}
	return !v.FromPaper() && v.does(p) && v.Compute <= compute
}

// Margin is how many black pixels the variant reads beyond each edge of its source, beside the frame itself: the host
// provides them. 0 for all that know the borders themselves.
func (v Variant) Margin(p Params) int {
	if v.Form == Paper {
		return p.Radius
	}
	return 0
}

// Choose returns the fastest variant for p on frames of a format, on devices of that compute capability or more; where p names one,
// that one. No match is an error.
func Choose(p Params, f pipeline.Format, compute int) (Variant, error) {
	if err := p.Validate(); err != nil {
		return Variant{}, err
	}
	if p.Kernel != "" {
		return named(p, compute)
	}
	best := -1
	for i, v := range variants {
		if v.takes(p, f, compute) && (best < 0 || v.Form > variants[best].Form) {
			best = i
		}
	}
	if best < 0 {
		return Variant{}, fmt.Errorf("kernels: no kernel for radius %d, %s, %s at compute capability %d.%d",
			p.Radius, p.Range, p.Distance, compute/10, compute%10)
	}
	return variants[best], nil
}

// named returns the variant that p names, if devices of that compute capability run it.
func named(p Params, compute int) (Variant, error) {
	v, err := Named(p.Kernel)
	switch {
	case err != nil:
		return v, err
	case !v.does(p):
		return v, v.refuses(p)
	case v.Compute > compute:
		return v, fmt.Errorf("kernels: %s needs compute capability %d.%d, and this is %d.%d", v.Name, v.Compute/10, v.Compute%10, compute/10, compute%10)
	}
	return v, nil
}

// Named returns the variant of that name.
func Named(name string) (Variant, error) {
	for _, v := range variants {
		if v.Name == name {
			return v, nil
		}
	}
	return Variant{}, fmt.Errorf("kernels: there is no kernel %q", name)
}
