package cli

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream of Stdio is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// TerminalWidth returns the columns of a terminal, 80 if unknown.
func TerminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

// TerminalSize returns 0, 0 if the stream is no terminal.
func TerminalSize(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			return w, h
		}
	}
	return 0, 0
}
