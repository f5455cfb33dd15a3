package liverun

import (
	"fmt"
	"io"
	"strings"

	"vidfilter/decode"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
	"vidfilter/live"
)

// liveInput opens the input of -i, and the sound of --sound. The remote is nil unless the input is
// a browser's camera.
func (o *Options) liveInput(u *terminal.UI, stdin io.Reader, changed func()) (live.Input, *live.Remote, error) {
	in, remote, err := o.pictures(u, changed)
	if err != nil || o.Sound == "" {
		return in, remote, err
	}
	if in.Kind != live.Camera && in.Kind != live.Test {
		return in, nil, cli.Usagef("a file has its own, and the page sends its microphone", "--sound is for cameras of this machine and the test picture")
	}
	m, err := live.NewMicrophone(stdin, func(err error) {
		if err != nil {
			u.Warn("the sound has ended", "error", err)
			return
		}
		u.Info("the sound has ended")
	})
	if err != nil {
		return in, nil, err
	}
	in.Open = m.Beside(in.Open)
	return in, nil, nil
}

// pictures opens the input of -i.
func (o *Options) pictures(u *terminal.UI, changed func()) (live.Input, *live.Remote, error) {
	if o.Input == "" {
		o.Input = o.firstCamera(u)
	}
	if o.Input == "" {
		return live.Input{}, nil, cli.Usagef("-i test shows a test picture; with --listen the page asks for the browser's", "no camera on this machine")
	}
	in := live.Input{Name: o.Input, Loop: o.Loop}
	switch {
	case o.Input == "test":
		in.Kind = live.Test
		in.Open = live.OpenPattern(live.PatternOptions{Width: o.Size.Width, Height: o.Size.Height, FPS: o.FPS})
	case o.Input == "browser":
		in.Kind, in.Again = live.Browser, true
		remote := live.NewRemote(decode.StreamOptions{MaxPixels: o.MaxPixels, Threads: o.Threads}, changed)
		in.Open = remote.Open
		return in, remote, o.onlyCameras("browser: it is asked for on the page")
	case decode.IsCamera(o.Input):
		in.Kind, in.Again = live.Camera, true
		in.Open = live.OpenCamera(o.Input, decode.CameraOptions{
			Width: o.Size.Width, Height: o.Size.Height, FPS: o.FPS, Format: o.InputFormat, MaxPixels: o.MaxPixels, Threads: o.Threads, Log: u.Logger,
		})
	default:
		in.Kind = live.File
		d := o.DecodeOptions(u)
		d.FieldOrder = decode.FieldAuto // set on the page
		in.Open = live.OpenFile(o.Input, d)
		if in.Loop && o.Input == "-" {
			return in, nil, cli.Usagef("save it to a file first", "--loop plays the input again, and a pipe can be read once")
		}
		return in, nil, o.onlyCameras("a file")
	}
	return in, nil, nil
}

// onlyCameras refuses options without effect on other inputs.
func (o *Options) onlyCameras(what string) error {
	if o.Size != (size{}) || o.FPS != 0 {
		return cli.Usagef("a camera's and the test picture's can be chosen", "--size and --fps are not for %s", what)
	}
	return nil
}

// firstCamera is the input without -i: a camera of this machine, else the browser's, or "" if
// there is no page.
func (o *Options) firstCamera(u *terminal.UI) string {
	cameras := decode.Cameras()
	for _, c := range cameras {
		if c.Err == nil {
			u.Info(fmt.Sprintf("camera: %s (%s)", c.Path, c.Name))
			return c.Path
		}
	}
	if len(cameras) > 0 {
		return cameras[0].Path // opening it gives the reason, which may pass
	}
	if o.NoPage {
		return ""
	}
	u.Info("no camera on this machine: the page will ask for the browser's (-i test shows a test picture)")
	return "browser"
}

// liveCommand returns the command that filters a file as set on the page.
func (o *Options) liveCommand(f live.FilterSettings) string {
	in, out := "in.mp4", "out.mp4"
	if o.isFile() {
		in, out = o.Input, job.CleanName(o.Input, "")
	}
	args := append([]string{"vidfilter", "-i", in, "-o", out}, f.Args()...)
	for i, a := range args {
		args[i] = text.ShellQuote(a)
	}
	return strings.Join(args, " ")
}
