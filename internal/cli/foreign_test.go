package cli

import (
	"strings"
	"testing"
)

func TestForeignOptions(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"-vf", "--before"}, {"-c:a", "are kept"}, {"-c:v:0", "--codec"}, {"-q:v", "--crf"}, {"-b:a:1", "are kept"}, {"-r:v", "--fps"},
		{"--encoder-preset", "--preset"}, {"--nlmeans", "--strength"}, {"--nlmeans-tune", "help options"}, {"-e", "--codec"},
		{"--vpp-resize", "--scale"}, {"--vpp-denoise-dct", "--strength"}, {"--vpp-colorspace", "--after"}, {"--audio-copy", "are kept"},
		{"--raduis", "did you mean --radius?"}, {"-radius", "did you mean --radius?"}, {"--zzz", "help options"},
	} {
		fs := NewFlagSet()
		fs.Int("radius", 0, "")
		err := ParseArguments(fs, []string{c.name, "1"}, "vidfilter help options")
		if err == nil || !strings.Contains(err.Error(), "unknown option "+c.name) || !strings.Contains(WithHint(err), c.want) {
			t.Errorf("%s: %v, want advice with %q", c.name, WithHint(err), c.want)
		}
	}
}
