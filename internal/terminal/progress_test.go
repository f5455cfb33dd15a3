package terminal

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
	"vidfilter/internal/rate"
)

var running = progress{
	Snapshot: Snapshot{Frames: 1234, Total: 3000, OutTime: 41 * time.Second, Bytes: 12_300_000,
		DecodeBusy: 1234 * time.Millisecond, FilterBusy: 2468 * time.Millisecond},
	FPS: 61.2, Speed: 2.55, Part: new(0.4113), Left: new(29.0),
}

func TestBarLine(t *testing.T) {
	for width, want := range map[int]string{
		102: "[################------------------------]  41%  1234/3000 frames  61.2 fps  0:29 left  2.55x  12.3 MB",
		81:  "[#######------------]  41%  1234/3000 frames  61.2 fps  0:29 left  2.55x  12.3 MB",
		60:  " 41%  1234/3000 frames  61.2 fps  0:29 left  2.55x  12.3 MB",
		40:  " 41%  1234/3000 frames  61.2 fps",
		20:  "[#####--------]  41%",
		3:   "",
		-1:  "",
	} {
		if got := barLine(running, width); got != want {
			t.Errorf("width %d:\ngot  %q\nwant %q", width, got, want)
		}
	}
	for width := range 200 {
		if got := barLine(running, width); len(got) > width {
			t.Errorf("width %d: %d columns", width, len(got))
		}
	}
}

func TestUnknownTotal(t *testing.T) {
	s := progress{Snapshot: Snapshot{Frames: 7}, FPS: 3.5}
	if got, want := barLine(s, 79), "7 frames  3.5 fps  0.00x  0 B"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := plainLine(s), "7 frames, 3.5 fps, 0.00x, 0 B"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b, _ := json.Marshal(progressObject(s))
	if !strings.Contains(string(b), `"total":null`) || !strings.Contains(string(b), `"eta":null`) {
		t.Errorf("%s", b)
	}
}

func TestFullBar(t *testing.T) {
	s := running
	s.Part = new(1.0)
	if got := barLine(s, 200); strings.Count(got, "#") != 40 || strings.Contains(got, "-") {
		t.Errorf("%q", got)
	}
}

func TestTracker(t *testing.T) {
	start := time.Unix(1000, 0)
	var m rate.Meter
	m.Sample(start, rate.Amounts{})
	at := func(seconds float64, frames int64) progress {
		return observe(&m, start.Add(time.Duration(seconds*1e9)), Snapshot{Frames: frames, Total: 1000, OutTime: time.Duration(frames) * 40 * time.Millisecond})
	}
	if s := at(0, 0); s.FPS != 0 || s.Left != nil || *s.Part != 0 {
		t.Errorf("at once: %+v", s)
	}
	if s := at(2, 100); s.FPS != 50 || s.Speed != 2 || *s.Left != 18 || *s.Part != 0.1 {
		t.Errorf("after 2 s: %+v", s)
	}
	for i := 3; i <= 20; i++ { // twice as fast: in 5 s the start is forgotten
		at(float64(i), int64(100+100*(i-2)/2))
	}
	if s := at(21, 1050); s.FPS != 50 || *s.Part != 1 || *s.Left != 0 {
		t.Errorf("beyond the total: %+v", s)
	}
}

func TestProgressByTime(t *testing.T) {
	start := time.Unix(1000, 0)
	var m rate.Meter
	m.Sample(start, rate.Amounts{})
	s := observe(&m, start.Add(time.Second), Snapshot{Frames: 10, OutTime: 2 * time.Second, TotalTime: 10 * time.Second})
	if *s.Part != 0.2 || *s.Left != 4 {
		t.Errorf("%+v", s)
	}
}

func TestSummary(t *testing.T) {
	r := Result{Done: contract.Done{Frame: 3000, Elapsed: 12.3, InSize: 1_200_000_000, Size: 345_000_000}}
	if got, want := summary(r), "3000 frames in 12.3 s (243.9 fps), 1.20 GB in, 345 MB out"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r = Result{Done: contract.Done{Frame: 1, Size: 10, PSNR: new(contract.Number(math.Inf(1))), SSIM: new(contract.Number(1))}}
	if got, want := summary(r), "1 frame in 0.0 s, 10 B out, PSNR inf dB, SSIM 1.0000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r = Result{Done: contract.Done{Frame: 3000, Elapsed: 60, Stages: &contract.Stages{Decode: 1, Filter: 5, Encode: 14}}, Slowest: "x264 (--preset fast)"}
	short := "3000 frames in 60.0 s (50.0 fps)"
	if got := summary(r); got != short {
		t.Errorf("got %q, want %q", got, short)
	}
	r.Frame, r.Elapsed = 3005, 60.1
	if got, want := summary(r), "3005 frames in 60.1 s (50.0 fps)\n50.0 fps: decoding 5%, filter 25%, encoder 70%; slowest: x264 (--preset fast)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSONProgress(t *testing.T) {
	b, err := json.Marshal(progressObject(running))
	want := `{"type":"progress","frame":1234,"total":3000,"fps":61.2,"speed":2.55,"out_time":41,"eta":29,"size":12300000,` +
		`"stages":{"decode_ms":1,"filter_ms":2,"encode_ms":0}}`
	if err != nil || string(b) != want {
		t.Errorf("got  %s (%v)\nwant %s", b, err, want)
	}
}

func TestJSONDone(t *testing.T) {
	r := Result{Done: contract.Done{Frame: 3, Elapsed: 1, PSNR: new(contract.Number(math.Inf(1))), SSIM: new(contract.Number(0.5))}}
	b, err := json.Marshal(doneObject(r, errors.New("a \"b\"\n"), []string{"w"}))
	e2e.Must(t, err)
	var got map[string]any
	e2e.Must(t, json.Unmarshal(b, &got))
	if psnr, measured := got["psnr"]; psnr != nil || !measured || got["ssim"] != 0.5 || got["error"] != "a \"b\"\n" {
		t.Errorf("%s", b)
	}
	b, _ = json.Marshal(doneObject(Result{}, nil, nil))
	for _, part := range []string{`"warnings":[]`, `"damage":{}`, `"exit_code":0`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("%s lacks %s", b, part)
		}
	}
	for _, part := range []string{"psnr", "ssim", "error", "hint"} {
		if strings.Contains(string(b), part) {
			t.Errorf("%s has %s", b, part)
		}
	}
}
