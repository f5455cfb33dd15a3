package lab

import (
	"context"
	"math"
	"runtime"
	"time"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/lab/papers"
	"vidfilter/pipeline"
)

// threads is the most threads that the program may use.
func (r *run) threads() int { return runtime.GOMAXPROCS(0) }

// budget limits the time of all turns of a CPU form. Slower forms filter a part of the picture.
func (r *run) budget() time.Duration {
	switch {
	case r.tiny():
		return time.Millisecond
	case r.o.Quick:
		return 150 * time.Millisecond
	}
	return 1500 * time.Millisecond
}

// cpuTurns is how often each CPU form is timed.
const cpuTurns = 5

// turns is a CPU form timed in turn with the others of its experiment.
type turns struct {
	c       contender
	p       kernels.Planned
	src     *pipeline.Frame // the filtered part
	threads int
	share   float64 // of the whole picture
	times   []time.Duration
}

// turnsOf chooses the part of a picture that a form can filter within its budget on that many
// threads, and takes its first turn.
func (r *run) turnsOf(ctx context.Context, c contender, p kernels.Planned, src *pipeline.Frame, threads int) (*turns, error) {
	r.say("%s: radius %d, %s, threads: %d", c.name, radiusOf(p), src.Format, threads)
	whole := Size{Width: src.Width, Height: src.Height}
	least := 32 * leastRows * threads
	edge := c.edge(p)
	part := portion(edge, whole, least, threads)
	for range 2 { // the first run is too short for a good estimate
		one, err := timeOnce(ctx, c, p, corner(src, part), threads)
		if err != nil {
			return nil, err
		}
		part = portion(edge, whole, max(least, int(work(edge, part)*float64(r.budget())/cpuTurns/float64(one))), threads)
	}
	t := &turns{c: c, p: p, src: corner(src, part), threads: threads, share: work(edge, part) / work(edge, whole)}
	return t, t.take(ctx)
}

// take times the form once more, scaled to the whole picture.
func (t *turns) take(ctx context.Context) error {
	once, err := timeOnce(ctx, t.c, t.p, t.src, t.threads)
	if err == nil {
		t.times = append(t.times, time.Duration(float64(once)/t.share))
	}
	return err
}

// takeTurns times the rows in turn, several times over, so that other load on the machine affects
// all of them alike and their times stay comparable. Each row had its first turn when it was
// added.
func (r *run) takeTurns(ctx context.Context, e *experiment) error {
	var all []*turns
	for _, row := range e.Rows {
		if row.turns != nil {
			all = append(all, row.turns)
		}
	}
	for i := 1; i < cpuTurns && len(all) > 0; i++ {
		r.say("%s: the CPU's forms in turn, %d of %d", e.ID, i+1, cpuTurns)
		for _, t := range all {
			if err := t.take(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle sets the rows' times from their turns.
func (e *experiment) settle() {
	for i := range e.Rows {
		if t := e.Rows[i].turns; t != nil {
			e.Rows[i].Time = measure.StatOf(t.times)
		}
	}
}

// onCPU times a row once and prepares its turns.
func (r *run) onCPU(ctx context.Context, row *Row, c contender, p kernels.Planned, src *pipeline.Frame, threads int) (err error) {
	if row.turns, err = r.turnsOf(ctx, c, p, src, threads); err != nil {
		return err
	}
	row.Threads, row.Part = threads, row.turns.share
	return nil
}

// leastRows is how many rows of a part each thread gets.
const leastRows = 8

// edge is the number of rows, and of columns, that a form leaves unfiltered.
func (c contender) edge(p kernels.Planned) int {
	if c.Border == papers.Skip {
		return 2 * radiusOf(p)
	}
	return 0
}

// portion returns a part of a picture with about that many filtered pixels, as square as possible:
// forms that weight each pair once, or work in tiles, do extra work along the edges.
func portion(edge int, whole Size, pixels, threads int) Size {
	rows := max(leastRows*threads, int(math.Sqrt(float64(pixels))))
	rows = min(rows, max(whole.Height-edge, 1))
	// With whole rows, more of them fit.
	if columns := (pixels + rows - 1) / rows; columns >= whole.Width-edge {
		rows = min(max(rows, pixels/max(whole.Width-edge, 1)), max(whole.Height-edge, 1))
	}
	columns := (pixels + rows - 1) / rows
	return Size{Width: min(columns+edge, whole.Width), Height: min(rows+edge, whole.Height)}
}

// work is the number of filtered pixels.
func work(edge int, s Size) float64 {
	return max(float64(s.Width-edge), 1) * max(float64(s.Height-edge), 1)
}

func timeOnce(ctx context.Context, c contender, p kernels.Planned, src *pipeline.Frame, threads int) (time.Duration, error) {
	plan, err := c.cpu.Plan(p, src.Format, threads)
	if err != nil {
		return 0, err
	}
	dst := pipeline.Blank(src.Format)
	start := time.Now()
	err = plan.Filter(ctx, dst, src)
	return max(time.Since(start), 1), err
}
