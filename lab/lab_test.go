package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/lab/measure"
	"vidfilter/lab/papers"
)

// tiny runs the whole lab on pictures a few dozen pixels wide.
var tiny = Options{Quick: true, Shrink: 64}

// TestAll runs every experiment at a tiny size, on the CPU and on the test driver: each variant of
// the lists has its row. -short runs two papers only.
func TestAll(t *testing.T) {
	if !testdriver.OnDriver(t, testdriver.Folder, "leaks=1") {
		return
	}
	o, papers := tiny, PaperIDs()
	if testing.Short() {
		papers = []string{"001", "002"}
		o.Papers = papers
	}
	report, err := Run(context.Background(), o)
	e2e.Must(t, err)
	if report.NoGPU != "" || report.Machine.GPU == nil {
		t.Errorf("no GPU: %q", report.NoGPU)
	}
	names := map[string]bool{}
	for _, e := range report.Experiments {
		holdExperiment(t, e)
		for _, row := range e.Rows {
			names[row.Name] = true
		}
	}
	want := slices.DeleteFunc(experiments(), func(e *experiment) bool { return !e.wanted(o) })
	if len(report.Experiments) != len(want) {
		t.Errorf("%d experiments of %d have rows", len(report.Experiments), len(want))
	}
	holdNames(t, papers, names)
	holdBaselines(t, report)
	holdJSON(t, report)
	holdFloors(t, report)
}

// holdFloors: kernels of the recursive filter have a floor, the time of their bytes alone.
func holdFloors(t *testing.T, r *Report) {
	t.Helper()
	i := slices.IndexFunc(r.Experiments, func(e Experiment) bool { return e.ID == "002-speed" })
	if i < 0 {
		t.Fatal("002-speed is missing")
	}
	for _, row := range r.Experiments[i].Rows {
		if (row.Where == "gpu") != (row.Floor > 0) {
			t.Errorf("%s on the %s: a floor of %g ms", row.Name, row.Where, row.Floor)
		}
	}
}

func holdExperiment(t *testing.T, e Experiment) {
	t.Helper()
	for _, row := range e.Rows {
		timed := row.Time.N > 0 && row.Time.Least > 0 && row.Time.Least <= row.Time.Median && row.Time.Median <= row.Time.Most
		if !timed && row.Name != "reference" || row.Check.Largest > 1 || row.Part <= 0 || row.Part > 1 || row.Paper != nil {
			t.Errorf("%s: %+v", e.ID, row)
		}
		if (row.turns != nil) != (row.Threads > 0) || row.turns != nil && row.Time.N != cpuTurns {
			t.Errorf("%s: %s on %d threads was timed %d times", e.ID, row.Name, row.Threads, row.Time.N)
		}
		if e.Axis == "kappa" && (row.MSE == nil || row.Kappa == nil) {
			t.Errorf("%s: no error: %+v", e.ID, row)
		}
	}
	table := e.Table()
	if len(table.Rows) != len(e.Rows) || table.Columns[0].Right {
		t.Errorf("%s: a table of %d rows for %d", e.ID, len(table.Rows), len(e.Rows))
	}
}

// holdNames: one of several configurations may be missing because others were faster in every
// trial, but its version is there.
func holdNames(t *testing.T, papers []string, names map[string]bool) {
	t.Helper()
	for _, id := range papers {
		for _, group := range versions(contenders(id)) {
			if !slices.ContainsFunc(group, func(c contender) bool { return names[c.name] }) {
				t.Errorf("%s: version %s, %s, has no row", id, group[0].Version, group[0].name)
			}
		}
	}
}

// holdBaselines: the sequential form is as fast as itself, and rows beside it have a speed-up.
func holdBaselines(t *testing.T, r *Report) {
	t.Helper()
	for _, e := range r.Experiments {
		if !strings.HasPrefix(e.ID, "000-5") && !strings.HasPrefix(e.ID, "001") {
			continue
		}
		for _, row := range e.Rows {
			if row.Sequential <= 0 || row.Version == baselines[e.Paper].sequential && row.Sequential != 1 {
				t.Errorf("%s: over sequential: %+v", e.ID, row)
			}
			if naive := baselines[e.Paper].naive; row.Where == "gpu" && naive != "" && row.Naive <= 0 {
				t.Errorf("%s: over naive: %+v", e.ID, row)
			}
		}
	}
}

