package hint

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestOf(t *testing.T) {
	base := Errorf("look elsewhere", "no input: %w", io.EOF)
	for _, c := range []struct {
		err        error
		text, hint string
	}{
		{base, "no input: EOF", "look elsewhere"},
		{fmt.Errorf("open: %w", base), "open: no input: EOF", "look elsewhere"},
		{Wrap(base, "try again"), "no input: EOF", "try again"},
		{Add(base, "try again"), "no input: EOF", "try again; look elsewhere"},
		{io.EOF, "EOF", ""},
	} {
		if c.err.Error() != c.text || Of(c.err) != c.hint || !errors.Is(c.err, io.EOF) {
			t.Errorf("%q, hint %q, want %q, %q", c.err, Of(c.err), c.text, c.hint)
		}
	}
	if Of(nil) != "" {
		t.Error("nil has a hint")
	}
}
