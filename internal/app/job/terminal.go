package job

import (
	"vidfilter/encode/target"
	"vidfilter/internal/cli"
	"vidfilter/internal/sandbox"
	"vidfilter/internal/terminal"
)

// OpenUI returns the UI of a job.
func (o *Options) OpenUI(s terminal.Stdio) *terminal.UI {
	return terminal.NewUI(s, terminal.UIOptions{
		ScreenOptions: terminal.ScreenOptions{Progress: o.Progress, Quiet: o.Quiet, Verbose: o.Verbose},
		NeverAsk:      o.Input == "-" || o.NoOverwrite,
	})
}

// CheckPipes refuses to read video from a terminal, or to write it there.
func CheckPipes(o *Options, s terminal.Stdio) error {
	switch {
	case o.Input == "-" && terminal.IsTerminal(s.In):
		return cli.Usagef("pipe a video into vidfilter, or name a file with -i", "the input is a terminal")
	case o.Output == "-" && o.Format != "null" && terminal.IsTerminal(s.Out):
		return cli.Usagef("redirect stdout to a file or a pipe", "the output is a terminal")
	}
	return nil
}

// ReplaceIf returns the policy of commands that never ask: -y replaces an existing output.
func ReplaceIf(overwrite bool) target.Policy {
	if overwrite {
		return target.Replace
	}
	return target.Refuse
}

// OverwritePolicy decides about an existing output: -y replaces it, a person at a terminal is
// asked, otherwise it is refused. stop ends a pending question.
func (o *Options) OverwritePolicy(u *terminal.UI, stop <-chan struct{}) target.Policy {
	switch {
	case o.Overwrite:
		return target.Replace
	case !u.CanAsk:
		return target.Refuse
	case sandbox.Inside() != nil:
		return target.AskParent
	}
	return func(path string) error { return u.Confirm(path, stop) }
}
