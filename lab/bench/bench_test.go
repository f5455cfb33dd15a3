package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/gpu"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

var tiny = Options{Quick: true, Sizes: []Size{{Width: 32, Height: 24}}, Radii: []int{1, 5}}

// temporary gives a test its own folder for temporary files, which must be empty at the end.
func temporary(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Cleanup(func() {
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	})
}

// TestAll measures everything at a tiny size.
func TestAll(t *testing.T) {
	if !testdriver.OnDriver(t, testdriver.Folder, "leaks=1") {
		return
	}
	temporary(t)
	o := tiny
	o.Verbose = true
	report, err := Run(context.Background(), o)
	e2e.Must(t, err)
	if report.NoGPU != "" || report.Machine.GPU == nil || report.Machine.GPU.Multiprocessors != 16 || report.Machine.CPU == "" {
		t.Errorf("machine %+v, no GPU: %q", report.Machine, report.NoGPU)
	}
	holdDenoise(t, report.Denoise, "gpu", "cpu")
	holdFilters(t, report.Filters, 6)
	holdKernels(t, report.Kernel)
	holdSteps(t, report.Step)
	holdJobs(t, report.End, 4)
	holdCPU(t, report.CPU, true)
	holdJSON(t, report)
}

func holdStat(t *testing.T, what string, s Stat) {
	t.Helper()
	if !(s.Least > 0 && s.Least <= s.Median && s.Median <= s.Most) || s.N < 1 {
		t.Errorf("%s: %+v", what, s)
	}
}

// holdDenoise expects each quality at 8 and 10 bits on each device.
func holdDenoise(t *testing.T, s *DenoiseSection, devices ...string) {
	t.Helper()
	var rows []string
	for _, row := range s.Rows {
		name := row.Device + " " + row.Layout + " " + row.Quality
		rows = append(rows, name)
		holdStat(t, name, row.Time)
		onGPU := row.Device == "gpu"
		if row.FPS <= 0 || row.Floor <= 0 || row.Check.Largest > 2 || (row.Kernels != nil) != onGPU || (len(row.Each) >= 8) != onGPU {
			t.Errorf("%+v", row)
		}
		if row.NLMeans > 0 && (onGPU || row.Layout != "yuv420p") {
			t.Errorf("%s: nlmeans takes %g ms", name, row.NLMeans)
		}
		for _, k := range row.Each {
			if k.Time <= 0 || k.Time > row.Kernels.Median || !strings.HasPrefix(k.Kernel, "denoise_") {
				t.Errorf("%s: %+v", name, k)
			}
		}
	}
	var want []string
	for _, device := range devices {
		for _, layout := range []string{"yuv420p", "yuv420p10le"} {
			for _, quality := range []string{"fast", "good", "best"} {
				want = append(want, device+" "+layout+" "+quality)
			}
		}
	}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q", rows)
	}
}

func holdFilters(t *testing.T, s *FiltersSection, rows int) {
	t.Helper()
	if len(s.Rows) != rows || s.Peak.Operations <= 0 || s.Peak.Bytes <= 0 || s.Peak.Differences <= 0 {
		t.Fatalf("%+v", s)
	}
	for _, row := range s.Rows {
		holdStat(t, row.Filter, row.Time)
		if row.FPS <= 0 || row.Floor <= 0 || row.Check.Largest > 1 {
			t.Errorf("%+v", row)
		}
	}
}

