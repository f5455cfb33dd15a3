package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch"
	"vidfilter/internal/text"
	"vidfilter/queue/jetstream"
	"vidfilter/web"
)

// serveOptions are the choices of vidfilter serve.
type serveOptions struct {
	State         string
	Listen        string
	Hosts         []string
	CA, Cert, Key string
	Status, Token string
	Private       bool
	Prefix        string
	Lease         time.Duration
	Quiet, Help   bool
}

func (o *serveOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter serve", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	t.add(str(&o.State, "DIR"), "state", "", "folder of the queue, and of worker.creds for workers")
	t.add(str(&o.Listen, "ADDR"), "listen", "", "where to listen (default "+jetstream.DefaultAddr+")")
	t.add(&repeated{&o.Hosts, "NAME"}, "host", "", "name of this machine for its certificate; repeatable")
	t.add(str(&o.Cert, "FILE"), "tls-cert", "", "certificate of our own instead of one that is made")
	t.add(str(&o.Key, "FILE"), "tls-key", "", "the key of --tls-cert")
	t.add(str(&o.CA, "FILE"), "tls-ca", "", "what signed --tls-cert, if workers do not trust it")
	t.add(str(&o.Status, "ADDR"), "status", "", "serve a status page there, as 127.0.0.1:8080")
	t.add(str(&o.Token, "TOKEN"), "token", "", "lets the status page cancel and retry")
	t.flag(&o.Private, "private", "", "reading the status page needs the token, too")
	t.add(str(&o.Prefix, "NAME"), "prefix", "", "of all names in the queue (default vf)")
	t.add(newValue(&o.Lease, "TIME", parseLease), "lease", "", leaseText)
	t.flag(&o.Quiet, "quiet", "q", "say nothing but errors")
	t.flag(&o.Help, "help", "h", "print this help")
	return fs
}

// runServe is vidfilter serve.
func runServe(args []string, s stdio) error {
	o := &serveOptions{}
	fs := o.flags()
	if err := fs.Parse(args); err != nil {
		return flagError(fs, err)
	}
	if err := applyEnvironment(fs, s.env); err != nil {
		return err
	}
	switch {
	case o.Help:
		_, err := io.WriteString(s.out, `usage: vidfilter serve --state DIR [options]
Keeps the queue for vidfilter batch --server and vidfilter worker on other
machines, until it is interrupted. While it runs, DIR/serve.json says where:
{"url":"tls://HOST:PORT","creds":FILE,"status":URL,"pid":N}.
Options:
`+groupHelp(fs, "Options"))
		return err
	case fs.NArg() > 0:
		return usagef("all options: vidfilter serve --help", "unexpected argument %q", fs.Arg(0))
	case o.State == "":
		return usagef("vidfilter serve --state DIR", "where is the queue to be kept? --state is missing")
	case (o.Cert == "") != (o.Key == ""):
		return usagef("give both", "--tls-cert and --tls-key go together")
	case o.Private && o.Token == "":
		return usagef("add --token TOKEN", "--private without a token would let nobody in")
	}
	ctx, stop := untilSignal()
	defer stop()
	return o.run(ctx, s)
}

func (o *serveOptions) run(ctx context.Context, s stdio) error {
	say := func(format string, args ...any) {
		if !o.Quiet {
			fmt.Fprintf(s.err, "vidfilter: %s\n", text.OneLine(fmt.Sprintf(format, args...)))
		}
	}
	serving{}.remove(o.State) // of one that was killed
	server, err := jetstream.Serve(jetstream.ServeOptions{
		Options: jetstream.Options{Warn: func(msg string) { say("%s", msg) }, Prefix: o.Prefix, AckWait: o.Lease},
		Dir:     o.State, Addr: o.Listen, Hosts: o.Hosts, Cert: o.Cert, Key: o.Key, CA: o.CA,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	go o.sweep(ctx, server.Engine())
	about := serving{URL: serverURL(server.Addr(), o.Hosts), Creds: server.Creds(), PID: os.Getpid()}
	if o.Status != "" {
		var closers []func()
		defer func() {
			for _, f := range closers {
				f()
			}
		}()
		about.Status, err = serveStatus(ctx, server.Engine(), web.Options{
			Version: versionName(), Token: o.Token, Private: o.Private, Retry: retry(server.Engine()), Frames: framesOf,
			FreeDisk: func() (int64, error) { free, _, err := batch.Space(o.State); return free, err },
		}, o.Status, say, func(f func()) { closers = append(closers, f) })
		if err != nil {
			return err
		}
	}
	if err := about.write(o.State); err != nil {
		return err
	}
	defer about.remove(o.State)
	say("queue: %s; workers need %s", about.URL, about.Creds)
	<-ctx.Done()
	var cause interruption
	if errors.As(context.Cause(ctx), &cause) && cause.signal == syscall.SIGTERM {
		return nil
	}
	return context.Cause(ctx)
}
