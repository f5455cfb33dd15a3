// Package media tests the built program on clips made by the ffmpeg program, and checks the
// results with ffprobe and ffmpeg.
package media

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 1) }

var serial atomic.Int64

// clip is e2e.Clip.
func clip(t *testing.T, name, args string) string { t.Helper(); return e2e.Clip(t, name, args) }

// put writes a file of the test's own making, once in a run.
func put(t *testing.T, name string, data []byte) string {
	t.Helper()
	return e2e.Make(t, name, func(path string) error { return os.WriteFile(path, data, 0o644) })
}

// output returns a new name of a result.
func output(ending string) string {
	return filepath.Join(e2e.Work, fmt.Sprintf("out-%d.%s", serial.Add(1), ending))
}

// filter runs the program, which must end with exit code 0, and returns the result and the
// messages.
func filter(t *testing.T, in, ending, args string) (out, said string) {
	t.Helper()
	out, said, code := attempt(t, in, ending, args)
	if code != 0 {
		t.Fatalf("%s to %s %s: exit code %d: %s", filepath.Base(in), ending, args, code, said)
	}
	return out, said
}

// attempt runs the program, which may fail.
func attempt(t *testing.T, in, ending, args string) (out, said string, code int) {
	t.Helper()
	out = output(ending)
	list := []string{"-i", in, "-o", out, "--progress", "none", "--threads", "1"}
	if !strings.Contains(args, "--filter") {
		list = append(list, "-r", "0")
	}
	list = append(list, e2e.Fields(args)...)
	if !strings.Contains(args, "--encoder ") && !strings.Contains(args, "--codec") { // presets are x264's
		list = append(list, "--preset", "ultrafast")
	}
	cmd := exec.Command(e2e.Program, list...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out, stderr.String(), cmd.ProcessState.ExitCode()
}

// pipe runs the program with its output on a pipe.
func pipe(t *testing.T, in io.Reader, args string) (out []byte, said string) {
	t.Helper()
	cmd := exec.Command(e2e.Program, append([]string{"--preset", "ultrafast", "--progress", "none", "-r", "0"}, e2e.Fields(args)...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", args, err, stderr.String())
	}
	return stdout.Bytes(), stderr.String()
}

// run is e2e.Run.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	return e2e.Run(t, name, args...)
}

// media is ffprobe's description of a file.
type media struct {
	Packets  []packet
	Frames   []frame
	Streams  []stream  `json:"streams"`
	Chapters []chapter `json:"chapters"`
	Programs []struct {
		ID      int               `json:"program_id"`
		Tags    map[string]string `json:"tags"`
		Streams []stream          `json:"streams"`
	} `json:"programs"`
	Format struct {
		Duration string            `json:"duration"`
		Start    string            `json:"start_time"`
		Tags     map[string]string `json:"tags"`
	} `json:"format"`
}

type packet struct {
	Stream   int    `json:"stream_index"`
	PTS      *int64 `json:"pts"`
	DTS      *int64 `json:"dts"`
	Duration int64  `json:"duration"`
	Time     string `json:"pts_time"`
	Flags    string `json:"flags"`
	Hash     string `json:"data_hash"`
}

type stream struct {
	Index       int               `json:"index"`
	Codec       string            `json:"codec_name"`
	CodecTag    string            `json:"codec_tag_string"`
	Kind        string            `json:"codec_type"`
	ID          string            `json:"id"`
	TimeBase    string            `json:"time_base"`
	Width       int               `json:"width"`
	Height      int               `json:"height"`
	PixFmt      string            `json:"pix_fmt"`
	Aspect      string            `json:"sample_aspect_ratio"`
	Range       string            `json:"color_range"`
	Matrix      string            `json:"color_space"`
	Transfer    string            `json:"color_transfer"`
	Primaries   string            `json:"color_primaries"`
	Chroma      string            `json:"chroma_location"`
	Fields      string            `json:"field_order"`
	Rate        string            `json:"avg_frame_rate"`
	Channels    int               `json:"channels"`
	SampleRate  string            `json:"sample_rate"`
	BitRate     string            `json:"bit_rate"`
	Extradata   string            `json:"extradata_hash"`
	Disposition map[string]int    `json:"disposition"`
	Tags        map[string]string `json:"tags"`
	SideData    []map[string]any  `json:"side_data_list"`
}

type chapter struct {
	Start string            `json:"start_time"`
	End   string            `json:"end_time"`
	Tags  map[string]string `json:"tags"`
}

// probed caches ffprobe's results: files do not change once they are made.
var probed sync.Map // by path

// probe describes a file by one start of ffprobe, which costs more than it does for a clip.
func probe(t *testing.T, path string) *media {
	t.Helper()
	if m, ok := probed.Load(path); ok {
		return m.(*media)
	}
	var m struct {
		media
		Both []json.RawMessage `json:"packets_and_frames"`
	}
	out := run(t, "ffprobe", "-v", "error", "-of", "json", "-show_packets", "-show_data_hash", "md5", "-show_frames", "-show_streams",
		"-show_chapters", "-show_programs", "-show_format", "file:"+path)
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatalf("ffprobe %s: %v", path, err)
	}
	for _, item := range m.Both {
		var kind struct{ Type string }
		e2e.Must(t, json.Unmarshal(item, &kind))
		switch kind.Type {
		case "packet":
			m.Packets = append(m.Packets, packet{})
			e2e.Must(t, json.Unmarshal(item, &m.Packets[len(m.Packets)-1]))
		case "frame":
			m.Frames = append(m.Frames, frame{})
			e2e.Must(t, json.Unmarshal(item, &m.Frames[len(m.Frames)-1]))
		}
	}
	probed.Store(path, &m.media)
	return &m.media
}

