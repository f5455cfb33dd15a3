package encode_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/live/livetest"
	"vidfilter/pipeline"
)

func TestMain(m *testing.M) {
	av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {})
	os.Exit(m.Run())
}

var program = livetest.Program

const sample = "../samples/noisy.mp4"

// rig is an open sample with the memory of its frames. When the test ends, every frame must be
// back.
type rig struct {
	in   *decode.Input
	pool *pipeline.Pool
	path string
	said []string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOf(t, sample)
}

func newRigOf(t *testing.T, input string) *rig {
	t.Helper()
	return newRigWith(t, input, decode.Options{Threads: 1, Frames: 12})
}

func newRigWith(t *testing.T, input string, o decode.Options) *rig {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	r := &rig{pool: pipeline.NewPool(cpu, 1), path: filepath.Join(t.TempDir(), "out")}
	r.in, err = decode.Open(context.Background(), input, r.pool, o)
	e2e.Must(t, err)
	t.Cleanup(func() {
		r.in.Close()
		if n := r.pool.InUse(); n != 0 {
			t.Errorf("%d blocks are still out", n)
		}
		r.pool.Close()
		_ = cpu.Close()
	})
	return r
}

// create prepares an output that is closed, again, when the test ends.
func (r *rig) create(t *testing.T, o encode.Options) *encode.Output {
	t.Helper()
	if o.Preset == "" && o.Encoder == "" {
		o.Preset = "ultrafast"
	}
	o.Threads = max(1, o.Threads)
	o.Log = terminal.LogTo(slog.LevelDebug, func(_ slog.Level, msg string) { r.said = append(r.said, msg) })
	out, err := encode.Create("file:"+r.path, encode.Template{Context: r.in.Context(), Video: r.in.Video(), Others: r.in.Others(), Facts: r.in.Facts, Look: r.in.Look}, o)
	e2e.Must(t, err)
	t.Cleanup(out.Close)
	r.in.OnPacket(out.WritePacket)
	return out
}

func (r *rig) next(t *testing.T) *pipeline.Frame {
	t.Helper()
	f, err := r.in.Next(context.Background())
	e2e.Must(t, err)
	return f
}

// lost returns a sentence for each loss that the finished file shows, and the number of losses
// reported before.
func (r *rig) lost(out *encode.Output) (list []string, told int) {
	for _, d := range fidelity.Compare(r.in.Facts(), out.Found(), out.Told()) {
		if d.Lost {
			list = append(list, d.String())
		}
		if d.Told {
			told++
		}
	}
	return list, told
}

// copyAll puts every frame and finishes.
func (r *rig) copyAll(out *encode.Output) (frames int, err error) {
	return r.copyChanged(out, func(int, *pipeline.Frame) {})
}

// copyVerified copies all and checks the file.
func (r *rig) copyVerified(out *encode.Output) (frames int, err error) {
	if frames, err = r.copyAll(out); err == nil {
		err = out.Verify()
	}
	return frames, err
}

// copyChanged puts every frame, with a change to frame n, and finishes.
func (r *rig) copyChanged(out *encode.Output, change func(n int, f *pipeline.Frame)) (frames int, err error) {
	ctx := context.Background()
	for {
		f, err := r.in.Next(ctx)
		if err == io.EOF {
			return frames, out.Finish(ctx)
		}
		if err != nil {
			return frames, err
		}
		change(frames, f)
		if err := out.Put(ctx, f); err != nil {
			return frames, err
		}
		frames++
	}
}

// changed encodes every frame with a change, and checks the file.
func (r *rig) changed(t *testing.T, o encode.Options, change func(n int, f *pipeline.Frame)) *encode.Output {
	t.Helper()
	out := r.create(t, o)
	if _, err := r.copyChanged(out, change); err != nil {
		t.Fatal(err)
	}
	if err := out.Verify(); err != nil {
		t.Error(err)
	}
	return out
}

// each passes every frame of the input to do.
func (r *rig) each(t *testing.T, do func(f *pipeline.Frame)) {
	t.Helper()
	for {
		f, err := r.in.Next(context.Background())
		if err == io.EOF {
			return
		}
		e2e.Must(t, err)
		do(f)
		f.Release()
	}
}

func TestWholeOutput(t *testing.T) {
	for _, format := range []string{"mp4", "mov", "matroska", "mpegts"} {
		t.Run(format, func(t *testing.T) {
			r := newRig(t)
			out := r.create(t, encode.Options{Format: format, CRF: 18})
			if n, err := r.copyVerified(out); err != nil || n != 12 {
				t.Fatalf("%d frames, %v", n, err)
			}
			if st, err := os.Stat(r.path); err != nil || st.Size() != out.Bytes() {
				t.Errorf("%v %v, %d bytes counted", st, err, out.Bytes())
			}
			out.Close()
			out.Close()
		})
	}
}

