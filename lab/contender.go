package lab

import (
	"context"
	"fmt"
	"path"
	"slices"
	"time"

	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// contender is one form that may be timed: a GPU or a CPU variant.
type contender struct {
	papers.Details
	form
	name string
	gpu  *kernels.Variant
	cpu  *papers.CPUVariant
	own  bool // this program's filter, for comparison
}

// Does describes the supported options, and a paper's bilateral filter.
func (c contender) Does() string {
	if _, window := c.filter().Zero.(kernels.Bilateral); c.Paper == "" || !window {
		return c.form.Does()
	}
	return fmt.Sprintf("%s, %s", c.form.Does(), c.Semantics)
}

// filter is the kind of filter.
func (c contender) filter() *kernels.FilterType {
	if c.gpu != nil {
		return c.gpu.Form.Filter
	}
	return kernels.Bilateral{}.Filter()
}

// reference returns the definition of the contender's filter.
func (c contender) reference(p kernels.Planned) func(dst, src *pipeline.Frame) error {
	if c.gpu != nil {
		return papers.ReferenceOf(*c.gpu, p)
	}
	return func(dst, src *pipeline.Frame) error {
		return papers.Reference(dst, src, p.(kernels.Bilateral), c.Semantics)
	}
}

// form is common to both kinds of variants.
type form interface {
	Does() string
	Adapt(p kernels.Planned) kernels.Planned // the supported options closest to p
	Refuses(p kernels.Stage) error
}

func onCPU(v papers.CPUVariant) contender {
	return contender{Details: v.Details, form: v, name: v.Name, cpu: &v}
}

func onGPU(v kernels.Variant) contender {
	c := contender{Details: papers.Of(v), form: v, name: v.Name, gpu: &v}
	if c.Factor == 1 {
		c.Factor = 0 // a version without tiling
	}
	return c
}

// radiusOf is 0 for a filter without a window.
func radiusOf(p kernels.Planned) int { return int(kernels.NumberOf(p, "radius")) }

// own returns this program's kernel for RGBA, if the run has a GPU and one for these options.
func (r *run) own(p kernels.Planned) (contender, error) {
	if r.GPU == nil || r.o.Kernel != "" {
		return contender{}, kernels.ErrNoKernel
	}
	v, err := kernels.Choose(p, formatOf(size4K), r.GPU.Limits())
	c := onGPU(v)
	c.own, c.Title = true, "this program"
	return c, err
}

// listed returns the variants of papers (of all, if empty), each paper's on the CPU first.
func listed(ids ...string) (all []contender) {
	if len(ids) == 0 {
		ids = PaperIDs()
	}
	for _, id := range ids {
		for _, v := range papers.CPUVariants() {
			if v.Paper == id {
				all = append(all, onCPU(v))
			}
		}
		for _, v := range papers.Library.Variants() {
			if papers.Of(v).Paper == id {
				all = append(all, onGPU(v))
			}
		}
	}
	return all
}

// contenders is listed. Without a CPU form of 004 it adds the thesis' sequential one, which has the
// same weights.
func contenders(paper string) []contender {
	all := listed(paper)
	if paper != "004" || len(all) > 0 && all[0].cpu != nil {
		return all
	}
	for _, c := range listed("000") {
		if c.cpu != nil && c.Version == baselines[paper].sequential {
			return append([]contender{c}, all...)
		}
	}
	return all
}

func (c contender) where() string {
	if c.cpu != nil {
		return "cpu"
	}
	return "gpu"
}

func (c contender) takes(radius int) bool {
	if c.cpu != nil {
		return radius >= 0 && radius <= kernels.MaxRadius
	}
	return c.gpu.TakesRadius(radius)
}

// selected reports whether a glob ("": all) matches the variant's name.
func (c contender) selected(glob string) bool {
	ok, err := path.Match(glob, c.name)
	return glob == "" || err == nil && ok
}

// kind names a version's deviation from the paper's plain one: another range weight or distance.
// "" is the plain one.
func (c contender) kind() string {
	if c.Distance == papers.Lab {
		return "lab"
	}
	return c.Weight
}

// row returns the contender's row before it is timed.
func (c contender) row(size Size, p kernels.Planned) Row {
	return Row{
		Where: c.where(), Version: c.Version, Kind: c.kind(), Title: c.Title, Name: c.name, Own: c.own, Size: size, Radius: radiusOf(p),
		SigmaS: kernels.NumberOf(p, "sigma-s"), SigmaR: kernels.NumberOf(p, "sigma-r"), Block: c.Block, Factor: c.Factor, Part: 1,
	}
}

// runs reports whether the contender runs on this machine and was requested.
func (r *run) runs(c contender) bool {
	if !c.own && !c.selected(r.o.Kernel) {
		return false
	}
	return c.cpu != nil || r.GPU != nil && c.gpu.Compute <= r.GPU.Device().Compute
}

// versions groups contenders by place, version and kind, and keeps their order.
func versions(all []contender) (groups [][]contender) {
	for _, c := range all {
		i := slices.IndexFunc(groups, func(g []contender) bool {
			return g[0].where() == c.where() && g[0].Version == c.Version && g[0].kind() == c.kind()
		})
		if i < 0 {
			groups = append(groups, nil)
			i = len(groups) - 1
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// trialSize is the size at which configurations are tried. The thesis found the same ones best on
// larger pictures.
var trialSize = Size{Width: 512, Height: 512}

// fastest returns the fastest configuration of a version at a radius. ok is false if no
// configuration supports the radius.
func (r *run) fastest(ctx context.Context, group []contender, p kernels.Planned) (best contender, ok bool, err error) {
	group = slices.DeleteFunc(slices.Clone(group), func(c contender) bool { return !r.runs(c) || !c.takes(radiusOf(p)) })
	if len(group) <= 1 {
		return append(group, contender{})[0], len(group) == 1, nil
	}
	key := fmt.Sprint(group[0].name, " ", radiusOf(p))
	if c, ok := r.best[key]; ok {
		return c, true, nil
	}
	src, err := r.picture(r.size(trialSize))
	if err != nil {
		return best, false, err
	}
	least := time.Duration(0)
	for _, c := range group {
		r.say("%s: trying at radius %d", c.name, radiusOf(p))
		t, err := r.trial(ctx, c, c.Adapt(p), src)
		if err != nil {
			return best, false, err
		}
		if !ok || t < least {
			best, least, ok = c, t, true
		}
	}
	r.best[key] = best
	return best, true, nil
}

// trial times a kernel briefly.
func (r *run) trial(ctx context.Context, c contender, p kernels.Planned, src *pipeline.Frame) (time.Duration, error) {
	if c.cpu != nil {
		t, err := r.turnsOf(ctx, c, p, src, 1)
		if err != nil {
			return 0, err
		}
		return t.times[0], nil
	}
	repeat := gpu.Repeat{Batches: 2, Runs: 20, Time: 10 * time.Millisecond}
	if r.tiny() {
		repeat = r.repeat()
	}
	times, err := r.GPU.TimeKernel(ctx, papers.Timed(*c.gpu, p, src), src, repeat)
	if err != nil {
		return 0, err
	}
	return slices.Min(times), nil
}

// timeGPU times a kernel alone.
func (r *run) timeGPU(ctx context.Context, c contender, p kernels.Planned, src *pipeline.Frame) (measure.Stat, error) {
	r.say("%s: %s, %s", c.name, options(p), src.Format)
	times, err := r.GPU.TimeKernel(ctx, papers.Timed(*c.gpu, p, src), src, r.repeat())
	if err != nil {
		return measure.Stat{}, err
	}
	return measure.StatOf(times), nil
}

// timeStep times a kernel with the copies in both directions.
func (r *run) timeStep(ctx context.Context, c contender, p kernels.Planned, src *pipeline.Frame, copies gpu.Copies) (measure.Stat, error) {
	r.say("%s: radius %d, %s, with the copies, streams: %d", c.name, radiusOf(p), src.Format, copies.Streams)
	times, err := r.GPU.TimeStep(ctx, c.gpu.Planner(p), src, copies, r.repeat())
	if err != nil {
		return measure.Stat{}, err
	}
	return measure.StatOf(times), nil
}
