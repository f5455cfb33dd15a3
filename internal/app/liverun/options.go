package liverun

import (
	"errors"
	"net"
	"regexp"
	"strconv"
	"sync"

	"github.com/spf13/pflag"

	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/internal/site"
	"vidfilter/kernels"
	"vidfilter/live/rtc"
)

// Options are the options of vidfilter live, and those it shares with jobs.
type Options struct {
	*job.Options
	Size size
	FPS  float64
	Loop bool

	Sound string // "-": a camera's comes by stdin

	LookAhead int

	Record       string
	RecordDir    string
	RecordCRF    float64
	RecordPreset string

	Target       string // of the picture: a device, "-" for stdout, or ""
	TargetFormat string
	RTSP         string // address, or ""

	Listen     string
	Cert, Key  string
	Hosts      []string
	Token      string // a file or, from the environment, the token itself
	MaxViewers int
	WebRTC     bool
	ICE        []string
	NoOpen     bool

	NoPage bool

	filterGiven bool // by an option or the environment
}

// size of a picture, zero if not given.
type size struct{ Width, Height int }

const defaultListen = "127.0.0.1:8765"

func NewOptions() *Options {
	return &Options{Options: job.NewOptions(), RecordCRF: 18, RecordPreset: "veryfast", TargetFormat: formatY4M, Listen: defaultListen, MaxViewers: 4}
}

func (o *Options) Flags() *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Input")
	t.Add(cli.Once(cli.String(&o.Input, "INPUT")), "input", "i", "camera (default), file, pipe, test or browser")
	t.Add(cli.NewValue(&o.Size, "WxH", parsePictureSize), "size", "", "picture size of a camera or test")
	t.Add(cli.NewValue(&o.FPS, "X", cli.NumberIn(1, 1000)), "fps", "", "frame rate of a camera or test", cli.Variable("live-fps"))
	t.Add(cli.String(&o.InputFormat, "NAME"), "input-format", "", "a camera's: mjpeg yuyv422 h264; a file's: mov ...")
	t.Add(cli.NewValue(&o.Sound, "-", parseSound), "sound", "", "a camera's sound by stdin: s16le, 48 kHz, stereo")
	t.Flag(&o.Loop, "loop", "", "repeat a file")
	t.Flag(&o.AllowNetwork, "allow-network", "", "allow network addresses as input")
	t.Add(cli.NewValue(&o.MaxPixels, "N", cli.ParsePixels), "max-pixels", "", "refuse larger pictures (default by memory)")
	t.Group = "Filter"
	o.PictureFlags(t, kernels.Place.Live)
	t.Add(cli.NewValue(&o.LookAhead, "N", cli.IntIn(0, 1)), "look-ahead", "", "1: denoise better, and show each picture one later")
	t.Add(filters.NewDevice(&o.Device), "device", "", "auto (default) cpu cuda cuda:1")
	t.Add(cli.NewValue(&o.Threads, "N", cli.IntIn(0, filters.MaxThreads)), "threads", "", "CPU threads; 0 (default) uses all cores")
	t.Group = "Output"
	t.Add(cli.Once(cli.String(&o.Target, "TARGET")), "output", "", "picture to /dev/videoN (v4l2loopback) or stdout (-)")
	t.Add(cli.OneOf(&o.TargetFormat, []string{formatY4M, formatTS}), "format", "", "of --output -: y4m (default) mpegts")
	t.Add(cli.String(&o.RTSP, "ADDR"), "rtsp", "", "RTSP for players at a port here, or at ADDR").NoOptDefVal = defaultRTSP
	t.Add(cli.Once(cli.String(&o.Record, "FILE")), "record", "", "record the filtered video: mp4 mov mkv")
	t.Add(cli.Once(cli.String(&o.RecordDir, "FOLDER")), "record-dir", "", "let viewers record into this folder")
	t.Add(cli.NewValue(&o.RecordCRF, "X", job.ParseCRF), "crf", "", "quality of the recording, 0 to 51 (default 18)")
	t.Add(cli.OneOf(&o.RecordPreset, job.DefaultCodec.Presets), "preset", "", "encoding speed of the recording (default veryfast)")
	t.Flag(&o.Overwrite, "overwrite", "y", "replace an existing FILE")
	t.Group = "Page"
	t.Add(cli.String(&o.Listen, "ADDR"), "listen", "", "address to listen at (default "+defaultListen+")")
	t.Add(cli.String(&o.Cert, "FILE"), "cert", "", "certificate, for access from other machines")
	t.Add(cli.String(&o.Key, "FILE"), "key", "", "key of --cert")
	t.Add(cli.NewRepeated(&o.Hosts, "NAME"), "allow-host", "", "further host name, as of a proxy; repeatable")
	t.Add(cli.String(&o.Token, "FILE"), "token", "", "keep the token there; VIDFILTER_TOKEN is one itself")
	t.Add(cli.NewValue(&o.MaxViewers, "N", cli.IntIn(1, 64)), "max-viewers", "", "maximum of viewers (default 4)")
	t.Flag(&o.WebRTC, "webrtc", "", "also WHEP at /whep for players, WHIP at /whip for OBS")
	t.Add(cli.NewChecked(&o.ICE, "URL", checkICE), "ice-server", "", "stun:HOST:PORT, turn:USER:PASS@HOST:PORT; repeatable")
	t.Flag(&o.NoOpen, "no-open", "", "do not open a browser")
	t.Flag(&o.NoPage, "no-page", "", "no page: for --output, --rtsp, --record")
	job.SandboxFlag(t, &o.Sandbox)
	t.Flag(&o.Quiet, "quiet", "q", "print errors and the address only")
	t.Flag(&o.Verbose, "verbose", "v", "print more", cli.Excludes("quiet"))
	return fs
}

var sizeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([1-9]\d{0,4})[xX:]([1-9]\d{0,4})$`) })

func parsePictureSize(s string) (size, error) {
	m := sizeForm().FindStringSubmatch(s)
	if m == nil {
		return size{}, cli.Usagef("as 1280x720", "not a size")
	}
	w, _ := strconv.Atoi(m[1])
	h, _ := strconv.Atoi(m[2])
	if w < 16 || h < 16 || w > 8192 || h > 8192 {
		return size{}, errors.New("must be 16 to 8192 each way")
	}
	return size{w, h}, nil
}

func parseSound(s string) (string, error) {
	if s != "-" {
		return "", cli.Usagef("as in: arecord -t raw -f dat | vidfilter live --sound -", "sound comes by stdin only: give -")
	}
	return s, nil
}

// iceServers returns the servers of --ice-server, which have been checked.
func (o *Options) iceServers() (all []rtc.ICEServer) {
	for _, s := range o.ICE {
		if x, err := rtc.ParseICEServer(s); err == nil {
			all = append(all, x)
		}
	}
	return all
}

func checkICE(s string) error {
	_, err := rtc.ParseICEServer(s)
	return err
}

func isAddress(s string) bool {
	_, _, err := net.SplitHostPort(s)
	return err == nil
}

// checkPage refuses options of the page with --no-page.
func (o *Options) checkPage(fs *pflag.FlagSet) error {
	if !o.NoPage {
		return nil
	}
	noPage := cli.Source(fs, "no-page")
	only := []string{"allow-host", "record-dir", "webrtc"}
	if o.RTSP == "" {
		only = append(only, "cert", "key", "token", "max-viewers")
	}
	for _, name := range only {
		if fs.Changed(name) {
			return cli.Usagef("leave "+noPage+" out", "%s is for the page, which is not served with %s", cli.Source(fs, name), noPage)
		}
	}
	if o.Input == "browser" {
		return cli.Usagef("leave "+noPage+" out", "the page asks for a browser's camera, and is not served with %s", noPage)
	}
	return nil
}

// check finds conflicting options.
func (o *Options) check() error {
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return cli.Usagef("give both", "--cert and --key go together")
	case len(o.ICE) > 0 && !o.WebRTC:
		return cli.Usagef("add --webrtc", "--ice-server is for WHEP and WHIP")
	case len(o.Device.Indexes) > 1 || o.Device.All:
		return cli.Usagef("one GPU is enough for a camera: --device cuda:0", "live filters on one device")
	}
	if !isAddress(o.Listen) {
		return cli.Usagef("as 127.0.0.1:8765", "--listen %q is not an address and a port", o.Listen)
	}
	if site.Beyond(o.Listen) && o.Cert == "" {
		return cli.Usagef("add --cert FILE --key FILE, or leave --listen out and reach the page by ssh -L 8765:127.0.0.1:8765 THIS-MACHINE",
			"--listen %s opens the page to others, and needs TLS", o.Listen)
	}
	return nil
}
