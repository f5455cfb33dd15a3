package encode_test

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
	"vidfilter/pipeline"
)

// turner is a filter that changes all picture properties of a container: it emits two progressive
// frames for each, smaller by 2 samples, of another shape and upright, in half the time base.
type turner struct{ of, video *pipeline.Video }

func (*turner) Held() int                                  { return 0 }
func (*turner) Flush(context.Context, pipeline.Emit) error { return nil }

func (t *turner) Process(_ context.Context, f *pipeline.Frame, emit pipeline.Emit) error {
	defer f.Release()
	if f.Video != t.of {
		v := *f.Video
		v.TimeBase.Den *= 2
		v.Rate.Num, v.MeanRate.Num = 2*v.Rate.Num, 2*v.MeanRate.Num
		v.Aspect, v.Matrix = pipeline.Ratio{Num: 3, Den: 2}, [9]int32{}
		t.of, t.video = f.Video, &v
	}
	for i := range int64(2) {
		format := f.Format
		format.Width, format.Height = f.Width-2, f.Height-2
		out := pipeline.NewFrame(format, f.Planes, nil, f.Retain().Release)
		out.CopyTiming(f)
		out.PTS, out.Video, out.Interlaced = 2*f.PTS+i*f.Duration, t.video, false
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

type probe struct {
	Streams []struct {
		Type   string `json:"codec_type"`
		Width  int
		Height int
		SAR    string `json:"sample_aspect_ratio"`
		Rate   string `json:"avg_frame_rate"`
		Order  string `json:"field_order"`
		Start  string `json:"start_time"`
		Side   []struct {
			Rotation *float64
		} `json:"side_data_list"`
		Tags map[string]string
	}
	Packets []struct {
		Type string `json:"codec_type"`
		Time string `json:"pts_time"`
	}
}

func probed(t *testing.T, path string) (p probe) {
	t.Helper()
	out := program(t, "ffprobe", "-v", "error", "-of", "json", "-show_streams", "-show_packets", path)
	e2e.Must(t, json.Unmarshal(out, &p))
	return p
}

// times returns when packets of a kind are shown, in order.
func (p probe) times(kind string) (list []float64) {
	for _, x := range p.Packets {
		if s, err := strconv.ParseFloat(x.Time, 64); err == nil && x.Type == kind {
			list = append(list, s)
		}
	}
	return list
}

// The filters' output sets the picture properties and times in the file. The sound stays in sync.
func TestTurned(t *testing.T) {
	clip := filepath.Join(t.TempDir(), "clip.mov")
	program(t, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=98x68:r=25:d=1,setsar=16/11",
		"-itsoffset", "0.2", "-f", "lavfi", "-i", "sine=r=48000:d=0.7", "-c:v", "libx264", "-bf", "2", "-x264-params", "tff=1", "-c:a", "pcm_s16le",
		"-metadata:s:v", "rotate=90", "-timecode", "01:00:00:12", clip)
	for _, format := range []string{"mp4", "mov", "matroska", "webm", "mpegts", "mxf"} {
		t.Run(format, func(t *testing.T) {
			write := func(filters ...pipeline.Filter) (*rig, *encode.Output) {
				r := newRigWith(t, clip, decode.Options{Threads: 1, KeepClock: format == "mpegts"})
				o := encode.Options{Format: format, CRF: 18}
				if format == "webm" {
					o.Encoder, o.Preset, o.CRF = "libsvtav1", "10", 30
				}
				out := r.create(t, o)
				e2e.Must(t, pipeline.Run(context.Background(), r.in, filters, out, pipeline.Options{}))
				e2e.Must(t, out.Verify())
				return r, out
			}
			plain, _ := write()
			r, out := write(&turner{})
			if out.Frames() != 50 || out.Pace() != 2 {
				t.Errorf("%d frames, %g for each", out.Frames(), out.Pace())
			}
			source := r.in.Facts().Retimed()
			for _, d := range fidelity.Compare(source, out.Found(), out.Told()) {
				if d.Lost && !d.Told {
					t.Errorf("lost: %v", d)
				}
			}
			p := probed(t, r.path)
			v := p.Streams[0]
			if v.Width != 96 || v.Height != 66 || v.SAR != "3:2" {
				t.Errorf("%dx%d, samples of %s", v.Width, v.Height, v.SAR)
			}
			if v.Rate != "50/1" {
				t.Errorf("%s frames a second", v.Rate)
			}
			if v.Order != "progressive" && v.Order != "" && v.Order != "unknown" {
				t.Errorf("the fields are %s", v.Order)
			}
			for _, s := range v.Side {
				if s.Rotation != nil {
					t.Errorf("turned by %g", *s.Rotation)
				}
			}
			if code := v.Tags["timecode"]; format == "mov" && code != "01:00:00:24" {
				t.Errorf("the timecode is %q", code)
			}
			pictures, sound := p.times("video"), p.times("audio")
			if len(pictures) != 50 {
				t.Fatalf("%d pictures", len(pictures))
			}
			first := minimum(pictures)
			if length := maximum(pictures) - first; math.Abs(length-0.98) > 0.0011 {
				t.Errorf("the last picture comes %.4f s behind the first", length)
			}
			before := probed(t, plain.path)
			was := before.times("audio")
			if is := minimum(sound) - first; math.Abs(is-(minimum(was)-minimum(before.times("video")))) > 0.0011 ||
				(len(sound) == 0) != (format == "webm") || len(sound) != len(was) && format != "mxf" { // which has a packet for each picture
				t.Errorf("%d packets of sound begin %.4f s behind the pictures; in a file with the pictures as they were, %d at %.4f",
					len(sound), is, len(was), minimum(was)-minimum(before.times("video")))
			}
		})
	}
}

func minimum(list []float64) float64 {
	m := math.Inf(1)
	for _, x := range list {
		m = min(m, x)
	}
	return m
}

func maximum(list []float64) float64 {
	m := math.Inf(-1)
	for _, x := range list {
		m = max(m, x)
	}
	return m
}

// Closed captions of frames that a filter repeats are written once.
func TestCaptionsOnce(t *testing.T) {
	r := newRigOf(t, sample)
	out := r.create(t, encode.Options{Format: "matroska", CRF: 18})
	n := 0
	captioned := &captioner{turner{}, &n}
	e2e.Must(t, pipeline.Run(context.Background(), r.in, []pipeline.Filter{captioned}, out, pipeline.Options{}))
	e2e.Must(t, out.Verify())
	for _, i := range out.Found() {
		if i.Kind == fidelity.Video && i.Values["captions"] != "12 of 24 pictures" {
			t.Errorf("captions in %s", i.Values["captions"])
		}
	}
	if lost := out.NotKept(nil); strings.Contains(strings.Join(lost, " "), "captions") {
		t.Errorf("not kept: %v", lost)
	}
}

// Filter output that the file cannot take is refused before the first byte is written.
func TestTurnedRefused(t *testing.T) {
	r := newRigOf(t, sample)
	f := r.next(t)
	defer f.Release()
	wide := f.Format
	wide.Width = 1 << 15
	big := pipeline.NewFrame(wide, f.Planes, nil, nil)
	big.CopyTiming(f)
	out := r.create(t, encode.Options{Format: "mp4", CRF: 18})
	if err := out.Put(context.Background(), big); err == nil || !strings.Contains(err.Error(), "32768x360") {
		t.Errorf("%v", err)
	}
	if out.Bytes() != 0 {
		t.Errorf("%d bytes were written", out.Bytes())
	}
}

// captioner gives each frame captions of its own before it goes on.
type captioner struct {
	turner
	n *int
}

func (c *captioner) Process(ctx context.Context, f *pipeline.Frame, emit pipeline.Emit) error {
	p := f.Props().(*av.Props)
	p.Units = append(p.Units, units.Unit{Kind: units.Captions, Payload: unitstest.Captions(*c.n)})
	*c.n++
	return c.turner.Process(ctx, f, emit)
}
