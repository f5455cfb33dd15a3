package main

import (
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"

	"github.com/spf13/pflag"
)

// liveOptions are the choices of vidfilter live. What it has in common with a job is in options.
type liveOptions struct {
	*options
	Size size
	FPS  float64
	Loop bool

	Record       string
	RecordCRF    float64
	RecordPreset string

	Listen     string
	Cert, Key  string
	Hosts      []string
	MaxViewers int
	WebRTC     bool
	NoOpen     bool

	Window bool
	Page   bool // the page is served
}

// size is a picture's, zero where it is not given.
type size struct{ Width, Height int }

const defaultListen = "127.0.0.1:8765"

func newLiveOptions() *liveOptions {
	return &liveOptions{options: defaultOptions(), RecordCRF: 18, RecordPreset: "veryfast", Listen: defaultListen, MaxViewers: 4}
}

func (o *liveOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter live", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Input"}
	t.add(once(str(&o.Input, "INPUT")), "input", "i", "camera, file, pipe, test or browser (default camera)")
	t.add(newValue(&o.Size, "WxH", parsePictureSize), "size", "", "size of the picture, of cameras and of test")
	t.add(newValue(&o.FPS, "X", numberIn(1, 1000)), "fps", "", "pictures a second, of cameras and of test")
	t.add(str(&o.InputFormat, "NAME"), "input-format", "", "a camera's: mjpeg yuyv422 h264; a file's: mov ...")
	t.flag(&o.Loop, "loop", "", "play a file again and again")
	t.flag(&o.AllowNetwork, "allow-network", "", "let -i be a network address")
	t.add(newValue(&o.MaxPixels, "N", parsePixels), "max-pixels", "", "refuse larger pictures (default 16384*16384)")
	t.group = "Filter"
	o.pictureFlags(t)
	t.add(newDevice(&o.Device), "device", "", "auto (default) cpu cuda cuda:1")
	t.add(newValue(&o.Threads, "N", intIn(0, maxThreads)), "threads", "", "0 (default) is all cores")
	t.group = "Recording"
	t.add(once(str(&o.Record, "FILE")), "record", "", "write the filtered video meanwhile: mp4 mov mkv")
	t.add(newValue(&o.RecordCRF, "X", parseCRF), "crf", "", "its quality, 0 to 51 (default 18)")
	t.add(oneOf(&o.RecordPreset, x264Presets), "preset", "", "speed of encoding it (default veryfast)")
	t.flag(&o.Overwrite, "overwrite", "y", "replace an existing FILE")
	t.group = "Page"
	t.add(str(&o.Listen, "ADDR"), "listen", "", "where to listen (default "+defaultListen+")")
	t.add(str(&o.Cert, "FILE"), "cert", "", "certificate, for addresses beyond this machine")
	t.add(str(&o.Key, "FILE"), "key", "", "the key of --cert")
	t.add(&repeated{&o.Hosts, "NAME"}, "allow-host", "", "other name of this page: a proxy's; repeatable")
	t.add(newValue(&o.MaxViewers, "N", intIn(1, 64)), "max-viewers", "", "how many may look at a time (default 4)")
	t.flag(&o.WebRTC, "webrtc", "", "also WHEP at /whep for players, WHIP at /whip for OBS")
	t.flag(&o.NoOpen, "no-open", "", "do not open a browser")
	t.flag(&o.Window, "window", "", "a window instead (SDL 2); a page only with --listen")
	t.flag(&o.Quiet, "quiet", "q", "say nothing but errors and the address")
	t.flag(&o.Verbose, "verbose", "v", "say more")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

var sizeForm = regexp.MustCompile(`^([1-9]\d{0,4})[xX:]([1-9]\d{0,4})$`)

func parsePictureSize(s string) (size, error) {
	m := sizeForm.FindStringSubmatch(s)
	if m == nil {
		return size{}, usagef("as 1280x720", "not a size")
	}
	w, _ := strconv.Atoi(m[1])
	h, _ := strconv.Atoi(m[2])
	if w < 16 || h < 16 || w > 8192 || h > 8192 {
		return size{}, errors.New("must be 16 to 8192 each way")
	}
	return size{w, h}, nil
}

func printLiveHelp(w io.Writer, fs *pflag.FlagSet) error {
	text := `usage: vidfilter live [-i INPUT] [options]
Shows a camera in the browser, original beside filtered, until Ctrl-C. INPUT is
a camera (/dev/video0), a file, a pipe (-), "test" (a test picture) or "browser"
(the camera of whoever opens the page). The page's address goes to stdout.
`
	for _, g := range []string{"Input", "Filter", "Recording", "Page"} {
		text += g + ":\n" + groupHelp(fs, g)
	}
	_, err := io.WriteString(w, text)
	return err
}

// check finds what does not go together.
func (o *liveOptions) check() error {
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return usagef("give both", "--cert and --key go together")
	case o.Quiet && o.Verbose:
		return usagef("give one of them", "--quiet and --verbose exclude each other")
	case len(o.Device.Indexes) > 1 || o.Device.All:
		return usagef("one GPU is enough for a camera: --device cuda:0", "live filters on one device")
	}
	host, _, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return usagef("as 127.0.0.1:8765", "--listen %q is not an address and a port", o.Listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) && o.Cert == "" {
		return usagef("add --cert FILE --key FILE, or leave --listen out and reach the page by ssh -L 8765:127.0.0.1:8765 THIS-MACHINE",
			"--listen %s opens the page to others, and needs TLS", o.Listen)
	}
	return nil
}
