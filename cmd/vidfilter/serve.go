package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/pflag"

	"vidfilter/batch"
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
	Quiet, Help   bool
}

func (o *serveOptions) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("vidfilter serve", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	t := table{fs, "Options"}
	t.add(text(&o.State, "DIR"), "state", "", "folder of the queue; worker.creds for workers is made there")
	t.add(text(&o.Listen, "ADDR"), "listen", "", "where to listen (default "+jetstream.DefaultAddr+")")
	t.add(&several{&o.Hosts, "NAME"}, "host", "", "name of this machine for its certificate; repeatable")
	t.add(text(&o.Cert, "FILE"), "tls-cert", "", "certificate of our own instead of one that is made")
	t.add(text(&o.Key, "FILE"), "tls-key", "", "the key of --tls-cert")
	t.add(text(&o.CA, "FILE"), "tls-ca", "", "what signed --tls-cert, for workers whose systems do not trust it")
	t.add(text(&o.Status, "ADDR"), "status", "", "serve a status page there, as 127.0.0.1:8080")
	t.add(text(&o.Token, "TOKEN"), "token", "", "lets the status page cancel and retry")
	t.flag(&o.Private, "private", "", "reading the status page needs the token, too")
	t.add(text(&o.Prefix, "NAME"), "prefix", "", "of all names in the queue (default vf)")
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
Keeps the queue for vidfilter batch --server and vidfilter worker on other machines, until it is interrupted.
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
			fmt.Fprintf(s.err, "vidfilter: %s\n", oneLine(fmt.Sprintf(format, args...)))
		}
	}
	server, err := jetstream.Serve(jetstream.ServeOptions{
		Options: jetstream.Options{Warn: func(msg string) { say("%s", msg) }, Prefix: o.Prefix},
		Dir:     o.State, Addr: o.Listen, Hosts: o.Hosts, Cert: o.Cert, Key: o.Key, CA: o.CA,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	say("queue: %s; workers need %s", server.Addr(), server.Creds())
	if o.Status != "" {
		var closers []func()
		defer func() {
			for _, f := range closers {
				f()
			}
		}()
		err := serveStatus(ctx, server.Engine(), web.Options{
			Version: versionName(), Token: o.Token, Private: o.Private, Retry: retry(server.Engine()), Frames: framesOf,
			FreeDisk: func() (int64, error) { free, _, err := batch.Space(o.State); return free, err },
		}, o.Status, say, func(f func()) { closers = append(closers, f) })
		if err != nil {
			return err
		}
	}
	<-ctx.Done()
	var cause interruption
	if errors.As(context.Cause(ctx), &cause) && cause.signal == syscall.SIGTERM {
		return nil
	}
	return context.Cause(ctx)
}
