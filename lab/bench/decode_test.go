package bench

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/lab/measure"
)

// TestDecodeClip: rows are of the GPUs that were asked for, and of NVDEC only if it decodes.
func TestDecodeClip(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	t.Setenv(testdriver.DecoderVariable, "frames=/dev/null,create=1")
	if !testdriver.OnDriver(t, testdriver.Folder, "devices=2,leaks=1") {
		return
	}
	e2e.Work = t.TempDir()
	clip := e2e.Clip(t, "clip.mp4", "-f lavfi -i testsrc2=s=64x48:r=25:d=1.2 -c:v libx264 -pix_fmt yuv420p -g 5")
	for devices, indexes := range map[int][]int{1: {1}, 2: nil} {
		places, err := measure.Open(false, indexes, true)
		e2e.Must(t, err)
		defer places.Close()
		var s EndSection
		r := &run{Places: places, o: Options{Quick: true, Indexes: indexes, Log: slog.New(slog.DiscardHandler)}}
		e2e.Must(t, r.decodeClip(context.Background(), &s, clip))
		most := 0
		for _, row := range s.Decoded {
			most = max(most, row.GPUs)
			if skipped := strings.Contains(row.Skipped, "the GPU does not begin to decode the video"); skipped != (row.Decoder == "nvdec") {
				t.Errorf("%+v", row)
			}
		}
		if len(s.Decoded) < 2 || most != devices {
			t.Errorf("GPUs %v: rows %+v", indexes, s.Decoded)
		}
	}
}
