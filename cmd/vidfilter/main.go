// Command vidfilter reads a video, filters it with a bilateral filter and writes it as H.264, with
// everything else in the file carried along.
//
// Rules of the terminal: stdout carries media or what was asked for, and nothing else; everything said to a
// person goes to stderr, one line a message, after "vidfilter: "; what a person can do about an error
// follows on a line after "hint: ".
package main

import (
	"io"
	"os"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr, os.Environ()}))
}

// stdio is all that the program gets from the shell besides its arguments.
type stdio struct {
	in       io.Reader
	out, err io.Writer
	env      []string // NAME=value, as os.Environ has it
}

// run does what args ask for and returns the exit code.
func run(args []string, s stdio) int {
	ignoreWriteSignals()
	quietLibraries()
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return runCommand(args[0], args[1:], s)
	}
	return runJob(args, s)
}

// runJob is vidfilter without a subcommand.
func runJob(args []string, s stdio) int {
	o, err := parseOptions(args, s.env)
	u := newUI(o, s)
	switch {
	case err == nil && o.Help:
		return report(printHelp(s.out), s)
	case err == nil && o.Version:
		return report(printVersion(s.out), s)
	case err == nil:
		err = checkPipes(o, s)
	}
	if err != nil {
		return u.finish(result{}, err)
	}
	u.unknownEnvironment(s.env)
	return u.finish(interruptible(o, u, filterFile))
}

// checkPipes refuses media from and to a terminal: nobody types a video, and one on the screen is noise.
func checkPipes(o *options, s stdio) error {
	switch {
	case o.Input == "-" && isTerminal(s.in):
		return usagef("pipe a video into vidfilter, or name a file with -i", "the input is a terminal")
	case o.Output == "-" && o.Format != "null" && isTerminal(s.out):
		return usagef("redirect stdout to a file or a pipe", "the output is a terminal")
	}
	return nil
}
