package terminal

import "io"

// Stdio holds a command's streams and environment.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	Env      []string // NAME=value, as in os.Environ
}
