package batchrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"vidfilter/batch/queue/jetstream"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
)

// CredentialOptions are the options of vidfilter serve credentials and drain.
type CredentialOptions struct {
	State string
	Role  string
	Out   string
	Older bool // revoke: only earlier files
	Keep  bool // rotate: the earlier file, too
}

// Flags returns the flags of an action.
func (o *CredentialOptions) Flags(action string) *pflag.FlagSet {
	fs := cli.NewFlagSet()
	t := cli.NewTable(fs, "Options")
	t.Add(cli.String(&o.State, "DIR"), "state", "", "folder of vidfilter serve")
	switch action {
	case "issue":
		t.Add(cli.OneOf(&o.Role, roleNames()), "role", "", strings.Join(roleNames(), " "))
		t.Add(cli.String(&o.Out, "FILE"), "output", "o", "file to write (default NAME.creds in --state)")
	case "rotate":
		t.Add(cli.String(&o.Out, "FILE"), "output", "o", "file to write (default NAME.creds in --state)")
		t.Flag(&o.Keep, "keep-old", "", "the old file lets in, too, until revoke NAME --older")
	case "revoke":
		t.Flag(&o.Older, "older", "", "only files that were issued before the last")
	}
	return fs
}

func roleNames() (all []string) {
	for _, r := range pki.Roles {
		all = append(all, string(r))
	}
	return all
}

// RunCredentials does an action: issue, list, revoke, rotate or drain.
func RunCredentials(action string, o *CredentialOptions, args []string, s terminal.Stdio) error {
	if o.State == "" {
		return cli.Usagef("add --state DIR, the folder of vidfilter serve", "--state is missing")
	}
	switch {
	case action == "list" && len(args) > 0:
		return cli.Usagef("vidfilter serve credentials list --state DIR", "list takes no name")
	case action != "list" && len(args) != 1:
		return cli.Usagef("as render-07", "%s takes the NAME of one credential", action)
	}
	about, _ := readServeInfo(o.State)
	a, err := jetstream.OpenAdmin(o.State, about.Listen, pki.Files{CA: about.CA, Cert: about.Cert})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if action == "list" {
		return listCredentials(ctx, a, s.Out)
	}
	name, log := args[0], terminal.NewLogger(s.Err, false)
	if err := o.act(ctx, action, a, name, about, log); errors.Is(err, pki.ErrName) {
		return cli.BadOption(err)
	} else if err != nil {
		return err
	}
	by := "this machine"
	if u, err := user.Current(); err == nil {
		by = u.Username
	}
	newAudit(o.State, log).note(jetstream.Note{By: by, Role: "serve", Action: action, About: name})
	return nil
}

func (o *CredentialOptions) act(ctx context.Context, action string, a *jetstream.Admin, name string, about serveInfo, log *slog.Logger) error {
	switch action {
	case "issue":
		if o.Role == "" {
			return cli.Usagef("add --role, one of "+strings.Join(roleNames(), " "), "the role is missing")
		}
		file, err := a.Issue(name, pki.Role(o.Role), o.Out)
		if err == nil {
			log.Info(fmt.Sprintf("%s lets %q in as %s; on its machine: vidfilter %s", file, name, o.Role, useOf(pki.Role(o.Role), about, filepath.Base(file))))
		}
		return err
	case "rotate":
		file, err := a.Rotate(ctx, name, o.Keep, o.Out)
		if err == nil {
			log.Info(fmt.Sprintf("%s is the new file of %q", file, name))
		}
		return err
	case "revoke":
		err := a.Revoke(ctx, name, o.Older)
		if err == nil {
			who := strconv.Quote(name) + " is shut out"
			if o.Older {
				who = fmt.Sprintf("earlier files of %q are shut out; the last one lets in", name)
			}
			log.Info(who)
		}
		return err
	}
	err := a.Drain(name, about.Prefix)
	if err == nil {
		log.Info(fmt.Sprintf("the workers of %q finish their parts and exit", name))
	}
	return err
}

// useOf returns the command of a machine with a role.
func useOf(role pki.Role, about serveInfo, file string) string {
	command := map[pki.Role]string{pki.Worker: "worker", pki.Submitter: "batch FILES -o DIR", pki.Agent: "agent DIR"}[role]
	if command == "" {
		command = "jobs"
	}
	url := about.URL
	if url == "" {
		url = "tls://HOST:4222"
	}
	return command + " --server " + url + " --creds " + file
}

func listCredentials(ctx context.Context, a *jetstream.Admin, w io.Writer) error {
	all, connected, err := a.List(ctx)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range all {
		state := "revoked"
		if c.Live() {
			state = "let in"
		}
		last := c.Keys[len(c.Keys)-1]
		fmt.Fprintf(&b, "%-24s %-10s %-8s issued %s", c.Name, c.Role, state, last.Issued.Format(time.DateOnly))
		if n := connected[c.Name]; n > 0 {
			fmt.Fprintf(&b, "  connected: %d", n)
		}
		b.WriteByte('\n')
	}
	_, err = io.WriteString(w, b.String())
	return err
}
