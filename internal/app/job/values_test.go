package job

import (
	"testing"

	"vidfilter/internal/cli"
)

func FuzzSizes(f *testing.F) {
	for _, s := range []string{"5M", "800k", "1e3", "16384*16384", "3840x2160", "nan", "-1", "0.4", "1e400G", "*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseBitrate(s); err == nil && (n < 1000 || n > 1<<31) {
			t.Errorf("parseBitrate(%q) = %d", s, n)
		}
		if n, err := cli.ParsePixels(s); err == nil && (n < 1 || n > 1e15) {
			t.Errorf("parsePixels(%q) = %d", s, n)
		}
	})
}