// TestDenoiseOperations: the count follows the passes and the samples.
func TestDenoiseOperations(t *testing.T) {
	count := func(q kernels.Quality, l pipeline.Layout) float64 {
		p := kernels.DefaultDenoise()
		p.Quality = q
		return denoiseOperations(p, measure.FormatOf(l, Size{Width: 100, Height: 100}))
	}
	fast, good, best := count(kernels.Fast, pipeline.YUV420P), count(kernels.Good, pipeline.YUV420P), count(kernels.Best, pipeline.YUV420P)
	// A sample of fast: 64 (7*22 + 10) / 25. Of good: the same by 16, and 256 (7*26 + 2*14) / 36.
	// Best has 13 frames in the second pass.
	if want := 15000 * 64. * 164 / 25; fast != want {
		t.Errorf("fast: %g operations, want %g", fast, want)
	}
	if want := 15000 * (64.*164/16 + 256.*210/36); math.Abs(good-want) > 1 {
		t.Errorf("good: %g operations, want %g", good, want)
	}
	if more := 15000 * 256. * 6 * 26 / 36; math.Abs(best-good-more) > 1 || count(kernels.Good, pipeline.YUV420P.At(10)) != good {
		t.Errorf("best: %g operations, good %g", best, good)
	}
}

func holdKernels(t *testing.T, s *KernelSection) {
	t.Helper()
	var names, chosen []string
	for _, row := range s.Rows {
		name := row.Layout + " " + row.Variant
		holdStat(t, name, row.Time)
		if row.GBps <= 0 || row.Floor <= 0 || row.Share != row.Floor/row.Time.Median || row.Check.Largest > 1 {
			t.Errorf("%+v", row)
		}
		names = append(names, name)
		if row.Chosen {
			chosen = append(chosen, name)
		}
	}
	slices.Sort(names)
	slices.Sort(chosen)
	want := []string{
		"nv12 tensor_lorentzian_r5", "nv12 tile_lorentzian_r1", "rgba sliding_lorentzian_r1",
		"rgba tensor_lorentzian_r5", "rgba tile_lorentzian_r1", "rgba tile_lorentzian_r5", "yuv420p tensor_lorentzian_r5",
		"yuv420p tile_lorentzian_r1", "yuv420p10le tensor_lorentzian_r5_16", "yuv420p10le tile_lorentzian_r1_16",
	}
	if !slices.Equal(names, want) {
		t.Errorf("kernels %q", names)
	}
	for _, name := range want {
		planes := !strings.HasPrefix(name, "rgba")
		best := planes || strings.Contains(name, "sliding") || strings.Contains(name, "tensor")
		if slices.Contains(chosen, name) != best {
			t.Errorf("%s: chosen is %v", name, !best)
		}
	}
	if s.CopyGBps <= 0 {
		t.Errorf("a copy moves %g GB/s", s.CopyGBps)
	}
}

func holdSteps(t *testing.T, s *StepSection) {
	t.Helper()
	if len(s.Rows) != 2*3*mostStreams {
		t.Fatalf("%d rows", len(s.Rows))
	}
	for i, row := range s.Rows {
		holdStat(t, "step", row.Time)
		holdStat(t, "bus", row.Bus)
		if row.Streams != i%mostStreams+1 || row.CopyIn <= 0 || row.Kernel <= 0 || row.CopyOut <= 0 || row.Overlap < 0.5 || row.Overlap > 3 {
			t.Errorf("%+v", row)
		}
	}
}

func holdJobs(t *testing.T, s *EndSection, rows int) {
	t.Helper()
	all := slices.DeleteFunc(slices.Clone(s.Rows), func(row EndRow) bool { return row.Decoder == "nvdec" && row.Skipped != "" })
	if len(all) != rows {
		t.Fatalf("%d rows", len(all))
	}
	for _, row := range all {
		holdStat(t, "job", row.Time)
		holdStat(t, "job without a filter", row.Plain)
		if row.Frames != 24 || row.Ratio != row.Time.Median/row.Plain.Median || row.FPS <= 0 || row.Skipped != "" || row.Floor <= 0 || row.Floor > 1.2*row.Time.Most || min(row.Stages[0], row.Stages[1], row.Stages[2]) <= 0 {
			t.Errorf("%+v", row)
		}
	}
}

