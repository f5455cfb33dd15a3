package liverun

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"vidfilter/encode/target"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/site"
	"vidfilter/internal/terminal"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/output"
	"vidfilter/live/rtsp"
)

// defaultRTSP is the port of this machine at which --rtsp without an address listens.
const defaultRTSP = "8554"

// The formats of --output -.
const (
	formatY4M = "y4m"
	formatTS  = "mpegts"
)

func (o *Options) toStdout() bool { return o.Target == "-" }

// checkOutputs finds conflicting options of the outputs.
func (o *Options) checkOutputs(fs *pflag.FlagSet) error {
	if _, err := strconv.ParseUint(o.RTSP, 10, 16); err == nil {
		o.RTSP = net.JoinHostPort("127.0.0.1", o.RTSP)
	}
	switch {
	case o.Target != "" && !o.toStdout() && !strings.HasPrefix(o.Target, "/dev/"):
		return cli.Usagef("name /dev/videoN or - (stdout); --record writes a file", "--output %q is not a device", o.Target)
	case o.Target != "" && o.Target == o.Input && !o.toStdout():
		return cli.Usagef("name the device of v4l2loopback, not that of the camera", "--output %s is the input", o.Target)
	case fs.Changed("format") && !cli.FromEnvironment(fs.Lookup("format")) && !o.toStdout(): // the variable is also for jobs
		return cli.Usagef("add --output -", "%s is for stdout", cli.Source(fs, "format"))
	case o.NoPage && fs.Changed("listen"):
		return cli.Usagef("give one of them", "%s and %s exclude each other", cli.Source(fs, "no-page"), cli.Source(fs, "listen"))
	case o.NoPage && o.Target == "" && o.Record == "" && o.RTSP == "":
		return cli.Usagef("add --output, --rtsp or --record", "%s leaves nothing to see", cli.Source(fs, "no-page"))
	case o.RTSP != "" && !isAddress(o.RTSP):
		return cli.Usagef("as --rtsp=8554 or --rtsp=127.0.0.1:8554", "--rtsp=%s is neither a port nor an address with one", o.RTSP)
	case o.RTSP != "" && site.Beyond(o.RTSP) && o.Cert == "":
		return cli.Usagef("add --cert FILE --key FILE, or leave the address out and reach it by ssh -L 8554:127.0.0.1:8554 THIS-MACHINE",
			"--rtsp=%s opens the picture to others, and needs TLS", o.RTSP)
	}
	return nil
}

// openDevice opens the device of --output, if it is one.
func (l *liveRun) openDevice() (err error) {
	if l.o.Target == "" || l.o.toStdout() {
		return nil
	}
	if l.device, err = output.OpenDevice(l.o.Target); err == nil {
		return nil
	}
	advice := "load v4l2loopback: sudo modprobe v4l2loopback exclusive_caps=1"
	if errors.Is(err, os.ErrPermission) {
		advice = "your user needs the group of the device, mostly video"
	}
	return target.Refusal(advice, "--output %s: %v", l.o.Target, err)
}

// write gives the picture to the program behind --output until the session ends. A reader that goes
// away ends the session.
func (l *liveRun) write(ctx context.Context) error {
	say := func(line string) { l.ui.Warn(line) }
	err := error(nil)
	switch {
	case l.device != nil:
		err = l.device.Run(ctx, l.session, say)
	case l.o.TargetFormat == formatTS:
		r := l.pool.Read()
		defer r.Close()
		err = coded.WriteTS(ctx, r, output.NewPipe(ctx, l.out))
	default:
		err = output.WriteY4M(ctx, l.session, output.NewPipe(ctx, l.out), say)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		l.ui.Notice("the reader of stdout has gone away: the session ends")
		return over
	case l.device == nil:
		return target.OutputError("write", "stdout", err)
	}
	return target.OutputError("write", l.o.Target, err)
}

// over is the cause of a session that ends as it should, as by Ctrl-C.
var over = terminal.Interruption{Signal: syscall.SIGINT}

// listenRTSP starts the server of --rtsp.
func (l *liveRun) listenRTSP(at address, token string) (err error) {
	if l.o.RTSP == "" {
		return nil
	}
	l.rtsp, err = rtsp.Listen(l.o.RTSP, rtsp.Options{
		Encoders: l.pool, Sound: l.sound, Admission: l.door, Secure: at.secure,
		Hears: func() bool {
			st, _ := l.session.State()
			return st.Sound
		},
	})
	if err != nil {
		return cli.Usagef("give another one, as --rtsp=127.0.0.1:8555", "%v", err)
	}
	page := site.URL(l.rtsp.Addr(), at.secure, at.hosts)
	scheme, rest, _ := strings.Cut(strings.TrimSuffix(page, "/"), "://")
	scheme = map[string]string{"http": "rtsp", "https": "rtsps"}[scheme]
	l.ui.Notice(fmt.Sprintf("for players: %s://%s%s?token=%s", scheme, rest, rtsp.Path, access.ViewToken(token)))
	return nil
}

// untilInputEnds ends a session that cannot be played again, behind its recording.
func (l *liveRun) untilInputEnds(ctx context.Context, recorded <-chan struct{}) error {
	if !await(ctx, l.session, func(st live.State) bool { return st.Status == live.Ended || st.Status == live.Failed }) {
		return nil
	}
	select {
	case <-recorded:
	case <-ctx.Done():
	}
	if st, _ := l.session.State(); st.Status == live.Failed {
		return fmt.Errorf("%s: %s", l.input.Name, st.Message)
	}
	return over
}

// checkPipes refuses terminals as input and output.
func (o *Options) checkPipes(s terminal.Stdio) error {
	pipes := &job.Options{Input: o.Input, Format: "null"}
	if o.toStdout() {
		pipes.Output, pipes.Format = "-", ""
	}
	if o.Sound != "" && terminal.IsTerminal(s.In) {
		return cli.Usagef("pipe it in: arecord -t raw -f dat | vidfilter live --sound -", "--sound: stdin is a terminal")
	}
	return job.CheckPipes(pipes, s)
}