// Packets that the muxer finds invalid are counted, and the file is finished without them. When
// all of a stream's are, it is left out.
func TestRefusedPackets(t *testing.T) {
	for _, c := range []struct {
		name string
		bad  func(n int) bool
		want int64 // at least; -1: the stream is left out
	}{
		{"none", func(int) bool { return false }, 0},
		{"one", func(n int) bool { return n == 3 }, 1},
		{"all", func(int) bool { return true }, -1},
		{"all but one", func(n int) bool { return n > 1 }, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			out := r.create(t, encode.Options{Format: "mpegts", CRF: 18})
			audio, n := r.in.Others()[0].Index(), 0
			r.in.OnPacket(func(p *astiav.Packet) error {
				if p.StreamIndex() != audio {
					return out.WritePacket(p)
				}
				if n++; !c.bad(n) {
					return out.WritePacket(p)
				}
				short := astiav.AllocPacket() // AAC of one byte is too short for the muxer
				defer short.Free()
				if err := short.FromData([]byte{0x21}); err != nil {
					return err
				}
				short.SetStreamIndex(audio)
				for i := range 10 {
					short.SetPts(p.Pts() + int64(i))
					short.SetDts(p.Pts() + int64(i))
					if err := out.WritePacket(short); err != nil || c.want == 1 {
						return err
					}
				}
				return nil
			})
			if frames, err := r.copyVerified(out); err != nil || frames != 12 {
				t.Fatalf("%d frames: %v", frames, err)
			}
			damage := out.Damage()
			if got := damage["packets that mpegts refused"]; c.want >= 0 && (got < c.want || c.want == 0 && got > 0) {
				t.Errorf("%d packets refused, want %d", got, c.want)
			}
			if leftOut := damage["streams left out"] == 1; leftOut != (c.want < 0) || leftOut != strings.Contains(strings.Join(r.said, "\n"), "mpegts takes none of its first packets") {
				t.Errorf("%v: %v", damage, r.said)
			}
		})
	}
}

