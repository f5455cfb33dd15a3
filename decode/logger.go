package decode

import (
	"context"
	"fmt"
	"log/slog"
)

// logger has messages about an input for the user.
type logger struct {
	path string       // of the input, for errors
	log  *slog.Logger // nil drops messages
}

func (l logger) warn(format string, args ...any) {
	if l.log != nil {
		l.log.Warn(fmt.Sprintf(format, args...))
	}
}

func (l logger) tell(level slog.Level, msg string) {
	if l.log != nil {
		l.log.Log(context.Background(), level, msg)
	}
}
