package cli

import (
	"strings"
	"testing"
)

func TestPrintError(t *testing.T) {
	var b strings.Builder
	PrintError(&b, Usagef("look\nthere", "no file \x1b[31m\"a\u202eb\""))
	want := "vidfilter: no file \\u001b[31m\"a\\u202eb\"\nhint: look\\u000athere\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
