package job

import (
	"strings"
	"testing"
	"unicode/utf8"

	"vidfilter/encode/video"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

// FuzzOptions takes arguments and environment as lines.
func FuzzOptions(f *testing.F) {
	f.Add("-i\na.mp4\n-o\nb.mp4\n-r\n1", "VIDFILTER_CRF=20\nVIDFILTER_NO_AUDIO=1")
	f.Add("-i\na\n-o\n-\n--format\nts\n--map\n0:a:1\n--start\n1:30", "VIDFILTER_OVERWRITE=1")
	f.Add("-crf\n20", "")
	f.Add("--=\n-=\n--\n-\n---x", "=\nVIDFILTER_=")
	for flag, values := range badValues {
		f.Add("-i\na\n-o\nb.mp4\n--"+flag+"="+values[0], cli.EnvName(flag)+"="+values[len(values)-1])
	}
	f.Fuzz(func(t *testing.T, args, env string) {
		o, err := Parse(lines(args), lines(env))
		if o == nil {
			t.Fatal("no options")
		}
		if err != nil {
			wantUsageFuzz(t, err)
			return
		}
		wantValid(t, o)
	})
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func wantUsageFuzz(t *testing.T, err error) {
	if contract.ExitCode(err) != contract.ExitUsage || hint.Of(err) == "" {
		t.Errorf("%q, hint %q: no usage error", err, hint.Of(err))
	}
	if line := text.OneLine(err.Error()); !utf8.ValidString(line) || strings.ContainsAny(line, "\r\n\x1b") {
		t.Errorf("%q is not one clean line", line)
	}
}

func wantValid(t *testing.T, o *Options) {
	if err := o.Filters.Validate(); err != nil {
		t.Error(err)
	}
	if f, err := OutputFormat(o.Output, o.Format); err != nil || f != o.Format {
		t.Errorf("format %q: %v", o.Format, err)
	}
	ok := o.Input != "" && o.Output != "" && (o.CRF >= 0 || o.CRF == -1 && video.CodecOf(o.Encoder).CRF < 0) && o.CRF <= 63 && o.Bitrate >= 0 && o.Start >= 0 &&
		o.Duration >= 0 && o.Frames >= 0 && o.Threads >= 0 && o.GOP >= 0 && o.MaxPixels > 0 &&
		o.MaxErrorRate >= 0 && o.MaxErrorRate <= 1 && !(o.Overwrite && o.NoOverwrite) && !(o.Quiet && o.Verbose)
	if !ok {
		t.Errorf("not valid: %+v", o)
	}
}
