package batchrun

import (
	"context"
	"crypto/tls"
	"log/slog"

	"vidfilter/batch/status"
	"vidfilter/internal/cli"
	"vidfilter/internal/site"
)

// statusOptions are the options of a status page.
type statusOptions struct {
	Status    string
	Cert, Key string
	Hosts     []string
	Token     string
	ViewToken string
}

func (o *statusOptions) flags(t cli.Table) {
	t.Add(cli.String(&o.Status, "ADDR"), "status", "", "serve a status page, as at 127.0.0.1:8080")
	t.Add(cli.String(&o.Cert, "FILE"), "status-cert", "", "its certificate, for access from other machines")
	t.Add(cli.String(&o.Key, "FILE"), "status-key", "", "key of --status-cert")
	t.Add(cli.NewRepeated(&o.Hosts, "NAME"), "status-host", "", "further host name, as of a proxy; repeatable")
	t.Add(cli.String(&o.Token, "TOKEN"), "token", "", "token to change jobs, see logs, or read from other machines; 16 characters or more")
	t.Add(cli.String(&o.ViewToken, "TOKEN"), "view-token", "", "token for reading alone, from other machines; 16 characters or more")
}

// beyond reports whether other machines can reach the page. Then it needs TLS, and its token to
// read.
func (o *statusOptions) beyond() bool { return site.Beyond(o.Status) }

func (o *statusOptions) hasToken() bool { return o.Token != "" || o.ViewToken != "" }

// check finds conflicting options.
func (o *statusOptions) check() error {
	const tunnel = "or listen at 127.0.0.1:8080, and reach the page by ssh -L 8080:127.0.0.1:8080 THIS-MACHINE"
	switch {
	case (o.Cert == "") != (o.Key == ""):
		return cli.Usagef("give both", "--status-cert and --status-key go together")
	case o.Token != "" && !site.IsToken(o.Token):
		return badToken("--token")
	case o.ViewToken != "" && !site.IsToken(o.ViewToken):
		return badToken("--view-token")
	case o.ViewToken != "" && o.ViewToken == o.Token:
		return cli.Usagef("give another one", "--view-token is the same as --token, which can change jobs")
	case o.Status == "" && (o.Cert != "" || len(o.Hosts) > 0):
		return cli.Usagef("add --status ADDR", "--status-cert and --status-host are of a status page, and there is none")
	case o.beyond() && o.Cert == "":
		return cli.Usagef("add --status-cert FILE --status-key FILE, "+tunnel, "--status %s opens the page to others, and needs TLS", o.Status)
	case o.beyond() && !o.hasToken():
		return cli.Usagef("add --token TOKEN, "+tunnel, "--status %s opens the page to others, and needs a token", o.Status)
	}
	return nil
}

func badToken(flag string) error {
	return cli.Usagef(site.TokenRule+", as openssl rand -hex 32 prints", "%s is too short to be a token, or has other characters", flag)
}

// serve serves the status page of a queue until end is called, and returns its address.
func (o *statusOptions) serve(ctx context.Context, q *status.Queue, page status.Options, log *slog.Logger) (url string, end func(), err error) {
	var secure *tls.Config
	if o.Cert != "" {
		if secure, page.Hosts, err = site.Certificate(o.Cert, o.Key); err != nil {
			return "", nil, cli.Usagef("both are PEM files", "--status-cert %s, --status-key %s: %v", o.Cert, o.Key, err)
		}
	}
	page.Hosts = append(page.Hosts, o.Hosts...)
	page.Tell = func(line string) { log.Warn("status page: " + line) }
	page.Token, page.Viewer, page.Private = o.Token, o.ViewToken, page.Private || o.beyond()
	ctx, cancel := context.WithCancel(ctx)
	at, wait, err := site.Serve(ctx, o.Status, q.Handler(page), secure, nil)
	if err != nil {
		cancel()
		return "", nil, cli.Usagef("give another address, as 127.0.0.1:8081", "%v", err)
	}
	url = site.URL(at, secure, page.Hosts)
	log.Info("status page: " + url)
	return url, func() { cancel(); _ = wait() }, nil
}
