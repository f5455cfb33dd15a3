package main

import (
	"os"

	"golang.org/x/term"
)

// isTerminal says whether a stream of stdio is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminalWidth returns the columns of the terminal behind stream, 80 when it does not say.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}
