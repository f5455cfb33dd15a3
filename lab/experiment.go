package lab

import (
	"context"
	"errors"
	"fmt"

	"vidfilter/kernels"
)

// experiment is an experiment of a paper with the way to run it here.
type experiment struct {
	Experiment
	figures []Published
	run     func(ctx context.Context, r *run, e *experiment) error
}

func (e *experiment) measure(ctx context.Context, r *run) error {
	err := e.run(ctx, r, e)
	if err == nil {
		err = r.takeTurns(ctx, e)
	}
	e.settle()
	return err
}

// experiments lists all, in the order of the papers.
func experiments() (all []*experiment) {
	for _, list := range [][]*experiment{
		thesisExperiments(), akersExperiments(), ferreiraExperiments(), agarwalExperiments(), staalExperiments(),
	} {
		all = append(all, list...)
	}
	return all
}

// published returns the paper's result for a version at a size and radius, nil if it is missing or
// the pictures are shrunk.
func (r *run) published(e *experiment, version string, size Size, radius, threads int) *Published {
	if r.o.Shrink > 1 {
		return nil
	}
	for _, p := range e.figures {
		if p.Version == version && p.Size == size && p.Radius == radius && (p.Threads == 0 || threads != 1) {
			return &p
		}
	}
	return nil
}

// sweep is an experiment over radii: every version of a paper in its fastest configuration, and
// this program's own filter.
type sweep struct {
	size           Size
	radii, quick   []int
	sigmaS, sigmaR float64
	each           bool // every configuration that keep accepts, not only the fastest
	step           bool // also with copies, as the paper timed it
	where          string
	keep           func(contender) bool // nil: all
}

func (s sweep) run(ctx context.Context, r *run, e *experiment) error {
	radii := s.radii
	if r.o.Quick && len(s.quick) > 0 {
		radii = s.quick
	}
	for _, radius := range radii {
		p := kernels.Bilateral{Radius: radius, SigmaS: s.sigmaS, SigmaR: s.sigmaR}
		for _, c := range s.field(r, e.Paper) {
			if err := s.group(ctx, r, e, c, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// field returns the contenders by version; this program's own filter comes last.
func (s sweep) field(r *run, paper string) (groups [][]contender) {
	for _, g := range versions(contenders(paper)) {
		switch {
		case s.where != "" && g[0].where() != s.where:
			continue
		case s.each:
			for _, c := range g {
				if s.keep == nil || s.keep(c) {
					groups = append(groups, []contender{c})
				}
			}
		default:
			groups = append(groups, g)
		}
	}
	if s.each || s.where == "cpu" {
		return groups
	}
	return append(groups, nil)
}

// group measures one version; nil stands for this program's own filter.
func (s sweep) group(ctx context.Context, r *run, e *experiment, group []contender, p kernels.Bilateral) error {
	if group == nil {
		own := p
		own.Range = kernels.Gaussian // the weights of 000 and 004, on the joint distance
		c, err := r.own(own)
		if errors.Is(err, kernels.ErrNoKernel) {
			return nil
		} else if err != nil {
			return err
		}
		group = []contender{c}
	}
	c, ok, err := r.fastest(ctx, group, p)
	if err != nil || !ok {
		return err
	}
	row, err := r.measure(ctx, c, s.size, p, 1, s.step)
	if err != nil {
		return err
	}
	if !c.own && row.Kind == "" {
		row.Paper = r.published(e, row.Version, s.size, p.Radius, row.Threads)
	}
	e.Rows = append(e.Rows, row)
	return nil
}

// measure checks and times one contender on a picture of the paper's size; threads are for the CPU.
func (r *run) measure(ctx context.Context, c contender, size Size, p kernels.Planned, threads int, step bool) (row Row, err error) {
	p = c.Adapt(p)
	size = r.size(size)
	row = c.row(size, p)
	if row.Check, err = r.check(ctx, c, p); err != nil {
		return row, err
	}
	src, err := r.picture(size)
	if err != nil {
		return row, err
	}
	if c.cpu != nil {
		err = r.onCPU(ctx, &row, c, p, src, threads)
		return row, err
	}
	if row.Time, err = r.timeGPU(ctx, c, p, src); err != nil || !step {
		return row, err
	}
	stat, err := r.timeStep(ctx, c, p, src, pageable)
	row.Step = &stat
	return row, err
}

// picturesOf names a size for a file.
func picturesOf(paper string, s Size) string { return fmt.Sprintf("%s-%s", paper, s) }