// kind returns the streams of one kind, cover art left out of video.
func (m *media) kind(kind string) []stream {
	var list []stream
	for _, s := range m.Streams {
		if s.Kind == kind && !(kind == "video" && s.Disposition["attached_pic"] == 1) {
			list = append(list, s)
		}
	}
	return list
}

func (m *media) video(t *testing.T) stream {
	t.Helper()
	v := m.kind("video")
	if len(v) == 0 {
		t.Fatal("no video")
	}
	return v[0]
}

func (m *media) of(s stream) []packet {
	return slices.DeleteFunc(slices.Clone(m.Packets), func(p packet) bool { return p.Stream != s.Index })
}

// seconds of a packet, exact to a double.
func (p packet) seconds(t *testing.T, s stream) float64 {
	t.Helper()
	if p.PTS == nil {
		t.Fatalf("a packet of stream %d has no time", s.Index)
	}
	return float64(*p.PTS) * ratio(s.TimeBase)
}

func ratio(s string) float64 {
	num, den, _ := strings.Cut(s, "/")
	return number(num) / number(den)
}

func number(s string) float64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return f
}

// frame is a decoded picture, or a piece of sound, as ffprobe sees it.
type frame struct {
	Stream      int              `json:"stream_index"`
	PTS         *int64           `json:"best_effort_timestamp"`
	Time        string           `json:"best_effort_timestamp_time"`
	Width       int              `json:"width"`
	Height      int              `json:"height"`
	Interlaced  int              `json:"interlaced_frame"`
	Top         int              `json:"top_field_first"`
	Aspect      string           `json:"sample_aspect_ratio"`
	Range       string           `json:"color_range"`
	Matrix      string           `json:"color_space"`
	Transfer    string           `json:"color_transfer"`
	Primaries   string           `json:"color_primaries"`
	Chroma      string           `json:"chroma_location"`
	SideData    []map[string]any `json:"side_data_list"`
	PictureType string           `json:"pict_type"`
	Shown       string           `json:"pts_time"`
	Samples     int              `json:"nb_samples"`
}

// frames returns the first video's frames.
func frames(t *testing.T, path string) []frame { t.Helper(); return framesOf(t, path, "video") }

// framesOf returns the frames of the first stream of a kind.
func framesOf(t *testing.T, path, kind string) []frame {
	t.Helper()
	m := probe(t, path)
	streams := m.kind(kind)
	return slices.DeleteFunc(slices.Clone(m.Frames), func(f frame) bool { return len(streams) == 0 || f.Stream != streams[0].Index })
}

// times returns the presentation times of the video's frames, in seconds.
func times(t *testing.T, path string) []float64 {
	t.Helper()
	tb := ratio(probe(t, path).video(t).TimeBase)
	var list []float64
	for i, f := range frames(t, path) {
		if f.PTS == nil { // AVI and MPEG-PS may omit some, which follow from those before
			list = append(list, 2*list[i-1]-list[i-2])
			continue
		}
		list = append(list, float64(*f.PTS)*tb)
	}
	return list
}

// sameTimes compares to within a tolerance in seconds. 0 allows only rounding of doubles.
func sameTimes(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	tolerance += 1e-8 * (1 + 1e-3*float64(len(want)))
	if len(got) != len(want) {
		t.Errorf("%s: %d times instead of %d\n got %.4f\nwant %.4f", what, len(got), len(want), got, want)
		return
	}
	for i := range got {
		if d := got[i] - want[i]; d > tolerance || d < -tolerance {
			t.Errorf("%s: time %d is %.6f instead of %.6f\n got %.4f\nwant %.4f", what, i, got[i], want[i], got, want)
			return
		}
	}
}

var decoded sync.Map // clips by path and format

// raw decodes the video of a file with the ffmpeg program: each picture once, in order.
func raw(t *testing.T, path, pixelFormat string) []byte {
	t.Helper()
	key := [2]string{path, pixelFormat}
	if all, ok := decoded.Load(key); ok {
		return bytes.Clone(all.([]byte))
	}
	all := run(t, "ffmpeg", "-v", "quiet", "-nostdin", "-threads", "1", "-noautorotate", "-i", "file:"+path, "-map", "0:V:0", "-vsync", "passthrough",
		"-f", "rawvideo", "-pix_fmt", pixelFormat, "-sws_flags", "accurate_rnd+full_chroma_int+bicubic", "pipe:1")
	if !strings.HasPrefix(filepath.Base(path), "out-") { // results are decoded once
		decoded.Store(key, bytes.Clone(all))
	}
	return all
}
