package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"

	"vidfilter/gpu"
	"vidfilter/internal/site"
	"vidfilter/kernels"
	"vidfilter/live"
	"vidfilter/live/rtc"
	"vidfilter/live/web"
	"vidfilter/live/window"
)

// runLive is vidfilter live.
func runLive(args []string, s stdio) error {
	o := newLiveOptions()
	fs := o.flags()
	if err := fs.Parse(args); err != nil {
		return flagError(fs, err)
	}
	if err := applyEnvironment(fs, s.env); err != nil {
		return err
	}
	switch {
	case o.Help:
		return printLiveHelp(s.out, fs)
	case fs.NArg() > 0:
		return usagef("the input goes behind -i: vidfilter live -i "+shellQuote(fs.Arg(0)), "unexpected argument %q", fs.Arg(0))
	}
	if err := o.checkFilter(fs); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := o.choosePage(fs); err != nil {
		return err
	}
	if err := checkPipes(&options{Input: o.Input, Format: "null"}, s); err != nil {
		return err
	}
	ctx, stop := untilSignal()
	defer stop()
	l := &liveRun{o: o, ui: newUI(o.options, s), out: s.out, env: s.env}
	logTo(l.ui)
	defer l.close()
	err := l.run(ctx)
	if errors.As(err, new(interruption)) {
		return nil // that is how one ends it
	}
	return err
}

// liveRun is one run of vidfilter live.
type liveRun struct {
	o   *liveOptions
	ui  *ui
	out interface{ Write([]byte) (int, error) }
	env []string

	backend kernels.Backend
	session *live.Session
	server  *web.Server    // nil when the page is not served
	rtc     *rtc.Server    // nil without --webrtc
	window  *window.Window // nil without one
	input   live.Input
	record  *recording // nil when nothing is recorded
}