func holdCPU(t *testing.T, s *CPUSection, beside bool) {
	t.Helper()
	if len(s.Rows) != 2 {
		t.Fatalf("%d rows", len(s.Rows))
	}
	for _, row := range s.Rows {
		holdStat(t, "CPU", row.CPU)
		if (row.GPU != nil) != beside {
			t.Errorf("%+v", row)
		}
	}
}

// holdJSON: the document has every section, even empty ones.
func holdJSON(t *testing.T, report *Report) {
	t.Helper()
	b, err := json.Marshal(report)
	var all map[string]any
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	e2e.Must(t, err)
	for _, key := range append(Sections(), "version", "date", "machine", "no_gpu") {
		if _, ok := all[key]; !ok {
			t.Errorf("no %s in %s", key, b)
		}
	}
}

func TestCPUOnly(t *testing.T) {
	temporary(t)
	o := tiny
	o.CPU = true
	report, err := Run(context.Background(), o)
	e2e.Must(t, err)
	if report.NoGPU == "" || report.Machine.GPU != nil || report.Kernel != nil || report.Step != nil {
		t.Errorf("%+v", report)
	}
	holdDenoise(t, report.Denoise, "cpu")
	holdFilters(t, report.Filters, 4)
	holdJobs(t, report.End, 2)
	holdCPU(t, report.CPU, false)
	holdJSON(t, report)
}

// TestNoGPU: without a GPU the report has the reason. It is an error only if a GPU is required.
func TestNoGPU(t *testing.T) {
	if !testdriver.OnDriver(t, testdriver.Folder, "init=100") {
		return
	}
	o := tiny
	o.Only = []string{SectionKernel, SectionCPU}
	report, err := Run(context.Background(), o)
	if err != nil || report.NoGPU != "the driver finds no GPU" || report.Kernel != nil || report.CPU == nil {
		t.Errorf("%v, %+v", err, report)
	}
	o.NeedGPU = true
	if _, err := Run(context.Background(), o); !errors.Is(err, gpu.ErrDevice) {
		t.Errorf("a GPU was insisted on: %v", err)
	}
	o = tiny
	o.Only = []string{SectionStep, SectionKernel}
	if _, err := Run(context.Background(), o); !errors.Is(err, gpu.ErrDevice) {
		t.Errorf("there is nothing to measure without a GPU: %v", err)
	}
}

// wrongDriver is the test driver with one kernel that has the wrong range weight.
func wrongDriver(t *testing.T, name string) func() (string, error) {
	return func() (string, error) {
		v, err := kernels.Named(name)
		if err != nil {
			return "", err
		}
		flags := strings.Join(v.Flags(), " ")
		wrong := strings.Replace(flags, "-DVF_RANGE=0", "-DVF_RANGE=1", 1)
		if wrong == flags {
			return "", errors.New("nothing is wrong with " + flags)
		}
		list := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(list, []byte(name+" "+v.SourceFile()+" "+wrong+"\n"), 0o600); err != nil {
			return "", err
		}
		return testdriver.Build(list)
	}
}

// TestWrongKernel: a kernel with wrong results is not timed.
func TestWrongKernel(t *testing.T) {
	const name = "tile_lorentzian_r2"
	if !testdriver.OnDriver(t, wrongDriver(t, name), "") {
		return
	}
	report, err := Run(context.Background(), Options{Quick: true, Sizes: tiny.Sizes, Radii: []int{2}, Only: []string{SectionKernel}, Kernel: name})
	var wrong *WrongResult
	if !errors.As(err, &wrong) || !errors.Is(err, gpu.ErrDevice) || !strings.HasPrefix(wrong.What, name+" ") {
		t.Errorf("error %v", err)
	}
	if len(report.Kernel.Rows) > 0 {
		t.Errorf("times %+v", report.Kernel.Rows)
	}
}

