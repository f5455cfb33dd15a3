package terminal

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
)

func TestPrintError(t *testing.T) {
	var b strings.Builder
	PrintError(&b, cli.Usagef("look\nthere", "no file \x1b[31m\"a\u202eb\""))
	want := "vidfilter: no file \\u001b[31m\"a\\u202eb\"\nhint: look\\u000athere\n"
	PrintError(&b, fmt.Errorf("write: %w: %w", contract.Class(contract.ExitOutput), syscall.EPIPE))
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
