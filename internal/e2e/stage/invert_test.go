// Package stage tests the interface for filters: this file is a whole filter.
package stage

import (
	"context"
	"fmt"
	"strings"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// invert is a main filter: it turns samples of 8 bits into their negatives, in part.
type invert struct {
	Part   float64 // 0: not at all, 1: wholly
	Planes string  // "": all; digits otherwise
}

var invertFilter = &kernels.FilterType{Name: "invert", Place: kernels.PlaceMain, Zero: invert{}, Options: []kernels.Option{
	{
		Name: "amount", Title: "Amount", Help: "how far samples are inverted",
		Domain: kernels.Domain{Max: 1, Default: 1, Main: true}, Binding: kernels.Bind(func(p *invert) *float64 { return &p.Part }),
	},
	{
		Name: "planes", Title: "Planes", Kind: kernels.Text, Metavar: "DIGITS", Help: "planes to invert, such as 02; all by default",
		Check: checkPlanes, Binding: kernels.BindText(func(p *invert) *string { return &p.Planes }),
	},
}}

func init() {
	kernels.Register(invertFilter)
	kernels.Register(negativeFilter)
}

func checkPlanes(s string) error {
	if strings.Trim(s, "012") != "" {
		return fmt.Errorf("%q: planes are 0, 1 and 2", s)
	}
	return nil
}

func (invert) Filter() *kernels.FilterType  { return invertFilter }
func (invert) Takes(l pipeline.Layout) bool { return l.Info().Depth == 8 }
func (p invert) Identity() bool             { return p.Part == 0 }
func (invert) Window() pipeline.Window      { return pipeline.Window{} }

// OnHost implements kernels.OnHost, for any device.
func (p invert) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return kernels.PerFrame(pool, func(_ context.Context, out, in *pipeline.Frame) error {
		out.CopySamples(in)
		for i, y := range in.Rows() {
			if row := out.Row(i, y); p.Planes == "" || strings.Contains(p.Planes, fmt.Sprint(i)) {
				for x := range row {
					row[x] = p.reference(row[x])
				}
			}
		}
		return nil
	}), nil
}

// reference defines the result for a sample.
func (p invert) reference(x byte) byte { return byte(float64(x) + p.Part*(255-2*float64(x)) + 0.5) }

// negative is the same behind the main filter, where it is asked for.
type negative struct{ Part float64 }

var negativeFilter = &kernels.FilterType{Name: "negative", Place: kernels.PlaceDeband, Zero: negative{}, Options: []kernels.Option{{
	Name: "negative", Title: "Negative", Help: "how far samples are inverted at the end",
	Domain: kernels.Domain{Max: 1}, Binding: kernels.Bind(func(p *negative) *float64 { return &p.Part }),
}}}

func (negative) Filter() *kernels.FilterType  { return negativeFilter }
func (negative) Takes(l pipeline.Layout) bool { return invert{}.Takes(l) }
func (p negative) Identity() bool             { return p.Part == 0 }
func (negative) Window() pipeline.Window      { return pipeline.Window{} }
func (p negative) OnHost(pool *pipeline.Pool, in kernels.Setting) (pipeline.Filter, error) {
	return invert{Part: p.Part}.OnHost(pool, in)
}
