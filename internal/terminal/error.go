package terminal

import (
	"fmt"
	"io"

	"vidfilter/internal/contract"
	"vidfilter/internal/hint"
	"vidfilter/internal/text"
)

// PrintError prints an error and its advice. It is silent where the reader of the output has gone:
// programs in a pipeline end silently then.
func PrintError(w io.Writer, err error) {
	if contract.ExitCode(err) == contract.ExitPipe {
		return
	}
	fmt.Fprintf(w, "vidfilter: %s\n", text.OneLine(err.Error()))
	if h := hint.Of(err); h != "" {
		fmt.Fprintf(w, "hint: %s\n", text.OneLine(h))
	}
}
