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
	Radius     int     `json:"radius"`  // pixels, 0 to kernels.MaxRadius
	SigmaS     float64 `json:"sigma_s"` // pixels; 0 follows the radius
	SigmaR     float64 `json:"sigma_r"` // levels of 8 bits
	Range      string  `json:"range"`
	Distance   string  `json:"distance"`
	Border     string  `json:"border"`
	FieldOrder string  `json:"field_order"` // one of FieldOrders
}

// FieldOrders are the ways to take a picture: as the input says, or as the person knows better.
func FieldOrders() []string { return slices.Clone(fieldOrders) }

var fieldOrders = []string{"auto", "progressive", "tff", "bff"}

// Limits are the ranges that a slider offers; Params takes any sigma above 0.
type Limits struct {
	Radius     [2]int     `json:"radius"`
	SigmaS     [2]float64 `json:"sigma_s"`
	SigmaR     [2]float64 `json:"sigma_r"`
	Range      []string   `json:"range"`
	Distance   []string   `json:"distance"`
	Border     []string   `json:"border"`
	FieldOrder []string   `json:"field_order"`
}

// AllLimits returns the limits of this program.
func AllLimits() Limits {
	return Limits{
		Radius: [2]int{0, kernels.MaxRadius}, SigmaS: [2]float64{0.1, kernels.MaxRadius + 1}, SigmaR: [2]float64{1, 255},
		Range: kernels.RangeNames(), Distance: kernels.DistanceNames(), Border: kernels.BorderNames(), FieldOrder: FieldOrders(),
	}
}

// FilterOf returns the filter with parameters p; a sigma_s that is the radius' own follows it from then on.
func FilterOf(p kernels.Params, fieldOrder string) Filter {
	f := Filter{p.Radius, p.SigmaS, p.SigmaR, p.Range.String(), p.Distance.String(), p.Border.String(), fieldOrder}
	if p.SigmaS == kernels.DefaultSigmaS(p.Radius) {
		f.SigmaS = 0
	}
	return f
}

// Params returns the parameters of a filter, or what is wrong with it.
func (f Filter) Params() (p kernels.Params, err error) {
	p = kernels.Params{Radius: f.Radius, SigmaS: f.SigmaS, SigmaR: f.SigmaR}
	if f.SigmaS == 0 {
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
