package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Stdio holds a command's streams and environment.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string // NAME=value, as in os.Environ
}

// IsTerminal reports whether a stream of Stdio is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalSize returns 80, 24 if it is not known.
func TerminalSize(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			return w, h
		}
	}
	return 80, 24
}
