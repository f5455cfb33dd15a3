package main

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/app/job"
	"vidfilter/internal/e2e"
	"vidfilter/samples/scene"
)

// The noise of raw pictures, which all come in the same memory, is measured between them.
func TestInfoNoiseOfRawVideo(t *testing.T) {
	const sigma = 9
	var y4m bytes.Buffer
	e2e.Must(t, scene.WriteY4M(&y4m, scene.Config{Width: 320, Height: 192, Frames: 8, RateNum: 24, RateDen: 1, Noise: sigma * 256, Seed: 1}))
	path := filepath.Join(t.TempDir(), "raw.y4m")
	e2e.Put(t, path, y4m.Bytes())
	code, out, said := try(nil, "info", "--noise", "--json", path)
	var info struct {
		Noise struct {
			Scenes []struct {
				Luma float64 `json:"sigma_luma"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &info); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, said)
	}
	if s := info.Noise.Scenes; len(s) != 1 || math.Abs(s[0].Luma/sigma-1) > 0.25 {
		t.Errorf("sigma %d is measured as %+v", sigma, s)
	}
}

// TestInfoAdvice: advice is a line of text and a list in JSON.
func TestInfoAdvice(t *testing.T) {
	dir := t.TempDir()
	var y4m bytes.Buffer
	e2e.Must(t, scene.WriteTape(&y4m, scene.Config{Width: 720, Height: 576, Frames: 1, RateNum: 25, RateDen: 1}))
	e2e.Put(t, filepath.Join(dir, "tape.y4m"), y4m.Bytes())
	const want = "\n  advice: --footage tape (interlaced rawvideo, 720x576, chroma 4:2:2)\n"
	if code, out, said := try(nil, "info", filepath.Join(dir, "tape.y4m")); code != 0 || !strings.HasSuffix(out, want) {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
	_, out, _ := try(nil, "info", "--json", filepath.Join(dir, "tape.y4m"))
	var info struct{ Advice []job.Advice }
	if err := json.Unmarshal([]byte(out), &info); err != nil || len(info.Advice) != 1 || info.Advice[0].Option != "--footage tape" {
		t.Errorf("%v: %s", err, out)
	}
	if code, out, said := try(nil, "info", "../../samples/noisy.mp4"); code != 0 || strings.Contains(out, "advice") {
		t.Errorf("exit code %d: %s%s", code, out, said)
	}
}

func TestHelpFootage(t *testing.T) {
	_, help, _ := try(nil, "help", "footage")
	fits(t, help, 40)
	for _, f := range job.Footages {
		for _, c := range f.Options {
			if !strings.Contains(help, "--footage "+f.Name+" ("+f.Of+")") || !strings.Contains(help, c.String()) || !strings.Contains(help, c.Why) {
				t.Errorf("%s %s is missing: %s", f.Name, c, help)
			}
		}
	}
}