func holdJSON(t *testing.T, r *Report) {
	t.Helper()
	data, err := json.Marshal(r)
	e2e.Must(t, err)
	again := new(Report)
	e2e.Must(t, json.Unmarshal(data, again))
	if fmt.Sprint(again.Summary()) != fmt.Sprint(r.Summary()) || len(r.Summary().Rows) < 1 {
		t.Errorf("a report that was read again says %v, not %v", again.Summary(), r.Summary())
	}
	for i, e := range again.Experiments {
		if fmt.Sprint(e.Table()) != fmt.Sprint(r.Experiments[i].Table()) {
			t.Errorf("%s: another table when it was read again", e.ID)
		}
	}
}

// TestPortion: a part is square, within the picture, and has enough rows for the threads. A
// request for all pixels returns the whole picture.
func TestPortion(t *testing.T) {
	sized := func(width, height int) Size { return Size{Width: width, Height: height} }
	for _, c := range []struct {
		edge            int
		whole           Size
		pixels, threads int
		want            Size
	}{
		{20, sized(3000, 3000), 10000, 1, sized(120, 120)},
		{20, sized(3000, 3000), 10000, 16, sized(99, 148)},
		{20, sized(3000, 100), 160000, 1, sized(2020, 100)},
		{20, sized(100, 3000), 160000, 1, sized(100, 2020)},
		{20, sized(3000, 3000), 1 << 30, 2, sized(3000, 3000)},
		{20, sized(15, 15), 100, 2, sized(15, 15)},
		{0, sized(3000, 3000), 10000, 1, sized(100, 100)},
		{0, sized(64, 40), 1 << 20, 4, sized(64, 40)},
	} {
		if got := portion(c.edge, c.whole, c.pixels, c.threads); got != c.want {
			t.Errorf("%d pixels of %s for %d threads: %s, want %s", c.pixels, c.whole, c.threads, got, c.want)
		}
	}
}

// TestApproximations checks algorithms A, C and D of 002 as the experiments run them, on the
// unshrunk check picture.
func TestApproximations(t *testing.T) {
	if !testdriver.OnDriver(t, testdriver.Folder, "") {
		return
	}
	r := &run{o: Options{Log: slog.New(slog.DiscardHandler)}, answers: map[string]*answer{}, seen: map[string]measure.Check{}}
	var err error
	if r.Backends, err = measure.Open(false, nil, true); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all, err := r.recursive()
	e2e.Must(t, err)
	for _, sigma := range ferreiraSigmas {
		for _, c := range all {
			for _, kappa := range []float64{0, 0.5, 2, 3} {
				if c.Approximation.Algorithm == papers.AlgorithmA && kappa > 0 {
					continue
				}
				c := c.approximate(func(a *papers.Approximation) { a.Kappa = kappa })
				if _, err := r.check(context.Background(), c, recursiveParams(sigma)); err != nil {
					t.Errorf("kappa %g: %v", kappa, err)
				}
			}
		}
	}
}

// TestNoGPU: without a GPU, its rows are left out and the report has the reason.
func TestNoGPU(t *testing.T) {
	o := tiny
	o.CPU, o.Papers = true, []string{"001", "004"}
	report, err := Run(context.Background(), o)
	e2e.Must(t, err)
	if report.NoGPU != "only the CPU was asked for" || len(report.Experiments) != 3 {
		t.Errorf("%d experiments, no GPU: %q", len(report.Experiments), report.NoGPU)
	}
	for _, e := range report.Experiments {
		for _, row := range e.Rows {
			if row.Where != "cpu" || e.Paper != "001" && e.Paper != "004" {
				t.Errorf("%s: %+v", e.ID, row)
			}
		}
	}
}

// TestKernel times only the named variants.
func TestKernel(t *testing.T) {
	o := tiny
	o.CPU, o.Kernel = true, "cpu_akers*"
	report, err := Run(context.Background(), o)
	e2e.Must(t, err)
	for _, e := range report.Experiments {
		if e.Paper != "001" || len(e.Rows) != 2 {
			t.Errorf("%s has %d rows", e.ID, len(e.Rows))
		}
	}
	if len(report.Experiments) != 2 {
		t.Errorf("%d experiments", len(report.Experiments))
	}
}

