package live

import (
	"fmt"
	"math"
	"slices"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Filter is what a person can set, in the names of the command line.
type Filter struct {
	Filter     string  `json:"filter"`  // bilateral, recursive
	Radius     int     `json:"radius"`  // pixels, 0 to kernels.MaxRadius
	SigmaS     float64 `json:"sigma_s"` // pixels; 0 follows the radius of the bilateral filter
	SigmaR     float64 `json:"sigma_r"` // levels of 8 bits
	Range      string  `json:"range"`
	Distance   string  `json:"distance"`
	Border     string  `json:"border"`
	Iterations int     `json:"iterations"`  // of the recursive filter, 1 to kernels.MaxIterations
	FieldOrder string  `json:"field_order"` // one of FieldOrders
}

// FieldOrders are the ways to take a picture: as the input says, or as the person knows better.
func FieldOrders() []string { return slices.Clone(fieldOrders) }

var fieldOrders = []string{"auto", "progressive", "tff", "bff"}

// Limits are the ranges that a slider offers, of the options that a filter has; Params takes more sigmas.
type Limits struct {
	Filter     []string   `json:"filter"`
	Radius     []int      `json:"radius,omitempty"`
	SigmaS     [2]float64 `json:"sigma_s"`
	SigmaR     [2]float64 `json:"sigma_r"`
	Iterations []int      `json:"iterations,omitempty"`
	Range      []string   `json:"range,omitempty"`
	Distance   []string   `json:"distance,omitempty"`
	Border     []string   `json:"border,omitempty"`
	FieldOrder []string   `json:"field_order"`
}

// Limits returns the limits of the filter that f is.
func (f Filter) Limits() Limits {
	l := Limits{Filter: kernels.FilterNames(), SigmaR: [2]float64{1, 255}, FieldOrder: FieldOrders()}
	if f.Filter == kernels.Recursive.String() {
		l.SigmaS, l.Iterations = [2]float64{0.5, 200}, []int{1, kernels.MaxIterations}
		return l
	}
	l.Radius, l.SigmaS = []int{0, kernels.MaxRadius}, [2]float64{0.1, kernels.MaxRadius + 1}
	l.Range, l.Distance, l.Border = kernels.RangeNames(), kernels.DistanceNames(), kernels.BorderNames()
	return l
}

// FilterOf returns the filter with parameters p; a sigma_s that is the radius' own follows it from then on.
func FilterOf(p kernels.Params, fieldOrder string) Filter {
	f := Filter{
		p.Filter.String(), p.Radius, p.SigmaS, p.SigmaR, p.Range.String(), p.Distance.String(), p.Border.String(), p.Iterations, fieldOrder,
	}
	if p.Filter == kernels.Bilateral && p.SigmaS == kernels.DefaultSigmaS(p.Radius) {
		f.SigmaS = 0
	}
	return f
}

// Choose makes f another filter, by name; sigmas mean something else to each, and become its defaults. An unknown name is found by Params.
func (f *Filter) Choose(name string) {
	if name == f.Filter {
		return
	}
	f.Filter = name
	if kind, err := kernels.ParseFilter(name); err == nil {
		d := FilterOf(kernels.Params{Filter: kind, Radius: f.Radius, Iterations: f.Iterations}.WithDefaults(), f.FieldOrder)
		f.SigmaS, f.SigmaR, f.Iterations = d.SigmaS, d.SigmaR, d.Iterations
	}
}

// Params returns the parameters of a filter, or what is wrong with it.
func (f Filter) Params() (p kernels.Params, err error) {
	p = kernels.Params{Radius: f.Radius, SigmaS: f.SigmaS, SigmaR: f.SigmaR, Iterations: f.Iterations}
	if p.Filter, err = kernels.ParseFilter(f.Filter); err != nil {
		return p, err
	}
	if p.Filter == kernels.Bilateral && f.SigmaS == 0 {
		p.SigmaS = kernels.DefaultSigmaS(max(f.Radius, 0))
	}
	if p.Range, err = kernels.ParseRange(f.Range); err != nil {
		return p, err
	}
	if p.Distance, err = kernels.ParseDistance(f.Distance); err != nil {
		return p, err
	}
	if p.Border, err = kernels.ParseBorder(f.Border); err != nil {
		return p, err
	}
	switch {
	case !slices.Contains(fieldOrders, f.FieldOrder):
		return p, fmt.Errorf("unknown field order %q", f.FieldOrder)
	case math.IsNaN(f.SigmaS), math.IsNaN(f.SigmaR):
		return p, fmt.Errorf("a sigma is not a number")
	}
	return p, p.Validate()
}

// fields returns a frame with f's samples and the field order that the filter wants. It takes f.
func (f Filter) fields(in *pipeline.Frame) *pipeline.Frame {
	if f.FieldOrder == "auto" {
		return in
	}
	out := pipeline.NewFrame(in.Format, in.Planes, nil, in.Release)
	out.CopyTiming(in)
	out.Interlaced = f.FieldOrder != "progressive"
	out.TopFieldFirst = f.FieldOrder == "tff"
	return out
}