// TestNamedKernels: a glob selects exactly the kernels it names.
func TestNamedKernels(t *testing.T) {
	if !testdriver.OnDriver(t, testdriver.Folder, "compute=61") {
		return
	}
	o := Options{Quick: true, Sizes: tiny.Sizes, Radii: []int{1, 5}, Only: []string{SectionKernel}, Kernel: "t*_gaussian_*"}
	report, err := Run(context.Background(), o)
	if err != nil || len(report.Kernel.Rows) != 2*3+1 { // deep ones stop at radius 4
		t.Fatalf("%v, %+v", err, report.Kernel)
	}
	for _, row := range report.Kernel.Rows {
		if !strings.HasPrefix(row.Variant, "tile_gaussian_r") {
			t.Errorf("%s on a device that is too old for tensor kernels", row.Variant)
		}
	}
}

// TestCancelled: after a cancellation at any point, the report has the earlier measurements and no
// file is left.
func TestCancelled(t *testing.T) {
	temporary(t)
	why := errors.New("enough")
	for _, at := range []string{"measuring: end", "drawing", "no filter", "cpu at radius 5", "measuring: cpu"} {
		ctx, cancel := context.WithCancelCause(context.Background())
		o := tiny
		o.CPU = true
		met := false
		o.Log = terminal.LogTo(slog.LevelInfo, func(_ slog.Level, msg string) {
			if strings.Contains(msg, at) {
				met = true
				cancel(why)
			}
		})
		report, err := Run(ctx, o)
		if err == nil || !errors.Is(context.Cause(ctx), why) || !met {
			t.Errorf("at %q: %v, met: %v", at, err, met)
		}
		if at == "measuring: cpu" && (report.End == nil || len(report.End.Rows) != 2) {
			t.Errorf("at %q the jobs are lost: %+v", at, report.End)
		}
		cancel(nil)
	}
}