// A file that lost its end does not pass.
func TestVerifyFindsDamage(t *testing.T) {
	for _, format := range []string{"mp4", "matroska", "mpegts"} {
		t.Run(format, func(t *testing.T) {
			r := newRig(t)
			out := r.create(t, encode.Options{Format: format, CRF: 18})
			if _, err := r.copyAll(out); err != nil {
				t.Fatal(err)
			}
			e2e.Must(t, os.Truncate(r.path, out.Bytes()/2))
			if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Close without Finish frees the frames that the encoder holds.
func TestCloseWithoutFinish(t *testing.T) {
	r := newRig(t)
	out := r.create(t, encode.Options{Format: "mp4", Preset: "medium", CRF: 18})
	for range 6 {
		e2e.Must(t, out.Put(context.Background(), r.next(t)))
	}
	out.Close()
}

func TestFinishWithoutFrames(t *testing.T) {
	r := newRig(t)
	out := r.create(t, encode.Options{Format: "mp4"})
	if err := out.Finish(context.Background()); !errors.Is(err, target.ErrOutput) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(r.path); err == nil {
		t.Error("a file was written all the same")
	}
}

func params(t *testing.T, s string) spec.Params {
	t.Helper()
	p, err := video.ParseX264(s)
	e2e.Must(t, err)
	return p
}

// Check refuses options before there is an input; Put does at the first frame, which is given
// back.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		options        encode.Options
		checked, first string // parts of the errors
	}{
		{encode.Options{Format: "mp4", Encoder: "nonesuch"}, `no encoder "nonesuch"`, `no encoder "nonesuch"`},
		{encode.Options{Format: "mp4", Encoder: "aac"}, `"aac" is not for video`, `"aac" is not for video`},
		{encode.Options{Format: "mp4", PixelFormat: "nonesuch"}, `unknown pixel format "nonesuch"`, `unknown pixel format "nonesuch"`},
		{encode.Options{Format: "mp4", PixelFormat: "pal8"}, "does not take pal8", "does not take pal8"},
		{encode.Options{Format: "mp4", Preset: "nonesuch"}, "libx264 does not take these options: Error setting preset/tune nonesuch", "for 640x360 yuv420p"},
		{encode.Options{Format: "mp4", Params: params(t, "level=99")}, "invalid level_idc: 99", "libx264 does not take these options"},
		{encode.Options{Format: "mp4", Encoder: "ffv1", CRF: -1}, "mp4 cannot hold", "write the header"},
		// writable, but unreadable
		{encode.Options{Format: "mpegts", Encoder: "mjpeg", CRF: -1}, "mpegts cannot hold", ""},
		{encode.Options{Format: "matroska", Encoder: "ffv1", CRF: -1, Tune: "film"}, "no option --tune", "no option --tune"},
		{encode.Options{Format: "matroska", Encoder: "ffv1", CRF: 20}, "no option --crf", "no option --crf"},
	} {
		if err := video.Check(c.options); !errors.Is(err, video.ErrOption) || !strings.Contains(err.Error(), c.checked) {
			t.Errorf("Check of %+v: %v", c.options, err)
		}
		r := newRig(t)
		out := r.create(t, c.options)
		err := out.Put(context.Background(), r.next(t))
		if c.first != "" && (err == nil || !strings.Contains(err.Error(), c.first)) {
			t.Errorf("%+v: %v", c.options, err)
		}
		out.Close()
	}
	for _, o := range []encode.Options{
		{Format: "mp4", CRF: 18, Preset: "medium"}, {Format: "mpegts", Bitrate: 1e6}, {Format: "png", Encoder: "ffv1"}, {Format: "null", Encoder: "ppm", CRF: -1},
		{Format: "mov", Encoder: "ffv1", CRF: -1}, {Format: "matroska", Encoder: "rawvideo", CRF: -1}, {Format: "matroska", Encoder: "mjpeg", CRF: -1},
		{Format: "mp4", PixelFormat: "yuv444p10le", Params: params(t, "no-cabac=1:deblock=-1,-1")},
	} {
		if err := video.Check(o); err != nil {
			t.Errorf("Check of %+v: %v", o, err)
		}
	}
}

func TestUnwritablePlace(t *testing.T) {
	r := newRig(t)
	r.path = filepath.Join(t.TempDir(), "missing", "out.mp4")
	out := r.create(t, encode.Options{Format: "mp4"})
	if err := out.Put(context.Background(), r.next(t)); !errors.Is(err, target.ErrOutput) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// /dev/full accepts no data: the job gets the error, at the latest when it finishes.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full")
	}
	r := newRig(t)
	r.path = "/dev/full"
	out := r.create(t, encode.Options{Format: "mpegts", CRF: 18})
	if n, err := r.copyAll(out); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("%d frames, %v", n, err)
	}
}

func TestImageTakesOneFrame(t *testing.T) {
	r := newRig(t)
	out := r.create(t, encode.Options{Format: "png"})
	ctx := context.Background()
	e2e.Must(t, out.Put(ctx, r.next(t)))
	if err := out.Put(ctx, r.next(t)); !errors.Is(err, target.ErrOutput) {
		t.Errorf("a second picture: %v", err)
	}
	if err := out.Finish(ctx); err != nil {
		t.Error(err)
	}
}

// Whole jobs, one after the other in one process, do not make it grow.
func TestJobsLeakNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	// Each thread that has to wait for malloc makes itself an arena that stays: with one arena for
	// all, the memory of a process is telling.
	if os.Getenv("MALLOC_ARENA_MAX") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestJobsLeakNothing$", "-test.v")
		cmd.Env = append(os.Environ(), "MALLOC_ARENA_MAX=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	job := func(i int) (resident int) {
		t.Run("", func(t *testing.T) {
			r := newRig(t)
			out := r.create(t, encode.Options{Format: []string{"mp4", "matroska", "mpegts"}[i%3], CRF: 18})
			for range 4 {
				e2e.Must(t, out.Put(context.Background(), r.next(t)))
			}
			e2e.Must(t, out.Finish(context.Background()))
			e2e.Must(t, out.Verify())
		})
		runtime.GC()
		data, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Skip("no /proc")
		}
		pages, _ := strconv.Atoi(strings.Fields(string(data))[1])
		return pages * os.Getpagesize() / 1024
	}
	// Memory returned by malloc depends on the moment and varies by 20 MB, so the least of many is
	// compared.
	least := func(jobs int) int {
		m := math.MaxInt
		for i := range jobs {
			m = min(m, job(i))
		}
		return m
	}
	for i := range 70 { // caches and malloc's arenas fill until about the sixtieth job
		job(i)
	}
	before := least(10)
	// A frame is 350 kB: one that is lost in each job makes 14 MB.
	for i := range 30 {
		job(i)
	}
	if grown := least(10) - before; grown > 7168 {
		t.Errorf("%d kB more after 40 jobs", grown)
	}
}