// TestWrongResult: a wrong result of a GPU is a device error, and earlier measurements are
// returned.
func TestWrongResult(t *testing.T) {
	r := &run{o: tiny, answers: map[string]*answer{}, seen: map[string]measure.Check{}}
	c := contenders("001")[0]
	p := c.Adapt(videoParams())
	a, err := r.answer(c.answerKey(p), c.reference(p))
	e2e.Must(t, err)
	if _, err := r.check(context.Background(), c, p); err != nil {
		t.Fatal(err)
	}
	clear(r.seen)
	a.want.Row(0, 5)[8] ^= 0x80
	wrong := new(measure.WrongResult)
	if _, err := r.check(context.Background(), c, p); !errors.As(err, &wrong) || errors.Is(err, gpu.ErrDevice) {
		t.Errorf("a result that is off by 128 is %v", err)
	}
}

func TestDriverFault(t *testing.T) {
	if !testdriver.OnDriver(t, testdriver.Folder, "launch=2") {
		return
	}
	o := tiny
	o.Papers = []string{"001"}
	report, err := Run(context.Background(), o)
	if !errors.Is(err, gpu.ErrDevice) || len(report.Experiments) == 0 {
		t.Errorf("%d experiments, %v", len(report.Experiments), err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	o := tiny
	o.CPU = true
	if _, err := Run(ctx, o); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestFigures checks the papers' figures against the ratios in their own tables.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		figures           []Published
		version           string
		size              Size
		radius            int
		sequential, naive float64
	}{
		{thesisFigures(), "4", thesisSizes[0], 1, 34.4398, 1.04324},
		{thesisFigures(), "8", thesisSizes[0], 15, 33.3439, 0.92075},
		{thesisFigures(), "6", thesisSizes[1], 7, 36.0606, 0.974006},
		{thesisFigures(), "4", thesisSizes[1], 13, 39.7964, 0},
		{thesisFigures(), "8", thesisSizes[2], 5, 41.2443, 0},
		{thesisFigures(), "7", thesisSizes[2], 15, 38.2008, 0.985289},
		{akersFigures(), versionCUDA, size8K, 1, 101.799, 0},
		{staalFigures(), "5", size2M, 10, 1653, 2.545 / 0.162},
	} {
		i := slices.IndexFunc(c.figures, func(p Published) bool { return p.Version == c.version && p.Size == c.size && p.Radius == c.radius })
		if i < 0 {
			t.Errorf("version %s at radius %d on %s is missing", c.version, c.radius, c.size)
			continue
		}
		p := c.figures[i]
		if math.Abs(p.Sequential/c.sequential-1) > 1e-3 || math.Abs(p.Naive-c.naive) > 1e-3*c.naive {
			t.Errorf("version %s at radius %d on %s: %g and %g, want %g and %g", c.version, c.radius, c.size, p.Sequential, p.Naive, c.sequential, c.naive)
		}
	}
}

// TestFiguresHaveRows: each figure of a paper belongs to a measured version, and one over the
// naive kernel to a GPU version.
func TestFiguresHaveRows(t *testing.T) {
	for _, e := range experiments() {
		all := contenders(e.Paper)
		for _, p := range e.figures {
			i := slices.IndexFunc(all, func(c contender) bool { return c.Version == p.Version })
			if p.Version == versionCPU { // the program's own filter stands in for the paper's
				continue
			}
			if i < 0 || p.Naive > 0 && all[i].gpu == nil || p.Sequential == 1 && all[i].cpu == nil {
				t.Errorf("%s: version %s on %s at radius %d: %+v", e.ID, p.Version, p.Size, p.Radius, p)
			}
		}
	}
}

func TestList(t *testing.T) {
	all := List(nil, 0, "none here")
	if len(all) != len(Names()) {
		t.Errorf("%d entries, %d names", len(all), len(Names()))
	}
	seen := map[string]bool{}
	for _, e := range all {
		if seen[e.Name] || e.Paper == "" || e.Version == "" || e.Title == "" || e.Does == "" || e.Runs != (e.On == "cpu") || e.Runs == (e.Why == "none here") {
			t.Errorf("%+v", e)
		}
		seen[e.Name] = true
	}
	for _, e := range List([]string{"001"}, 61, "") {
		if e.Paper != "001" || !e.Runs {
			t.Errorf("%+v", e)
		}
	}
	if !Any(nil, "cpu_*", true) || Any(nil, "paper", true) || !Any([]string{"001"}, "paper", false) || Any([]string{"000"}, "paper", false) {
		t.Error("Any takes papers and devices otherwise")
	}
}

func TestSteps(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 16: {1, 2, 4, 8, 16}} {
		if got := steps(n); !slices.Equal(got, want) {
			t.Errorf("%d threads: %v", n, got)
		}
	}
}