// TestInput: a given video replaces the clips; an unreadable one is the decoder's error.
func TestInput(t *testing.T) {
	o := Options{Quick: true, CPU: true, Only: []string{SectionEnd}, Radii: []int{1}, Input: "../../samples/noisy.mp4"}
	report, err := Run(context.Background(), o)
	e2e.Must(t, err)
	holdJobs(t, report.End, 1)
	if row := report.End.Rows[0]; row.Clip != "noisy.mp4" || row.Size != (Size{Width: 640, Height: 360}) {
		t.Errorf("%+v", row)
	}
	o.Input = "missing.mp4"
	if _, err := Run(context.Background(), o); !errors.Is(err, decode.ErrUnreadable) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestWays: whole jobs are measured with NVDEC and NVENC, or the row has the reason why not.
func TestWays(t *testing.T) {
	for encoder, why := range map[string]string{"": "", "none=1": "cuda:0 (vidfilter test device) has no NVENC"} {
		t.Run("encoder "+encoder, func(t *testing.T) {
			if !testdriver.OnDriver(t, testdriver.Folder, "leaks=1") {
				return
			}
			cpu, err := kernels.NewCPU(1, "")
			e2e.Must(t, err)
			defer cpu.Close()
			clip, err := makeClip(t.Context(), cpu, t.TempDir(), Size{Width: 192, Height: 144}, 24)
			e2e.Must(t, err)
			surfaces := filepath.Join(t.TempDir(), "surfaces")
			writeSurfaces(t, cpu, clip, surfaces)
			t.Setenv(testdriver.DecoderVariable, "again=1,frames="+surfaces)
			t.Setenv(testdriver.EncoderVariable, encoder)
			report, err := Run(context.Background(), Options{Quick: true, Only: []string{SectionEnd}, Radii: []int{1}, Input: clip})
			e2e.Must(t, err)
			var ways []string
			for _, row := range report.End.Rows {
				ways = append(ways, strings.TrimSpace(row.Decoder+" "+row.Device+" "+row.Encoder+" "+row.Skipped))
			}
			want := []string{"cpu gpu x264", "cpu cpu x264", "nvdec gpu x264", strings.TrimSpace("nvdec gpu nvenc " + why)}
			if !slices.Equal(ways, want) {
				t.Errorf("%q", ways)
			}
			holdJobs(t, report.End, 4-min(len(why), 1))
			var b strings.Builder
			if err := report.Document().WriteText(&b); err != nil || !strings.Contains(b.String(), "nvdec gpu nvenc at radius 1 is left out: "+why) != (why == "") {
				t.Errorf("%v:\n%s", err, b.String())
			}
		})
	}
}

// writeSurfaces writes the pictures of a clip in 4:2:0 and 8 bits for the test driver's NVDEC.
func writeSurfaces(t *testing.T, cpu *kernels.CPU, clip, file string) {
	t.Helper()
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	in, err := decode.Open(t.Context(), clip, pool, decode.Options{})
	e2e.Must(t, err)
	defer in.Close()
	var b bytes.Buffer
	for {
		f, err := in.Next(t.Context())
		if err == io.EOF {
			break
		}
		e2e.Must(t, err)
		if b.Len() == 0 {
			err = testdriver.Surfaces(&b, f.Width, f.Height, 0, 0, 1, 2)
		}
		_, rows := f.PlaneSize(0)
		for y := range rows {
			b.Write(f.Row(0, y))
		}
		_, rows = f.PlaneSize(1)
		for y := range rows {
			for x, u := range f.Row(1, y) {
				b.Write([]byte{u, f.Row(2, y)[x]})
			}
		}
		f.Release()
		e2e.Must(t, err)
	}
	e2e.Must(t, os.WriteFile(file, b.Bytes(), 0o600))
}

// TestDocument: every section is printed, with a dash for a missing GPU.
func TestDocument(t *testing.T) {
	time, skipped := Stat{Median: 2, Least: 1, Most: 3, N: 3}, "the filter alone would take 99 s"
	r := &Report{
		Denoise: &DenoiseSection{Rows: []DenoiseRow{
			{FilterRow: FilterRow{Device: "gpu", Size: size1080, Layout: "yuv420p10le", Time: time, FPS: 123.4}, Quality: "good", Kernels: &time,
				Each: []DenoisePart{{"denoise_coarsest_16", 123456, 1024, 123456, 1.234}}},
			{FilterRow: FilterRow{Device: "cpu", Size: size1080, Layout: "yuv420p", Time: time, FPS: 1234}, Quality: "fast", NLMeans: 1500}}},
		Filters: &FiltersSection{Rows: []FilterRow{{Device: "gpu", Size: size1080, Layout: "yuv420p10le", Filter: "deinterlace", Time: time, FPS: 500}}},
		Start:   &StartSection{Rows: []StartRow{{"a job of one picture, 64x64", time, time}}},
		Kernel:  &KernelSection{Rows: []KernelRow{{Variant: "tile", Chosen: true, Time: time}}},
		Step:    &StepSection{Rows: []StepRow{{Streams: 2, Time: time}}},
		End: &EndSection{Rows: []EndRow{{Clip: "a.mp4", Decoder: "cpu", Device: "cpu", Encoder: "x264", Skipped: skipped},
			{Clip: "a-long-name-1920x1080.mp4", Size: size1080, Radius: 15, Decoder: "nvdec", Device: "gpu", Encoder: "nvenc", Frames: 12345, Time: time, Plain: time}}},
		CPU:  &CPUSection{Rows: []CPURow{{CPU: time}}},
		Live: &LiveSection{Rows: []LiveRow{{Device: "cpu", Late: 7}}},
	}
	var b strings.Builder
	e2e.Must(t, r.Document().WriteText(&b))
	for _, want := range []string{"     1500    750 ", "denoise_coarsest_16  123456     1024", "tile *", "\nStep: ", "a.mp4 by cpu cpu x264 at radius 0 is left out: " + skipped, "nvdec gpu nvenc", "500       -    -      -", "7.000", " deinterlace  2.000 ", "\nStages ", "64x64         2.000  1.000"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 101 {
			t.Errorf("more than 100 columns: %s", line)
		}
	}
}
