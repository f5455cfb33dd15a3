package main

import (
	"os"
	"strconv"
	"strings"

	"vidfilter/decode"
	"vidfilter/kernels"
	"vidfilter/live"
)

// liveInput decides what -i means. The remote is not nil where the input is a browser's camera.
func (o *liveOptions) liveInput(u *ui, changed func()) (live.Input, *live.Remote, error) {
	if o.Input == "" {
		o.Input = o.firstCamera(u)
	}
	if o.Input == "" {
		return live.Input{}, nil, usagef("-i test shows a test picture; with --listen the page asks for the browser's", "no camera on this machine")
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
			Width: o.Size.Width, Height: o.Size.Height, FPS: o.FPS, Format: o.InputFormat, MaxPixels: o.MaxPixels, Threads: o.Threads, Warn: u.warn,
		})
	default:
		in.Kind = live.File
		d := o.decodeOptions(u)
		d.FieldOrder = decode.FieldAuto // the page sets it
		in.Open = live.OpenFile(o.Input, d)
		if in.Loop && o.Input == "-" {
			return in, nil, usagef("save it to a file first", "--loop plays the input again, and a pipe can be read once")
		}
		return in, nil, o.onlyCameras("a file")
	}
	return in, nil, nil
}

// onlyCameras refuses what would have no effect.
func (o *liveOptions) onlyCameras(what string) error {
	if o.Size != (size{}) || o.FPS != 0 {
		return usagef("a camera's and the test picture's can be chosen", "--size and --fps are not for %s", what)
	}
	return nil
}

// firstCamera is what there is without -i: a camera of this machine, or else of the browser's, or "" where there is no page to ask on.
func (o *liveOptions) firstCamera(u *ui) string {
	cameras := decode.Cameras()
	for _, c := range cameras {
		if c.Err == nil {
			u.info("camera: %s (%s)", c.Path, c.Name)
			return c.Path
		}
	}
	if len(cameras) > 0 {
		return cameras[0].Path // why it cannot be had is said when it is opened, and may pass
	}
	if !o.Page {
		return ""
	}
	u.info("no camera on this machine: the page will ask for the browser's (-i test shows a test picture)")
	return "browser"
}

// liveCommand is the command that does to a file what is set on the page.
func (o *liveOptions) liveCommand(f live.Filter) string {
	in, out := "in.mp4", "out.mp4"
	if _, err := os.Stat(o.Input); err == nil && !strings.HasPrefix(o.Input, "/dev/") && o.Input != "-" {
		in, out = o.Input, filteredName(o.Input)
	}
	args := []string{"vidfilter", "-i", in, "-o", out}
	number := func(name string, x float64) {
		args = append(args, name, strconv.FormatFloat(x, 'g', -1, 64))
	}
	p, _ := kernels.ParseFilter(f.Filter)
	d := live.FilterOf(kernels.Params{Filter: p, Radius: f.Radius}.WithDefaults(), "auto")
	if p == kernels.Recursive {
		args = append(args, "--filter", f.Filter, "--iterations", strconv.Itoa(f.Iterations))
		f.Range, f.Distance, f.Border = d.Range, d.Distance, d.Border
	} else {
		args = append(args, "-r", strconv.Itoa(f.Radius))
	}
	if f.SigmaS != d.SigmaS {
		number("--sigma-s", f.SigmaS)
	}
	if f.SigmaR != d.SigmaR {
		number("--sigma-r", f.SigmaR)
	}
	for _, x := range [][3]string{
		{"--range", f.Range, d.Range}, {"--distance", f.Distance, d.Distance}, {"--border", f.Border, d.Border},
		{"--field-order", f.FieldOrder, d.FieldOrder},
	} {
		if x[1] != x[2] {
			args = append(args, x[0], x[1])
		}
	}
	for i, a := range args {
		args[i] = shellQuote(a)
	}
	return strings.Join(args, " ")
}

// filteredName puts the output beside the input, in a format that can be written.
func filteredName(in string) string {
	stem, ending := in, ".mp4"
	if i := strings.LastIndexByte(in, '.'); i > strings.LastIndexByte(in, '/')+1 {
		stem = in[:i]
		if _, err := outputFormat("x"+in[i:], ""); err == nil {
			ending = in[i:]
		}
	}
	if strings.HasPrefix(stem, "-") {
		stem = "./" + stem
	}
	return stem + "-filtered" + ending
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./:,+=@%", c)
	}
	if s != "" && strings.IndexFunc(s, func(c rune) bool { return !plain(c) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
