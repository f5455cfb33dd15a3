package liverun

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/gpu"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/internal/site"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/coded"
	"vidfilter/live/opus"
	"vidfilter/live/output"
	"vidfilter/live/rtc"
	"vidfilter/live/rtsp"
	"vidfilter/live/web"
)

// Run filters a camera until a signal. unknown are warnings about the environment.
func Run(o *Options, fs *pflag.FlagSet, s terminal.Stdio, unknown []string) error {
	for _, check := range []func() error{
		func() error { return cli.ApplyEnvironment(fs, s.Env) },
		func() error { return o.CheckFilter(fs) },
		o.check,
		func() error { return o.checkOutputs(fs) },
		func() error { return o.checkPage(fs) },
		func() error { return o.checkPipes(s) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	o.filterGiven = job.FilterGiven(fs)
	ctx, stop := terminal.UntilSignal()
	defer stop()
	l := &liveRun{o: o, ui: o.OpenUI(s), in: s.In, out: s.Out, env: s.Env, tokenGiven: cli.FromEnvironment(fs.Lookup("token"))}
	job.LogTo(l.ui)
	for _, line := range unknown {
		l.ui.Warn(line)
	}
	if line := o.FootageLine(); line != "" {
		l.ui.Info(line)
	}
	defer l.close()
	err := l.run(ctx)
	if i := (terminal.Interruption{}); errors.As(err, &i) && i.Signal != syscall.SIGQUIT {
		return nil // the usual way to end it
	}
	return err
}

// liveRun is one run of vidfilter live.
type liveRun struct {
	o   *Options
	ui  *terminal.UI
	in  io.Reader
	out interface{ Write([]byte) (int, error) }
	env []string

	tokenGiven bool // Options.Token is the token itself

	backend kernels.Backend
	session *live.Session
	door    *access.Admission
	pool    *coded.EncoderPool
	sound   *opus.Stream
	device  *output.VirtualCamera // nil unless --output is one
	rtsp    *rtsp.Server          // nil without --rtsp
	server  *web.Server           // nil without a page
	rtc     *rtc.Server           // nil without --webrtc
	input   live.Input
	record  *recorder
}

func (l *liveRun) close() {
	if l.record != nil {
		l.record.close()
	}
	if l.device != nil {
		l.device.Close()
	}
	if l.backend != nil {
		_ = l.backend.Close()
	}
}

func (l *liveRun) run(ctx context.Context) (err error) {
	at, err := l.o.address()
	if err != nil {
		return err
	}
	token, err := l.o.token(l.tokenGiven, l.ui)
	if err != nil {
		return err
	}
	if err := l.openDevice(); err != nil {
		return err
	}
	if l.record, err = openRecorder(l.o, l.ui); err != nil {
		return err
	}
	l.o.Streams = 1 // one picture at a time, without overlap
	var tell func()
	if l.backend, tell, err = l.o.OpenBackend(l.ui); err != nil {
		return err
	}
	var remote *live.Remote
	l.input, remote, err = l.o.liveInput(l.ui, l.in, l.changed)
	if err != nil {
		return err
	}
	l.session, err = live.New(live.Options{
		Input: l.input, Backend: l.backend, Filter: live.FilterOf(l.o.Filters, l.o.FieldOrder), LookAhead: l.o.LookAhead, Times: l.times(), Compile: l.compiler(),
	})
	if err != nil {
		return err
	}
	tell()
	l.record.attach(l.session, l.input, l.changed)
	once := rand.Text()
	l.door = access.New(access.Options{Token: token, Once: once, MaxViewers: l.o.MaxViewers, Tell: func(line string) { l.ui.Warn(line) }})
	l.pool = coded.New(l.session, l.o.Threads)
	l.sound = opus.New(l.session)
	if l.o.NoPage {
		return l.serve(ctx, at, token, once)
	}
	o := web.Options{
		Version: cli.Version(), Backend: l.backend.Name(), Input: l.input, Admission: l.door, Encoders: l.pool, Sound: l.sound, Hosts: at.hosts, TLS: at.secure != nil,
		Command: l.o.liveCommand, Remote: remote,
		JobFile: l.o.jobFile, ReadJobFile: l.o.readJobFile, Restore: !l.o.filterGiven,
		Recording: l.record.state, Record: l.record.do,
	}
	l.server = web.New(l.session, o)
	l.addWebRTC(remote)
	return l.serve(ctx, at, token, once)
}

// addWebRTC serves WHEP and WHIP beside the page with --webrtc.
func (l *liveRun) addWebRTC(remote *live.Remote) {
	if !l.o.WebRTC {
		return
	}
	l.rtc = rtc.New(rtc.Options{
		Session: l.session, Encoders: l.pool, Sound: l.sound, Remote: remote, Input: l.input.Name, Servers: l.o.iceServers(), Enter: l.enterWHEP,
	})
	h := l.rtc.Handler()
	for path, needs := range rtc.Paths() {
		l.server.Handle(path, needs, rtc.MaxOffer, h)
	}
}

func (l *liveRun) enterWHEP(ctx context.Context) (*access.Viewer, bool) {
	return l.door.Enter(web.VisitorOf(ctx), "WHEP")
}

// changed notifies the page, if there is one.
func (l *liveRun) changed() {
	if l.server != nil {
		l.server.Changed()
	}
}

// times returns a function that reads a GPU's times, nil on the CPU.
func (l *liveRun) times() func() live.Times {
	b, ok := l.backend.(interface{ Stats() gpu.Stats })
	if !ok {
		return nil
	}
	return func() live.Times {
		s := b.Stats()
		return live.Times{Frames: s.Frames, CopyIn: s.CopyIn, Kernel: s.Kernel, CopyOut: s.CopyOut}
	}
}

// compiler returns a function that compiles kernels ahead, nil on the CPU. It runs another
// process, since compiling here would delay pictures.
func (l *liveRun) compiler() func(context.Context) error {
	if _, ok := l.backend.(interface {
		CompileAll(context.Context) (int, error)
	}); !ok {
		return nil
	}
	return func(ctx context.Context) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return exec.CommandContext(ctx, self, "devices", "--compile").Run()
	}
}

// serve shows the session until it or ctx ends.
func (l *liveRun) serve(ctx context.Context, at address, token, once string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	bound, wait, err := l.bind(serving, at)
	if err != nil {
		return err
	}
	if l.rtc != nil {
		if err := l.rtc.Listen(bound); err != nil {
			cancel(err)
		}
	}
	if err := l.listenRTSP(at, token); err != nil {
		cancel(err)
	}
	page := ""
	if l.server != nil {
		page = site.URL(bound, at.secure, at.hosts)
	}
	if err := l.enter(page); err != nil {
		cancel(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { cancel(l.session.Run(ctx)) })
	wg.Go(func() { l.follow(ctx) })
	recorded := l.record.begin(ctx)
	if l.o.Target != "" {
		wg.Go(func() { cancel(l.write(ctx)) })
	}
	if l.server == nil {
		wg.Go(func() { cancel(l.untilInputEnds(ctx, recorded)) })
	}
	l.begun(ctx)
	if ctx.Err() == nil && l.server != nil {
		if l.o.toStdout() { // which is for the picture
			l.ui.Notice(page + "#" + token)
		} else if _, err := fmt.Fprintf(l.out, "%s#%s\n", page, token); err != nil {
			cancel(err)
		}
		l.ui.Info(fmt.Sprintf("for those who may only look: %s#%s", page, access.ViewToken(token)))
		l.announce(page, once, bound)
	}
	<-ctx.Done()
	if l.rtc != nil {
		l.rtc.Close()
	}
	if l.rtsp != nil {
		l.rtsp.Close()
	}
	if l.server != nil {
		l.server.Close()
	}
	l.pool.Close()
	end()
	err = errors.Join(wait())
	wg.Wait()
	return l.outcome(context.Cause(ctx), err)
}

// bind starts to serve the page, if there is one. wait returns when serving has ended.
func (l *liveRun) bind(ctx context.Context, at address) (bound net.Addr, wait func() error, err error) {
	if l.server == nil {
		return nil, func() error { return nil }, nil
	}
	var aside site.Aside
	if l.rtc != nil {
		aside = l.rtc.Aside
	}
	bound, wait, err = site.Serve(ctx, at.listen, l.server.Handler(), at.secure, aside)
	if err != nil && at.any {
		bound, wait, err = site.Serve(ctx, at.anyPort(), l.server.Handler(), at.secure, aside)
	}
	if err != nil {
		return nil, nil, cli.Usagef("give another one, as --listen 127.0.0.1:8766", "%v", err)
	}
	return bound, wait, nil
}

// begun waits briefly for the input to open: a page for a missing file is of no use.
func (l *liveRun) begun(ctx context.Context) {
	const moment = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	await(ctx, l.session, func(st live.State) bool { return st.Status != live.Starting })
}

// await waits for a state of the session that is wanted. It returns false if ctx ends before.
func await(ctx context.Context, s *live.Session, wanted func(live.State) bool) bool {
	for {
		st, changed := s.State()
		if wanted(st) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// outcome picks the error of a run. A failed recording outweighs an interruption.
func (l *liveRun) outcome(cause, served error) error {
	recorded := l.record.finish()
	switch {
	case !errors.As(cause, new(terminal.Interruption)):
		return errors.Join(cause, recorded)
	case recorded != nil:
		return recorded
	case served != nil:
		return served
	}
	return cause
}

// follow reports changes of the input's state.
func (l *liveRun) follow(ctx context.Context) {
	var before live.State
	await(ctx, l.session, func(st live.State) bool {
		if st.Status != before.Status || st.Message != before.Message {
			l.tell(st, before)
			before = st
		}
		return false
	})
}

func (l *liveRun) tell(st, before live.State) {
	switch st.Status {
	case live.Live:
		if before.Status != live.Live {
			l.ui.Info(fmt.Sprintf("%s: %dx%d, %.4g pictures a second", l.input.Name, st.Width, st.Height, st.FrameRate))
		}
	case live.Waiting, live.Failed:
		l.ui.Warn(withHint(hint.Says(st.Message, st.Hint)).Error())
	case live.Ended:
		l.ui.Info(st.Message)
	}
}
