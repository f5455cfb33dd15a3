package main

import (
	"context"
	"syscall"

	"github.com/spf13/pflag"

	"vidfilter/live/window"
)

// choosePage decides whether the page is served: beside a window only where it is asked for.
func (o *liveOptions) choosePage(fs *pflag.FlagSet) error {
	o.Page = !o.Window || fs.Changed("listen")
	for _, name := range []string{"cert", "key", "allow-host", "max-viewers", "webrtc"} {
		if !o.Page && fs.Changed(name) {
			return usagef("add --listen ADDR to serve the page as well", "%s is for the page, which is not served beside --window", source(fs, name))
		}
	}
	if o.Input == "browser" && !o.Page {
		return usagef("add --listen "+defaultListen, "a browser's camera is asked for on the page, which is not served beside --window")
	}
	return nil
}

// openWindow opens the window before anything else is: without a desktop there is nothing to wait for.
func (l *liveRun) openWindow() (err error) {
	if !l.o.Window {
		return nil
	}
	name := l.o.Input
	if name == "" {
		name = "camera"
	}
	l.window, err = window.Open(window.Options{
		Name: name, Say: func(s string) { l.ui.notice("%s", s) },
		Opened: func() { l.ui.info("the window is open; h in it lists its keys, q ends") },
	})
	if err == nil {
		l.ui.verbose("window: %s", l.window.Driver())
	}
	return err
}

// look shows the session in the window. Its end is that of the run, as Ctrl-C is.
func (l *liveRun) look(ctx context.Context) error {
	if err := l.window.Run(ctx, l.session); err != nil {
		return err
	}
	return interruption{syscall.SIGINT}
}
