package terminal

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestLogger(t *testing.T) {
	for quiet, want := range map[bool]string{
		false: "vidfilter: a\\u000ab\nvidfilter: cannot count: too many n=3\n",
		true:  "",
	} {
		var b strings.Builder
		log := NewLogger(&b, quiet)
		log.Debug("a detail")
		log.Info("a\nb")
		log.With("error", errors.New("too many")).Warn("cannot count", "n", 3)
		if b.String() != want {
			t.Errorf("quiet %v: got %q, want %q", quiet, b.String(), want)
		}
	}
}

func TestNoticesWhenQuiet(t *testing.T) {
	for args, want := range map[string]string{
		"--quiet":                 "vidfilter: n\n",
		"--quiet --progress json": `{"type":"info","message":"n"}` + "\n",
	} {
		u, s := testUI(t, strings.Fields(args)...)
		u.Warn("w", slog.Int("n", 1))
		u.Notice("n")
		if s.String() != want || len(u.warnings) != 1 || u.warnings[0] != "w n=1" {
			t.Errorf("%q: %q, warnings %q", args, s, u.warnings)
		}
	}
}
