package main

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

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
