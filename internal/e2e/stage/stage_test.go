package stage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/app/job"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/pipeline"
)

// Flags choose and set the filters by the table, and give a job's stages in their order.
func TestFlags(t *testing.T) {
	for args, want := range map[string][]kernels.Stage{
		"":                                {kernels.DefaultDenoise()},
		"--filter invert":                 {invert{Part: 1}},
		"--amount 0.5":                    {invert{Part: 0.5}},
		"--planes 02":                     {invert{Part: 1, Planes: "02"}},
		"--negative 1":                    {kernels.DefaultDenoise(), negative{1}},
		"-r 2 --negative 0.5":             {kernels.DefaultBilateral(2), negative{0.5}},
		"--filter recursive --negative 0": {kernels.DefaultRecursive()},
		"--negative 1 --filter invert --amount 0": {invert{}, negative{1}},
	} {
		o, err := job.Parse(append([]string{"-i", "in.mp4", "-o", "out.mp4"}, strings.Fields(args)...), nil)
		if err != nil || !slices.Equal(o.Stages(), want) {
			t.Errorf("%s: %v, %v, not %v", args, o, err, want)
		}
	}
	for args, want := range map[string]string{
		"--amount 2":                  "must be a number, 0 to 1",
		"--planes 3":                  "planes are 0, 1 and 2",
		"--negative x":                "must be a number, 0 to 1",
		"--amount 1 -r 3":             "--amount is an option of the invert filter, -r/--radius of the bilateral filter",
		"--filter denoise --amount 1": "--amount is an option of the invert filter, not of the denoise filter",
	} {
		_, err := job.Parse(append([]string{"-i", "in.mp4", "-o", "out.mp4"}, strings.Fields(args)...), nil)
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
	o, err := job.Parse([]string{"-i", "in.mp4", "-o", "out.mp4"}, []string{"VIDFILTER_NEGATIVE=1", "VIDFILTER_PLANES=1"})
	if want := []kernels.Stage{invert{Part: 1, Planes: "1"}, negative{1}}; err != nil || !slices.Equal(o.Stages(), want) {
		t.Errorf("by the environment: %v, %v", o, err)
	}
}

// The page and its JSON have the options.
func TestJSON(t *testing.T) {
	f := live.FilterOf(kernels.Selection{}, "auto")
	var changes map[string]any
	e2e.Must(t, json.Unmarshal([]byte(`{"filter": "invert", "amount": 0.25, "planes": "0", "negative": 1}`), &changes))
	e2e.Must(t, f.Apply(changes))
	if want := []kernels.Stage{invert{0.25, "0"}, negative{1}}; !slices.Equal(f.Stages(), want) {
		t.Errorf("%v, not %v", f.Stages(), want)
	}
	text, err := json.Marshal(f)
	e2e.Must(t, err)
	if !strings.Contains(string(text), `"amount":0.25`) || !strings.Contains(string(text), `"planes":"0"`) || !strings.Contains(string(text), `"negative":1`) {
		t.Errorf("%s", text)
	}
	if got, want := f.Args(), strings.Fields("--filter invert --amount 0.25 --planes 0 --negative 1"); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if f.Apply(map[string]any{"planes": "7"}) == nil || f.Apply(map[string]any{"planes": 7.0}) == nil {
		t.Error("planes that there are not were taken")
	}
	var names []string
	for _, c := range f.Controls() {
		names = append(names, c.Name)
	}
	if want := []string{"filter", "amount", "planes", "crop", "sharpen", "deband", "negative", "scale", "field_order"}; !slices.Equal(names, want) {
		t.Errorf("controls: %q", names)
	}
}

// A backend opens the stages, and frames pass through them as a job's do.
func TestChain(t *testing.T) {
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	pool := pipeline.NewPool(cpu, 2)
	defer pool.Close()
	o, err := job.Parse(strings.Fields("-i in.mp4 -o out.mp4 --amount 0.5 --planes 0 --negative 1"), nil)
	e2e.Must(t, err)
	in := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: 6, Height: 4, Matrix: pipeline.BT709})
	for i, y := range in.Rows() {
		for x := range in.Row(i, y) {
			in.Row(i, y)[x] = byte(40*x + 7*y + i)
		}
	}
	emit := func(out *pipeline.Frame) error {
		for i, y := range in.Rows() {
			for x, v := range in.Row(i, y) {
				if i == 0 {
					v = invert{Part: 0.5}.reference(v)
				}
				if got, want := out.Row(i, y)[x], 255-v; got != want {
					t.Errorf("plane %d at %d, %d: %d, not %d", i, x, y, got, want)
				}
			}
		}
		out.Release()
		return nil
	}
	for _, s := range slices.Backward(o.Stages()) {
		f, err := cpu.Filter(s, pool)
		e2e.Must(t, err)
		next := emit
		emit = func(frame *pipeline.Frame) error { return f.Process(context.Background(), frame, next) }
	}
	e2e.Must(t, emit(in.Retain()))
}