func (l *liveRun) close() {
	if l.window != nil {
		l.window.Close()
	}
	if l.record != nil {
		l.record.close()
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
	if err := l.openWindow(); err != nil {
		return err
	}
	if l.o.Record != "" {
		if l.record, err = startRecording(l.o, l.ui); err != nil {
			return err
		}
	}
	if l.backend, err = l.openBackend(); err != nil {
		return err
	}
	var remote *live.Remote
	l.input, remote, err = l.o.liveInput(l.ui, l.changed)
	if err != nil {
		return err
	}
	l.session, err = live.New(live.Options{
		Input: l.input, Backend: l.backend, Filter: live.FilterOf(l.o.Params, l.o.FieldOrder), Times: l.times(), Compile: l.compiler(),
	})
	if err != nil {
		return err
	}
	token, once := rand.Text(), rand.Text()
	if !l.o.Page {
		return l.serve(ctx, at, token, once)
	}
	o := web.Options{
		Version: versionName(), Backend: l.backend.Name(), Input: l.input, Token: token, Once: once, Hosts: at.hosts, TLS: at.secure != nil,
		MaxViewers: l.o.MaxViewers, Threads: l.o.Threads, Command: l.o.liveCommand, Remote: remote,
	}
	if l.record != nil {
		o.Recording = l.record.state
	}
	l.server = web.New(l.session, o)
	l.addWebRTC(remote)
	return l.serve(ctx, at, token, once)
}

// addWebRTC has players and cameras of other programs served beside the page, where that is wanted.
func (l *liveRun) addWebRTC(remote *live.Remote) {
	if !l.o.WebRTC {
		return
	}
	l.rtc = rtc.New(rtc.Options{Session: l.session, Remote: remote, Input: l.input.Name, Threads: l.o.Threads, Enter: l.server.Enter})
	h := l.rtc.Handler()
	for _, path := range rtc.Paths() {
		l.server.Handle(path, rtc.MaxOffer, h)
	}
}

// changed tells the page, if there is one, that there is something new to say.
func (l *liveRun) changed() {
	if l.server != nil {
		l.server.Changed()
	}
}

// openBackend takes one stream of a GPU, or the CPU.
func (l *liveRun) openBackend() (kernels.Backend, error) {
	l.o.Streams = 1 // one picture at a time: nothing overlaps
	return l.o.openBackend(l.ui)
}

// times returns what asks a GPU for its times, nil on the CPU.
func (l *liveRun) times() func() live.Times {
	b, ok := l.backend.(*gpu.Backend)
	if !ok {
		return nil
	}
	return func() live.Times {
		s := b.Stats()
		return live.Times{Frames: s.Frames, CopyIn: s.CopyIn, Kernel: s.Kernel, CopyOut: s.CopyOut}
	}
}

// compiler returns what compiles kernels ahead, nil on the CPU. It is another process: the driver of this one would hold up the pictures.
func (l *liveRun) compiler() func(context.Context) error {
	if _, ok := l.backend.(*gpu.Backend); !ok {
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

// serve shows the session until ctx ends, or the session does.
func (l *liveRun) serve(ctx context.Context, at address, token, once string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	bound, wait, err := l.bind(serving, at)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	wg.Go(func() { cancel(l.session.Run(ctx)) })
	wg.Go(func() { l.follow(ctx) })
	if l.record != nil {
		wg.Go(func() { l.record.run(ctx, l.session, l.changed) })
	}
	if l.window != nil {
		wg.Go(func() { cancel(l.look(ctx)) })
	}
	if l.rtc != nil {
		if err := l.rtc.Listen(bound); err != nil {
			cancel(err)
		}
	}
	l.begun(ctx)
	if ctx.Err() == nil && l.server != nil {
		page := at.url(bound)
		if _, err := fmt.Fprintf(l.out, "%s#%s\n", page, token); err != nil {
			cancel(err)
		}
		l.announce(page, once, bound)
	}
	<-ctx.Done()
	if l.rtc != nil {
		l.rtc.Close()
	}
	if l.server != nil {
		l.server.Close()
	}
	end()
	err = errors.Join(wait())
	wg.Wait()
	return l.outcome(context.Cause(ctx), err)
}

// bind begins to serve the page, if it is wanted. wait returns when that has ended.
func (l *liveRun) bind(ctx context.Context, at address) (bound net.Addr, wait func() error, err error) {
	if l.server == nil {
		return nil, func() error { return nil }, nil
	}
	bound, wait, err = site.Serve(ctx, at.listen, l.server.Handler(), at.secure)
	if err != nil && at.any {
		bound, wait, err = site.Serve(ctx, at.anyPort(), l.server.Handler(), at.secure)
	}
	if err != nil {
		return nil, nil, usagef("give another one, as --listen 127.0.0.1:8766", "%v", err)
	}
	return bound, wait, nil
}

// begun waits for a moment until it is known whether the input can be opened: a page for a file that is not there is of no use.
func (l *liveRun) begun(ctx context.Context) {
	const moment = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	for {
		st, changed := l.session.State()
		if st.Status != live.Starting {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// outcome puts together how it ended. A recording that failed is worse than an interruption.
func (l *liveRun) outcome(cause, served error) error {
	recorded := error(nil)
	if l.record != nil {
		recorded = l.record.finish()
	}
	switch {
	case !errors.As(cause, new(interruption)):
		return errors.Join(cause, recorded)
	case recorded != nil:
		return recorded
	case served != nil:
		return served
	}
	return cause
}

// follow says on the terminal what becomes of the input.
func (l *liveRun) follow(ctx context.Context) {
	var before live.State
	for {
		st, changed := l.session.State()
		if st.Status != before.Status || st.Message != before.Message {
			l.tell(st, before)
			before = st
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (l *liveRun) tell(st, before live.State) {
	hint := ""
	if st.Hint != "" {
		hint = " (" + st.Hint + ")"
	}
	switch st.Status {
	case live.Live:
		if before.Status != live.Live {
			l.ui.info("%s: %dx%d, %.4g pictures a second", l.input.Name, st.Width, st.Height, st.FrameRate)
		}
	case live.Waiting:
		l.ui.warn("%s%s", st.Message, hint)
	case live.Failed:
		l.ui.warn("%s%s", st.Message, hint)
	case live.Ended:
		l.ui.info("%s", st.Message)
	}
}
