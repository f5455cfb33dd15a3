package liverun

import (
	"context"
	"syscall"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/live/window"
)

// choosePage serves the page beside a window only with --listen, and not with --no-page.
func (o *Options) choosePage(fs *pflag.FlagSet) error {
	o.Page = !o.NoPage && (!o.Window || fs.Changed("listen"))
	advice, without := "add --listen ADDR to serve the page as well", "beside --window"
	if o.NoPage {
		advice, without = "leave "+cli.Source(fs, "no-page")+" out", "with "+cli.Source(fs, "no-page")
	}
	only := []string{"allow-host", "record-dir", "webrtc"}
	if o.RTSP == "" {
		only = append(only, "cert", "key", "token", "max-viewers")
	}
	for _, name := range only {
		if !o.Page && fs.Changed(name) {
			return cli.Usagef(advice, "%s is for the page, which is not served %s", cli.Source(fs, name), without)
		}
	}
	if o.Input == "browser" && !o.Page {
		return cli.Usagef(advice, "a browser's camera is asked for on the page, which is not served %s", without)
	}
	return nil
}

// openWindow opens the window first: without a desktop there is nothing to do.
func (l *liveRun) openWindow() (err error) {
	if !l.o.Window {
		return nil
	}
	name := l.o.Input
	if name == "" {
		name = "camera"
	}
	l.window, err = window.Open(window.Options{
		Name: name, Say: l.ui.Notice,
		Opened: func() { l.ui.Info("the window is open; h in it lists its keys, q ends") },
	})
	if err == nil {
		l.ui.Debug("window: " + l.window.Driver())
	}
	return err
}

// look shows the session in the window. Closing it ends the run as Ctrl-C does.
func (l *liveRun) look(ctx context.Context) error {
	if err := l.window.Run(ctx, l.session); err != nil {
		return err
	}
	return cli.Interruption{Signal: syscall.SIGINT}
}
