// Package papers holds the systems of the five papers behind the program: their CUDA kernels
// (cuda/*.cu, compiled to ptx) and their CPU programs (cpuform_*.c), written as the papers do
// them, to read and to measure. Each source lists its changes. They filter RGBA with fixed
// options, and a job never selects them.
package papers

import (
	"embed"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Library is the papers' CUDA kernels, in the order of the papers.
var Library = kernels.NewLibrary("lab/papers", modules, thesisForm, akersForm, recursiveForm, pairForm, staalForm)

// Details of a paper's variant; zero for other kernels.
type Details struct {
	Paper     string // "000", as in the list of papers
	Version   string // the paper's name for it
	Title     string // for tables
	Semantics        // of the bilateral filter

	// Of the thesis: the side of a block in threads, the number of tiles it filters, and the
	// source of the range weight: "", "double", "table".
	Block, Factor int
	Weight        string

	Approximation Approximation // of algorithms C and D of the recursive filter

	hosted []byte // see Timed
}

// Of returns the details of a variant.
func Of(v kernels.Variant) Details {
	d, _ := v.Details.(Details)
	return d
}

// WithApproximation returns the variant with another approximation by the same algorithm.
func WithApproximation(v kernels.Variant, a Approximation) kernels.Variant {
	d := Of(v)
	d.Approximation = a
	v.Details = d
	return v
}

// Timed plans the part that the authors timed, for frames like src. The plan's table holds the
// result of their host's preparation before the clock ran (padding, conversion to floats), and the
// launches that would otherwise do it are left out.
func Timed(v kernels.Variant, p kernels.Planned, src *pipeline.Frame) kernels.Planner {
	d := Of(v)
	switch v.Form {
	case akersForm:
		d.hosted = padded(src, p.(kernels.Bilateral).Radius)
	case staalForm:
		d.hosted = floats(src, staalVersion(v))
	default:
		return v.Planner(p)
	}
	v.Details = d
	return v.Planner(p)
}

// rgba is the only layout of the papers' kernels.
var rgba = []pipeline.Layout{pipeline.RGBA}
