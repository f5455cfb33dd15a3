package job

import (
	"strings"
	"testing"
	"time"

	"vidfilter/internal/terminal"
	"vidfilter/kernels"
)

func TestSlowest(t *testing.T) {
	cpu, err := kernels.NewCPU(1, "")
	if err != nil {
		t.Fatal(err)
	}
	defer cpu.Close()
	for _, c := range []struct {
		args                   string
		decode, filter, encode time.Duration
		want                   string
	}{
		{"", 1, 1, 3, "x264 (--preset fast)"},
		{"", 1, 2, 3, ""},
		{"--preset ultrafast", 1, 1, 3, "x264"},
		{"--codec hevc", 0, 0, 1, "x265 (--preset fast)"},
		{"--codec av1 --preset 6", 0, 0, 1, "svtav1 (--preset 7)"},
		{"--codec ffv1", 0, 0, 1, "ffv1"},
		{"--quality best", 1, 3, 1, "denoise (--quality good)"},
		{"--quality good", 1, 3, 1, "denoise (--quality fast)"},
		{"--quality fast", 1, 3, 1, "denoise"},
		{"-r 5", 1, 3, 1, "bilateral"},
		{"--deinterlace", 1, 3, 1, "the filters"},
		{"", 3, 1, 1, "decoding"},
		{"", 0, 0, 0, ""},
	} {
		o := parsed(t, strings.Fields("-i a.mkv -o b.mkv "+c.args)...)
		j := &job{o: o, backend: cpu}
		if got := j.slowest(terminal.Snapshot{DecodeBusy: c.decode, FilterBusy: c.filter, EncodeBusy: c.encode}); got != c.want {
			t.Errorf("%s %v: got %q, want %q", c.args, c, got, c.want)
		}
	}
}
